"""Talks: questions on stored pages, the state computed from their events, what is next, what they are about. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pipeline.domain.budget import CallHistory
from pipeline.domain.events import session_events as e
from pipeline.domain.events import talk_events as t
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import Answered, EventBase
from pipeline.domain.research_values import EXTRACTIVE, Cost, Fact, assumed, minus, total
from pipeline.domain.session import StoredEvents
from pipeline.domain.summary import Summary, is_tagged
from pipeline.errors import SessionUnknown


@dataclass(slots=True)
class Turn:
    """One question of a talk, and how far its answer is. ``observed`` holds, in older logs, the facts of
    each page by the page's address.

    ``failed`` says why a model failed in a step that is then done without one, by the step's key.
    """

    number: int
    text: str
    by: str = "person"
    at: str = ""
    stands_alone: str = ""
    found: t.PassagesFound | None = None
    taken: t.PassagesTaken | None = None
    observed: dict[str, tuple[Fact, ...]] = field(default_factory=dict)
    draft: t.AnswerDrafted | None = None
    answer: t.MessageAnswered | None = None
    failed: dict[str, str] = field(default_factory=dict)

    def facts(self) -> tuple[Fact, ...]:
        """Return the passages that were taken, the nearest first; in older logs those of each page, as the pages were found."""
        if self.taken:
            return (*self.taken.passages, *self.taken.more)
        pages = self.found.pages if self.found else ()
        return tuple({fact.id: fact for page in pages for fact in self.observed.get(page.url, ())}.values())

    def gone(self) -> dict[str, str]:
        """Return when each document that is no longer in its folder was last read, by its address."""
        pages = self.found.pages if self.found else ()
        return {page.url: page.read_at for page in pages if page.gone}

    def cited(self) -> tuple[Fact, ...]:
        """Return the facts that the answer cites, in order of first citation."""
        names = self.answer.facts if self.answer else ()
        known = {fact.id: fact for fact in self.facts()}
        return tuple(known[name] for name in names if name in known)


@dataclass(slots=True)
class TalkState:
    """The whole state of a talk. ``open_calls`` are paid calls without a recorded answer, by step.

    ``cost`` is what its answers cost so far, such calls at their worst case. ``places`` has the number of the turn for each event
    that was adopted from another machine's branch, by the event's id: its own number counts the turns there.
    """

    id: str = ""
    version: int = 0
    scope: t.Scope = "vault"
    ids: tuple[str, ...] = ()
    subject: str = ""
    reasoner: str = EXTRACTIVE
    budget_usd: float | None = None
    note: str = ""
    opened_at: str = ""
    last_at: str = ""
    turns: list[Turn] = field(default_factory=list)
    spent: Cost = field(default_factory=Cost)
    open_calls: dict[str, list[Cost]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)

    def turn_of(self, event: EventBase) -> Turn:
        """Return the turn that an event belongs to: the last one, unless it was adopted for an earlier one."""
        return self.turns[self.places.get(event.id, len(self.turns)) - 1]

    def cost(self) -> Cost:
        """Return what the answers cost so far; calls without a recorded answer count at their worst case."""
        return total([self.spent, *(worst for calls in self.open_calls.values() for worst in calls)])


def talk_of(talk_id: str, events: Iterable[EventBase]) -> TalkState:
    """Return the state that a talk's events fold to."""
    state = TalkState(id=talk_id)
    for event in events:
        apply(state, event)
    return state


def read_talk(store: StoredEvents, talk_id: str) -> TalkState:
    """Return the talk as the store holds it, or an empty one.

    Raises:
        LogError: the log is damaged, forked, or written by a newer major version.
    """
    return talk_of(talk_id, decode_all(record.data for record in store.load(talk_id)))


