"""How the turns of a talk that two machines continued are joined: those of the other branch follow those of the one that goes on.

A talk is a row of questions that do not compete, so both machines' questions stay, with their answers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pipeline.domain.events import talk_events as t
from pipeline.domain.events.event_base import EventBase
from pipeline.domain.talk.state import TalkState, Turn, apply, talk_of

_OF_A_TURN = (
    t.MessageAsked, t.MessageResolved, t.PassagesFound, t.PassagesTaken,
    t.PassagesObserved, t.AnswerDrafted, t.MessageAnswered, t.TalkResearched,
)  # fmt: skip


class JoinedTurns:
    """Goes through the other branch of a talk.

    ``adopted`` are the ids of the events that follow the branch that goes on; ``places`` the number of the turn that each of them
    belongs to there, from 1; ``same`` and ``left`` are ids of its other events, as in ``BranchMerged``. ``fresh`` are the ids of
    those that this branch does not account for yet.
    """

    def __init__(self, ours: Sequence[EventBase], theirs: Sequence[EventBase], base: int, fresh: Collection[str]) -> None:
        self.adopted: list[str] = []
        self.places: list[int] = []
        self.same: list[str] = []
        self.left: list[str] = []
        talk = ours[0].session_id
        self._ours, self._theirs = talk_of(talk, ours), talk_of(talk, theirs)
        self._shared = len(talk_of(talk, ours[:base]).turns)
        self._numbers = self._numbers_of_their_turns()
        state = talk_of(talk, theirs[:base])
        for event in theirs[base:]:
            apply(state, event)
            if event.id in fresh and isinstance(event, _OF_A_TURN):
                self._decide(event, state)

    def _numbers_of_their_turns(self) -> dict[int, int]:
        """Return the number that each turn of the other branch gets in this one; 0: this branch has the same one."""
        numbers, last = {number: number for number in range(1, self._shared + 1)}, len(self._ours.turns)
        for turn in self._theirs.turns[self._shared :]:
            is_known = any(_alike(turn, own) for own in self._ours.turns[self._shared :])
            last += not is_known
            numbers[turn.number] = 0 if is_known else last
        return numbers

    def _decide(self, event: EventBase, state: TalkState) -> None:
        number = self._numbers[state.turn_of(event).number]
        if not number:
            self.same.append(event.id)
        elif number <= self._shared and self._ours.turns[number - 1].answer is not None:
            self.left.append(event.id)
        else:
            self.adopted.append(event.id)
            self.places.append(number)


def _alike(one: Turn, other: Turn) -> bool:
    """Return whether two turns have the same question and the same answer."""
    if one.text != other.text or one.answer is None or other.answer is None:
        return False
    return one.answer.sentences == other.answer.sentences
