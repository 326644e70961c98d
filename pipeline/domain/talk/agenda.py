"""The next step of a talk: a pure function of its state. The steps of one question follow each other."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pipeline.domain.talk.state import TalkState, Turn
from pipeline.domain.values import EXTRACTIVE

StepName = Literal["resolve", "find", "take", "draft", "check", "answer"]


class TalkStep(NamedTuple):
    """One step for the question ``number``."""

    name: StepName
    number: int

    @property
    def key(self) -> str:
        """The step's key in the log."""
        return f"talk-{self.name}:{self.number}"


def next_step(state: TalkState) -> TalkStep | None:
    """Return the step that the last question waits for; None if it is answered, or nothing was asked."""
    turn = state.turns[-1] if state.turns else None
    if turn is None or turn.answer is not None:
        return None
    return TalkStep(_next_name(turn, state.reasoner), turn.number)


def _next_name(turn: Turn, reasoner: str) -> StepName:
    """Return the next step; without a model, or if nothing was taken, the passages are the answer."""
    if not turn.stands_alone:
        return "resolve"
    if turn.found is None:
        return "find"
    if turn.taken is None:
        return "take"
    if turn.draft is not None:
        return "check"
    return "answer" if reasoner == EXTRACTIVE or not turn.facts() else "draft"