def apply(state: TalkState, event: EventBase) -> None:
    """Add one event to the state. An event of another kind changes only the version."""
    state.version, state.last_at = event.version or state.version + 1, event.at or state.last_at
    turn = state.turn_of(event) if state.turns and not isinstance(event, t.MessageAsked) else Turn(0, "")
    match event:
        case t.TalkOpened():
            state.scope, state.ids, state.subject, state.note = event.scope, event.ids, event.subject, event.note
            state.reasoner, state.budget_usd, state.opened_at = event.reasoner, event.budget_usd, event.at
        case t.MessageAsked():
            state.turns.append(Turn(len(state.turns) + 1, event.text, event.by, event.at))
        case t.MessageResolved():
            turn.stands_alone = event.stands_alone
        case t.PassagesFound():
            turn.found = event
        case t.PassagesTaken():
            turn.taken = event
        case t.PassagesObserved():
            turn.observed[event.url] = event.facts
        case t.AnswerDrafted():
            turn.draft = event
        case t.MessageAnswered():
            turn.answer = event
        case e.StepFailed() if not event.recoverable:
            turn.failed[event.step] = event.message
        case e.CallSent():
            state.open_calls.setdefault(event.step, []).append(_lost(event.worst))
        case e.RunStarted() | e.BranchMerged():
            state.spent, state.open_calls = state.cost(), {}  # no later run will record the answers of lost calls
    if isinstance(event, e.BranchMerged):
        state.spent = minus(total([state.spent, event.cost]), total(map(_lost, event.answered)))
        state.places |= dict(zip(event.adopted, event.places, strict=False))
    elif isinstance(event, Answered):
        if event.id not in state.places:  # an adopted answer settles a call of its own branch: the merge has counted that
            state.open_calls.pop(event.step, None)
        state.spent = total([state.spent, event.cost])


def _lost(worst: Cost) -> Cost:
    return assumed(worst, CallHistory().expected_usd(worst))


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
    """Return the step that the last question waits for; None if it is answered, or nothing was asked.

    Without a model, or if nothing was taken, the passages are the answer.
    """
    turn = state.turns[-1] if state.turns else None
    if turn is None or turn.answer is not None:
        return None
    name: StepName = "answer" if state.reasoner == EXTRACTIVE or not turn.facts() else "draft"
    if not turn.stands_alone:
        name = "resolve"
    elif turn.found is None:
        name = "find"
    elif turn.taken is None:
        name = "take"
    elif turn.draft is not None:
        name = "check"
    return TalkStep(name, turn.number)


@dataclass(frozen=True, slots=True)
class TalkScope:
    """What a talk is about: ``ids`` as in ``TalkOpened``, the question it is about or "", and the sessions that count."""

    scope: t.Scope
    ids: tuple[str, ...]
    subject: str
    sessions: tuple[str, ...]


def talk_scope(known: Sequence[Summary], scope: t.Scope, ids: tuple[str, ...] = (), subject: str = "") -> TalkScope:
    """Return a scope with those of the ``known`` sessions that belong to it now: all for the whole vault, even if there are none.

    Raises:
        SessionUnknown: there is none with that id or tag.
    """
    if scope == "vault":
        return TalkScope(scope, ids, subject, tuple(one.id for one in known))
    if scope == "topic":
        found = [one for one in known if is_tagged(one.tags, ids)]
    else:
        found = [one for one in known if one.id in ids or (scope == "query" and one.query_id in ids)]
    if not found:
        tags = sorted({tag for one in known for tag in one.tags})
        hint = f"tags with sessions: {', '.join(tags[:10])}" if tags else "research list shows the sessions; none has a tag"
        what = f"no session has the tag {ids[0]!r}" if scope == "topic" else f"the session of the talk is gone: {', '.join(ids)}"
        raise SessionUnknown(what, hint=hint if scope == "topic" else "research list")
    subject = subject or (found[0].query if scope == "session" else "")
    return TalkScope(scope, ids, subject, tuple(one.id for one in found))


def latest_talk(talks: Sequence[TalkState], scope: TalkScope | None) -> TalkState:
    """Return the talk that was last spoken in, of one scope or of any.

    Raises:
        SessionUnknown: there is none.
    """
    found = [one for one in talks if scope is None or (one.scope, one.ids) == (scope.scope, scope.ids)]
    if not found:
        raise SessionUnknown("there is no talk to continue", hint='research ask "…" begins one')
    return max(found, key=lambda one: (one.last_at, one.id))
