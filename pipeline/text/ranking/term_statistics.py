"""What an index knows of words: how many passages hold each, which is what makes a word rare."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class TermStatistics(BaseModel):
    """What an index knows of words: its documents and passages, their usual length, and how many passages hold each stem.

    ``body_stems`` and ``heading_stems`` are averages a passage. ``counts`` holds the stems that were asked about; none means 0.
    ``language`` is Snowball's name of the one that the stems are of.
    """

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    language: str = ""
    documents: int = 0
    passages: int = 0
    body_stems: float = 0.0
    heading_stems: float = 0.0
    counts: dict[str, int] = {}
