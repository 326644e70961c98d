"""The rule by which two branches of a stream are joined: which one goes on, what it adopts, and what both cost.

Two machines that share a folder both join what they find, each on its own. So the result depends on the two branches alone: it
names no machine and asks no clock, and the union of two such joins is one file. A session adopts outcomes of steps that it still
has to take, with the same question. A talk is a row of questions that do not compete, so both machines' questions stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, takewhile
from typing import Any

from pipeline.domain import fold
from pipeline.domain.agenda import agenda
from pipeline.domain.budget import CallHistory
from pipeline.domain.event_rules import refusal
from pipeline.domain.events import session_events as e
from pipeline.domain.events import stream_events as t
from pipeline.domain.events.json_codec import decode, decode_all
from pipeline.domain.events.records import Branch, Record, kind_of, merge_run_id, moved
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.findings import facts_of
from pipeline.domain.report_parts import BEGINNING, items_of
from pipeline.domain.session import record_of, stamped, state_of
from pipeline.domain.state import SessionState, expected_usd
from pipeline.domain.steps import (
    AskApproval,
    ExtendPlan,
    FindGaps,
    FinishWorker,
    NextRound,
    StartAnalysis,
    StartSynthesis,
    StartWorker,
    Step,
)
from pipeline.domain.talk import TalkState, Turn, apply, talk_of
from pipeline.domain.values import Cost
from pipeline.text.normalise import counted, digest_of, one_line

_LONGEST = 160


def gist(event: e.EventBase) -> str:
    """Return the content of an event in at most 160 characters."""
    return one_line(_gist(event), _LONGEST)


def _gist(event: e.EventBase) -> str:
    match event:
        case e.StepFailed():
            return f"failed: {event.message}"
        case e.TopicSurveyed() | e.SearchCompleted():
            return f"{counted(len(event.hits), 'hit')}: {', '.join(hit.title or hit.url for hit in event.hits)}"
        case e.PlanCreated():
            return ", ".join(view.name for view in event.perspectives)
        case e.WorkerThought():
            return " | ".join(event.queries) or event.reasoning
        case e.PageRead():
            return f"{event.title}, {counted(event.characters, 'character')}"
        case e.FactsObserved() | e.GapLookedUp():
            return f"{counted(len(event.facts), 'fact')}: {'; '.join(fact.claim for fact in event.facts)}"
        case e.WorkerEvaluated():
            return "sufficient" if event.sufficient else f"open: {'; '.join(event.gaps)}"
        case e.FactsValidated():
            return counted(len(event.facts), "fact")
        case e.AnalysisCompleted() | e.GapsFound():
            return f"{counted(len(event.gaps), 'gap')}: {'; '.join(gap.question for gap in event.gaps)}"
        case e.PassagesChosen():
            return f"{counted(len(event.passages), 'passage')}: {'; '.join(fact.quote for fact in event.passages)}"
        case e.OutlineCreated():
            return " | ".join((event.title, *(section.title for section in event.sections)))
        case e.ReportWritten():
            return " ".join(item.text for item in items_of(event.sections))
        case e.ReportRevised() if event.sections:
            return " ".join(item.text for item in items_of(event.sections))
        case e.ReportRevised():
            return " ".join(sentence.text for part in event.paragraphs for sentence in part.sentences)
        case e.Retired():  # the section of a report
            paragraphs = (event.model_extra or {}).get("paragraphs", ())
            return " ".join(sentence["text"] for part in paragraphs for sentence in part["sentences"]) or event.type
        case e.ClaimsChecked():
            unsupported = sum(not verdict.supported for verdict in event.verdicts)
            return f"{counted(unsupported, 'sentence')} not supported"
    return event.type


_NOT_COMPARED = {"id", "session_id", "version", "at", "run_id", "cost", "exchange", "seconds"}
# What a run decides for itself, by its own clock, network and money, is no answer that another run could use.
_ITS_OWN = (
    e.RunStarted, e.CallSent, e.BranchMerged, e.StepFailed, e.WorkerFailed, e.ResearchFailed, e.ResearchReopened,
    e.BudgetExhausted, e.SettingsChanged, e.ReportGenerated, e.ResearchCompleted, e.EarlierRecalled, e.UnknownEvent,
)  # fmt: skip
# What a person said counts, on whichever machine they said it.
_SAID = (e.ApprovalGiven, e.ResearchCancelled, e.HandoffInitiated, e.HandoffAccepted, e.HandoffCompleted)


class Adoption:
    """Goes through the events of the other branch, beside the states of both branches.

    ``events`` are those of this branch, ``base`` of which both have. ``adopted``, ``same`` and ``left`` are ids of the other
    branch's events, in its order; see ``BranchMerged``. ``fresh`` are the ids of those that this branch does not account for yet.
    """

    def __init__(self, session: str, events: Sequence[e.EventBase], base: int, fresh: set[str]) -> None:
        self._ours, self._theirs = state_of(session, events), state_of(session, events[:base])
        ended = [(name, outcome) for name, outcome in _outcomes(events[base:]) if name]
        self._known = dict(sorted(ended, key=lambda entry: not _is_failure(entry[1])))  # an answer counts before a failure
        self._fresh = fresh
        self.adopted: list[str] = []
        self.same: list[str] = []
        self.left: list[str] = []
        self.conflicts: list[e.Conflict] = []

    def reopen(self) -> None:
        """Let this branch go on after its failure."""
        fold.apply(self._ours, e.ResearchReopened(version=self._ours.version))

    def go_through(self, theirs: Iterable[e.EventBase]) -> None:
        """Decide about each outcome of the other branch, in its order."""
        for name, outcome in _outcomes(theirs):
            if outcome[0].id in self._fresh and not isinstance(outcome[0], _ITS_OWN):
                self._decide(name, outcome)
            for event in outcome:
                fold.apply(self._theirs, event)

    def _decide(self, name: str, outcome: Sequence[e.EventBase]) -> None:
        if self._is_open(outcome[0]) and _asked_alike(self._ours, self._theirs, outcome[0]):
            for event in outcome:
                self._adopt(event)
        elif not name:
            return
        elif name in self._known and _payloads(self._known[name]) == _payloads(outcome):
            self.same += [event.id for event in outcome]
        elif name in self._known:
            ours, theirs = self._known[name][0], outcome[0]
            conflict = e.Conflict(step=name, ours=ours.id, theirs=theirs.id, kept=gist(ours), other=gist(theirs))
            self.conflicts.append(conflict)
        else:
            self.left += [event.id for event in outcome]

    def _adopt(self, event: e.EventBase) -> None:
        if refusal(self._ours, event):
            self.left.append(event.id)
            return
        fold.apply(self._ours, event)
        self.adopted.append(event.id)

    def _is_open(self, event: e.EventBase) -> bool:
        """Return whether this branch still has to take the step that the event ended."""
        if self._ours.report is not None or refusal(self._ours, event):
            return False
        if isinstance(event, _SAID):
            return True
        steps = agenda(self._ours)
        if isinstance(event, e.Answered) and event.step:
            return any(step.key == event.step for step in steps)
        return _pure_step(event) in steps


def _outcomes(events: Iterable[e.EventBase]) -> Iterator[tuple[str, list[e.EventBase]]]:
    """Yield step and events of each outcome; an event that no answer came with is one by itself, without a step."""
    for (name, _), group in groupby(events, key=lambda event: (_step(event), isinstance(event, e.StepFailed))):
        outcome = list(group)
        yield from [(name, outcome)] if name else [("", [event]) for event in outcome]


def _step(event: e.EventBase) -> str:
    return event.step if isinstance(event, e.Answered) else ""


def _is_failure(outcome: Sequence[e.EventBase]) -> bool:
    return isinstance(outcome[-1], e.StepFailed)


def _payloads(outcome: Iterable[e.EventBase]) -> list[dict[str, Any]]:
    return [event.model_dump(exclude=_NOT_COMPARED) for event in outcome]


def _pure_step(event: e.EventBase) -> Step | None:
    """Return the step that ends in this event without an answer from outside."""
    match event:
        case e.WorkerStarted():
            return StartWorker(event.worker_id)
        case e.WorkerThought():
            return NextRound(event.worker_id, event.iteration)
        case e.WorkerCompleted():
            return FinishWorker(event.worker_id, event.reason)
        case e.AnalysisStarted():
            return StartAnalysis(event.round)
        case e.GapsFound():
            return FindGaps(event.round)
        case e.PlanExtended():
            return ExtendPlan(event.round - 1)
        case e.SynthesisStarted():
            return StartSynthesis()
        case e.ApprovalRequested():
            return AskApproval()
    return None


def _asked_alike(ours: SessionState, theirs: SessionState, event: e.EventBase) -> bool:
    """Return whether both branches know the same of what the event's answer depends on."""
    basis = _BASES.get(type(event), _of_the_report)
    return bool(basis(ours, event) == basis(theirs, event))


