"""The row types of the data files, as frozen pydantic models."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pipeline.evaluate.scoring.answer_matching import pattern_of

Half = Literal["dev", "held-out"]
UnanswerableKind = Literal["off-topic", "near-topic", "half"]


def _checked_alias(alias: str) -> str:
    if not alias.removeprefix("re:").strip():
        raise ValueError("an alias is empty")
    try:
        pattern_of(alias)
    except re.error as error:
        raise ValueError(f"an alias is no valid regular expression: {error.msg}") from error
    return alias


Alias = Annotated[str, AfterValidator(_checked_alias)]
Aliases = Annotated[tuple[Alias, ...], Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=500)]


class Row(BaseModel):
    """A row. Unknown fields are errors, because a misspelt ``half`` would publish a held-out question; ``note`` is free text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: str = ""


class Topic(Row):
    """A question. Its answers are in the other files, under the same ``id``."""

    id: Name
    query: Name
    half: Half = "dev"


class Answer(Row):
    """The short answer to a narrow question. ``doc`` is the path of a document that holds ``support`` verbatim."""

    id: Name
    aliases: Aliases
    doc: str = ""
    support: str = ""
    kind: str = ""


class Nugget(Row):
    """One idea of a good report on the topic ``id``; ``any`` are its names, ``doc`` one place that holds it."""

    id: Name
    nugget: Name
    vital: bool = False
    any: Aliases
    doc: str = ""


class AnswerablePart(Row):
    """The half of a question that the documents answer."""

    aliases: Aliases


class Unanswerable(Row):
    """A question that the documents do not answer, or only by half. ``missing`` are its words that the documents lack."""

    id: Name
    query: Name
    kind: UnanswerableKind
    missing: tuple[Alias, ...] = ()
    answerable_part: AnswerablePart | None = None
    half: Half = "dev"


class FollowUp(Row):
    """A question that is asked after the topic ``about`` was researched, of the pages that its session stored.

    Without ``aliases`` no page answers it. ``first`` is asked before it, if it refers to that ("it"); ``full`` is then the same
    question in words that stand alone.
    """

    id: Name
    about: Name
    query: Name
    first: str = ""
    full: str = ""
    aliases: tuple[Alias, ...] = ()
    half: Half = "dev"


class Side(Row):
    """One sentence of one document; ``document`` is its file name, with or without suffix."""

    document: Name
    sentence: Annotated[str, Field(min_length=1)]


class Planted(Row):
    """A planted contradiction: two sentences that cannot both be true."""

    kind: str = ""
    a: Side
    b: Side


class Decoy(Row):
    """Two sentences that look contradictory but are not; ``why`` is the reason."""

    why: str = ""
    a: Side
    b: Side


class Subject(Row):
    """A question whose documents contradict each other."""

    id: Name
    query: Name
    half: Half = "dev"
    planted: tuple[Planted, ...] = ()
    near: tuple[Decoy, ...] = ()

    @property
    def pairs(self) -> tuple[Planted | Decoy, ...]:
        """All pairs, planted ones first."""
        return (*self.planted, *self.near)
