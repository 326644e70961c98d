"""The values that memory is made of: what one session leaves behind, and what a later session recalls. Leaf module."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.domain.values import Cost, Sentence, Standing, Value

Met = Literal["retry", "fallback", "other page", "reopening", "nothing"]


class Episode(Value):
    """A session in short. ``at`` is when it ended; ``outcome`` is its last status; ``seconds`` is its working time.

    ``answer`` is the report's checked summary, or the reason why there is no report. ``facts`` are the ids of the facts that it
    cites; ``open`` are the questions without an answer. ``sentences`` are a model's two sentences about it, checked; empty
    without a model.
    """

    question: str
    at: str
    outcome: str
    answer: str
    title: str = ""
    facts: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    cost: Cost = Cost()
    seconds: float = 0.0
    sentences: tuple[Sentence, ...] = ()


class Statement(Value):
    """A fact that is worth remembering: it was cited, confirmed or disputed.

    ``fact`` is its id, which derives from quote and address, so sessions that found the same share it. ``digest`` is the stored
    page's; ``observed`` is when the page was read, ``published`` what the page says about its date. ``title`` is the page's,
    ``heading`` that of the section; "" in what was remembered before they were kept.
    """

    fact: str
    claim: str
    quote: str
    url: str
    digest: str
    published: str = ""
    observed: str = ""
    standing: Standing = "single"
    cited: bool = False
    title: str = ""
    heading: str = ""


class Superseded(Value):
    """A statement (by fact id) that its source no longer made when it was read again, and the fact that replaced it, or ""."""

    fact: str
    by: str = ""


class Yield(Value):
    """What came of the pages of one ``origin`` (a host, or a document's address) that one search ``provider`` had found.

    ``read`` counts pages, ``failed`` failed reads by class of error. Without an origin the value counts the provider's
    ``searches``, the ``hits`` they gave, and failed searches. ``seconds`` is the time that reads or searches took.
    """

    origin: str
    provider: str
    read: int = 0
    failed: dict[str, int] = Field(default_factory=dict)
    facts: int = 0
    cited: int = 0
    searches: int = 0
    hits: int = 0
    seconds: float = 0.0


class Procedure(Value):
    """How a question was searched for: the stems of its ``subject``, and the search queries, in order of the plan.

    ``queries`` led to facts that the report cites; ``fruitless`` ones led to no fact at all.
    """

    subject: tuple[str, ...]
    queries: tuple[str, ...] = ()
    fruitless: tuple[str, ...] = ()


class Solution(Value):
    """An error, and what it was met by. ``step`` is the kind of step, ``where`` a host, model or search.

    ``message`` is without addresses and numbers; ``worked``: the session got what it wanted in the end.
    """

    error: str
    step: str
    where: str
    message: str
    met: Met
    worked: bool


class RecalledStatement(Value):
    """A statement as a new session recalls it, with the session and the day that it is from."""

    statement: Statement
    session: str
    day: str


class RecalledEpisode(Value):
    """What a model said of an earlier session on a subject like this one: its question, the day, and the sentences."""

    question: str
    day: str
    text: str


class OriginRecord(Value):
    """What is known of a host or document over all sessions; counts as in ``Yield``.

    ``failing``: it failed three times or more in the thirty days before this recall, and was never read.
    """

    origin: str
    read: int = 0
    failed: int = 0
    facts: int = 0
    cited: int = 0
    failing: bool = False


class Recalled(Value):
    """What a new session knows from earlier nights. None of it is evidence: a page must be read again to be cited.

    ``unhelpful`` are documents that recent sessions on a subject like this one read and did not cite.
    """

    statements: tuple[RecalledStatement, ...] = ()
    queries: tuple[str, ...] = ()
    fruitless: tuple[str, ...] = ()
    solutions: tuple[Solution, ...] = ()
    origins: tuple[OriginRecord, ...] = ()
    open: tuple[str, ...] = ()
    episodes: tuple[RecalledEpisode, ...] = ()
    unhelpful: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is recalled."""
        return self == Recalled()