def _nothing(_state: SessionState, _event: Any) -> Any:
    return None


def _of_the_plan(state: SessionState, _event: e.PlanCreated) -> Any:
    return state.survey


def _of_a_page(state: SessionState, event: e.FactsObserved) -> Any:
    worker = state.workers.get(event.worker_id)
    return state.perspectives, state.pages[event.url].digest, state.observed.get(event.url), worker and len(worker.iterations)


def _of_a_worker(state: SessionState, event: Any) -> Any:
    node, worker = state.nodes.get(event.worker_id), state.workers.get(event.worker_id)
    view = state.perspectives.get(node.perspective) if node else None
    return view, worker and (worker.iterations, facts_of(state, worker))


def _of_the_cross_check(state: SessionState, _event: Any) -> Any:
    return state.facts, state.analyses


def _of_the_passages(state: SessionState, _event: e.PassagesChosen) -> Any:
    return state.survey, state.searches, {url: page.digest for url, page in state.pages.items()}


def _of_the_report(state: SessionState, event: Any) -> Any:
    part = getattr(event, "part", BEGINNING)
    return state.facts, state.synthesis, state.parts if part == BEGINNING else state.parts.get(part)


_BASES: dict[type[e.EventBase], Callable[[SessionState, Any], Any]] = {
    e.TopicSurveyed: _nothing,
    e.SearchCompleted: _nothing,
    e.PageRead: _nothing,
    **dict.fromkeys(_SAID, _nothing),
    e.PlanCreated: _of_the_plan,
    e.ApprovalRequested: _of_the_plan,
    e.FactsObserved: _of_a_page,
    e.WorkerStarted: _of_a_worker,
    e.WorkerThought: _of_a_worker,
    e.WorkerEvaluated: _of_a_worker,
    e.WorkerCompleted: _of_a_worker,
    e.AnalysisStarted: _of_the_cross_check,
    e.GapsFound: _of_the_cross_check,
    e.PlanExtended: _of_the_cross_check,
    e.SynthesisStarted: _of_the_cross_check,
    e.PassagesChosen: _of_the_passages,
}


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


