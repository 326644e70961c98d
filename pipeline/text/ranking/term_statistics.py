"""Term statistics of a passage index: number of passages, average lengths, and document frequencies of stems."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class TermStatistics(BaseModel):
    """The number of documents and passages in an index, and how many passages contain each stem.

    ``body_stems`` and ``heading_stems`` are average numbers a passage. ``counts`` maps the requested stems to numbers of
    passages; a missing stem means 0. ``language`` is Snowball's name for the language of the stems. ``nearest`` is the
    least cosine of a passage that is near a question, where the index was searched by meaning, with a model that it is known for.
    """

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    language: str = ""
    documents: int = 0
    passages: int = 0
    body_stems: float = 0.0
    heading_stems: float = 0.0
    counts: dict[str, int] = {}
    nearest: float | None = None
