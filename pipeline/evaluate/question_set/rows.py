"""What a line of a data file may hold, as frozen values that are checked when they are made."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pipeline.evaluate.scoring.answer_matching import pattern_of

Half = Literal["dev", "held-out"]
UnanswerableKind = Literal["off-topic", "near-topic", "half"]


def _sound(alias: str) -> str:
    if not alias.removeprefix("re:").strip():
        raise ValueError("an alias is empty")
    try:
        pattern_of(alias)
    except re.error as error:
        raise ValueError(f"an alias is no valid regular expression: {error.msg}") from error
    return alias


Alias = Annotated[str, AfterValidator(_sound)]
Aliases = Annotated[tuple[Alias, ...], Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=500)]


class Row(BaseModel):
    """A line. Fields that are not known are errors, but for ``note``: a misspelt ``half`` would show what is held out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: str = ""


class Topic(Row):
    """A question. What is known of its answer is in the other files, under the same ``id``."""

    id: Name
    query: Name
    half: Half = "dev"


class Answer(Row):
    """The short answer of a narrow question. ``doc`` is the path of a document that holds ``support`` word for word."""

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
    """The half of a question that the documents do answer."""

    aliases: Aliases


class Unanswerable(Row):
    """A question that the documents do not answer, or only by half. ``missing`` are words of it that they do not hold."""

    id: Name
    query: Name
    kind: UnanswerableKind
    missing: tuple[Alias, ...] = ()
    answerable_part: AnswerablePart | None = None
    half: Half = "dev"


class Side(Row):
    """One sentence of one document: its file name, with or without its ending."""

    document: Name
    sentence: Annotated[str, Field(min_length=1)]


class Planted(Row):
    """Two sentences that cannot both hold."""

    kind: str = ""
    a: Side
    b: Side


class Near(Row):
    """Two sentences that look as if they could not both hold; ``why`` says why they can."""

    why: str = ""
    a: Side
    b: Side


class Subject(Row):
    """A question whose documents contradict each other."""

    id: Name
    query: Name
    half: Half = "dev"
    planted: tuple[Planted, ...] = ()
    near: tuple[Near, ...] = ()

    @property
    def pairs(self) -> tuple[Planted | Near, ...]:
        """All pairs, planted ones first."""
        return (*self.planted, *self.near)