def canonical(first: Branch, second: Branch) -> tuple[Branch, Branch]:
    """Return the branch that goes on, and the other: the one with a report, else the longer, else that of the smaller hash."""
    kept, taken = sorted((first, second), key=lambda branch: (not _has_report(branch), -len(branch.records), branch.head))
    return kept, taken


def joined(first: Branch, second: Branch) -> tuple[Branch, list[Record]]:
    """Return the branch that goes on, and the records that join the other to it and follow its last one.

    Raises:
        LogDamaged: a record of a session is no event.
        SchemaTooNew: a newer major version of this program wrote one.
    """
    kept, taken = canonical(first, second)
    base = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(kept.records, taken.records, strict=False)))
    fresh = {hash_: record for hash_, record in taken.known.items() if hash_ not in kept.known}
    match kind_of(kept.records[0].session_id):
        case "session":
            return kept, _joined_sessions(kept, taken, base, list(fresh.values()))
        case "talk":
            return kept, _joined_talks(kept, taken, base, list(fresh.values()))
    left = tuple(record.id for record in fresh.values())
    bill = _bill(kept, list(fresh.values()), (), _without_history)
    return kept, _records(kept, taken, [e.BranchMerged(base=base, kept=kept.head, taken=taken.head, left=left, **bill)], [])


def _joined_sessions(kept: Branch, taken: Branch, base: int, fresh: Sequence[Record]) -> list[Record]:
    events = list(decode_all(record.data for record in kept.records))
    others = list(decode_all(record.data for record in taken.records[base:]))
    before = state_of(kept.records[0].session_id, events)
    adoption = Adoption(before.id, events, base, {record.id for record in fresh})
    reopened = before.status == "failed" and not state_of(before.id, [*events[:base], *others]).ended
    if reopened:
        adoption.reopen()
    adoption.go_through(others)
    merged = e.BranchMerged(
        base=base,
        kept=kept.head,
        taken=taken.head,
        machines=(_machine(events), _machine([*events[:base], *others])),
        adopted=tuple(adoption.adopted),
        same=tuple(adoption.same),
        left=tuple(adoption.left),
        conflicts=tuple(adoption.conflicts),
        **_bill(kept, fresh, adoption.adopted, partial(expected_usd, before)),
    )
    drafts = [merged, *([e.ResearchReopened(reason="another machine was still at work on it")] if reopened else [])]
    return _records(kept, taken, drafts, _adopted(taken, base, adoption.adopted))


