"""The next step of a talk: a pure function of its state. The steps of one question follow each other."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pipeline.domain.talk.gate import is_answerable
from pipeline.domain.talk.state import TalkState, Turn

StepName = Literal["resolve", "find", "observe", "draft", "check", "refuse"]


class TalkStep(NamedTuple):
    """One step for the question ``number``; ``url`` is the page to observe, else ""."""

    name: StepName
    number: int
    url: str = ""

    @property
    def key(self) -> str:
        """The step's key in the log."""
        return f"talk-{self.name}:{self.number}" + (f":{self.url}" if self.url else "")


def next_step(state: TalkState) -> TalkStep | None:
    """Return the step that the last question waits for; None if it is answered, or nothing was asked."""
    turn = state.turns[-1] if state.turns else None
    if turn is None or turn.answer is not None:
        return None
    return TalkStep(_next_name(turn, state.reasoner), turn.number, next_page(turn))


def _next_name(turn: Turn, reasoner: str) -> StepName:
    if not turn.stands_alone:
        return "resolve"
    if turn.found is None:
        return "find"
    if next_page(turn):
        return "observe"
    if turn.draft is not None:
        return "check"
    return "draft" if is_answerable(turn, reasoner) else "refuse"


def next_page(turn: Turn) -> str:
    """Return the address of the best page that was found and not observed yet, or ""."""
    pages = turn.found.pages if turn.found else ()
    return next((page.url for page in pages if page.url not in turn.observed), "")