def _joined_talks(kept: Branch, taken: Branch, base: int, fresh: Sequence[Record]) -> list[Record]:
    events, others = (list(decode_all(record.data for record in branch.records)) for branch in (kept, taken))
    turns = JoinedTurns(events, others, base, {record.id for record in fresh})
    merged = e.BranchMerged(
        base=base,
        kept=kept.head,
        taken=taken.head,
        machines=(_machine(events), _machine(others)),
        adopted=tuple(turns.adopted),
        places=tuple(turns.places),
        same=tuple(turns.same),
        left=tuple(turns.left),
        **_bill(kept, fresh, turns.adopted, _without_history),
    )
    return _records(kept, taken, [merged], _adopted(taken, base, turns.adopted))


def _adopted(taken: Branch, base: int, adopted: Sequence[str]) -> list[Record]:
    return [record for record in taken.records[base:] if record.id in adopted]


def _records(kept: Branch, taken: Branch, drafts: Sequence[e.EventBase], copies: Iterable[Record]) -> list[Record]:
    """Stamp the drafts and move the copies: all follow the kept branch. The time is that of the later of both heads."""
    stream, run_id = kept.records[0].session_id, merge_run_id(kept.head, taken.head)
    at = max(kept.records[-1].at, taken.records[-1].at)
    version = len(kept.records)
    records = []
    for number, draft in enumerate(drafts, 1):
        event_id = digest_of(f"{run_id}:{number}".encode())[:32]
        records.append(record_of(stamped(draft, stream, version + number, run_id, event_id, at)))
    return records + [moved(copy, place, run_id) for place, copy in enumerate(copies, version + len(records) + 1)]


def _bill(
    kept: Branch, fresh: Sequence[Record], adopted: Sequence[str], expected: Callable[[str, Cost], float]
) -> dict[str, Any]:
    """Return what the other branch cost besides the adopted events, as ``BranchMerged`` says it."""
    known, new = ([decode(record.data) for record in records] for records in (kept.known.values(), fresh))
    counted, unanswered = _lost_calls(known), _lost_calls([*known, *new])
    lost = [call for call in unanswered if call not in counted]
    answers = [event.cost for event in new if isinstance(event, e.Answered) and event.id not in adopted]
    return {
        "cost": _cost(answers, lost, expected),
        "lost": len(lost),
        "lost_usd": round(sum(call.worst.usd for call in lost), 9),
        "answered": tuple(call.worst for call in counted if call not in unanswered),
    }


def _without_history(_step: str, worst: Cost) -> float:
    return CallHistory().expected_usd(worst)


def _cost(answers: Sequence[Cost], lost: Sequence[e.CallSent], expected: Callable[[str, Cost], float]) -> Cost:
    """Return the sum of what the answers cost, and of the worst cases of the lost calls."""
    sums: Counter[str] = Counter()
    for cost in (*answers, *(call.worst for call in lost)):
        sums.update({name: getattr(cost, name) for name in ("input_tokens", "output_tokens", "total_tokens", "calls")})
    lost_usd = sum(call.worst.usd for call in lost)
    assumed = sum(cost.expected_usd for cost in answers) + sum(expected(call.step, call.worst) for call in lost)
    return Cost(
        **sums,
        usd=round(sum(cost.usd for cost in answers) + lost_usd, 9),
        assumed_usd=round(sum(cost.assumed_usd for cost in answers) + lost_usd, 9),
        expected_usd=round(assumed, 9),
    )


def _lost_calls(events: Iterable[e.EventBase]) -> list[e.CallSent]:
    """Return the calls that their own runs announced and never settled: only they could."""
    sent: dict[tuple[str, str], list[e.CallSent]] = {}
    for event in sorted(events, key=lambda event: event.version):
        if isinstance(event, e.CallSent):
            sent.setdefault((event.run_id, event.step), []).append(event)
        elif isinstance(event, e.Answered):
            sent.pop((event.run_id, event.step), None)
    return [call for _, calls in sorted(sent.items()) for call in calls]


def _machine(events: Iterable[e.EventBase]) -> str:
    """Return the machine of a branch's last run."""
    runs = [event for event in events if isinstance(event, e.RunStarted)]
    return (runs[-1].agent or runs[-1].host) if runs else ""


def _has_report(branch: Branch) -> bool:
    return any(record.type == "report.generated" for record in branch.records)
