"""The rule by which two branches of a stream are joined: which one goes on, what it adopts, and what both cost.

Two machines that share a folder both join what they find, each on its own. So the result depends on the two branches alone: it
names no machine and asks no clock, and the union of two such joins is one file. A session adopts outcomes of steps that it still
has to take, with the same question. A talk is a row of questions that do not compete, so both machines' questions stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import groupby, takewhile
from typing import Any

from pipeline.domain import fold, steps
from pipeline.domain.agenda import agenda
from pipeline.domain.budget import CallHistory
from pipeline.domain.events import session_events as e
from pipeline.domain.events import talk_events as t
from pipeline.domain.events.json_codec import decode, decode_all
from pipeline.domain.events.stream_records import Branch, Record, kind_of, merge_run_id, moved
from pipeline.domain.page_choice_and_findings import facts_of
from pipeline.domain.report_draft import BEGINNING
from pipeline.domain.research_values import Cost, assumed, total
from pipeline.domain.session import record_of, refusal, stamped, state_of
from pipeline.domain.session_state import SessionState, expected_usd
from pipeline.domain.talk import apply, talk_of
from pipeline.text.cleaning import digest_of

_NOT_COMPARED = {"id", "session_id", "version", "at", "run_id", "cost", "exchange", "seconds"}
# What a run decides for itself, by its own clock, network and money, is no answer that another run could use.
_ITS_OWN = (
    e.RunStarted, e.CallSent, e.BranchMerged, e.StepFailed, e.WorkerFailed, e.ResearchFailed, e.ResearchReopened,
    e.BudgetExhausted, e.SettingsChanged, e.ReportGenerated, e.ResearchCompleted, e.EarlierRecalled, e.UnknownEvent,
)  # fmt: skip
# What a person said counts, on whichever machine they said it.
_SAID = (e.ApprovalGiven, e.ResearchCancelled, e.HandoffInitiated, e.HandoffAccepted, e.HandoffCompleted)


def _outcomes(events: Iterable[e.EventBase]) -> Iterator[tuple[str, list[e.EventBase]]]:
    """Yield step and events of each outcome; an event that no answer came with is one by itself, without a step."""

    def kind(event: e.EventBase) -> tuple[str, bool]:
        return event.step if isinstance(event, e.Answered) else "", isinstance(event, e.StepFailed)

    for (name, _), group in groupby(events, key=kind):
        outcome = list(group)
        yield from [(name, outcome)] if name else [("", [event]) for event in outcome]


def _payloads(outcome: Iterable[e.EventBase]) -> list[dict[str, object]]:
    return [event.model_dump(exclude=_NOT_COMPARED) for event in outcome]


# The step that ends in such an event without an answer from outside.
_PURE: Mapping[type[e.EventBase], Callable[[Any], steps.Step]] = {
    e.WorkerStarted: lambda event: steps.StartWorker(event.worker_id),
    e.WorkerThought: lambda event: steps.NextRound(event.worker_id, event.iteration),
    e.WorkerCompleted: lambda event: steps.FinishWorker(event.worker_id, event.reason),
    e.AnalysisStarted: lambda event: steps.StartAnalysis(event.round),
    e.GapsFound: lambda event: steps.FindGaps(event.round),
    e.PlanExtended: lambda event: steps.ExtendPlan(event.round - 1),
    e.SynthesisStarted: lambda _event: steps.StartSynthesis(),
    e.ApprovalRequested: lambda _event: steps.AskApproval(),
}


def _basis(state: SessionState, event: e.EventBase) -> object:
    """Return what a branch knows of all that the event's answer depends on."""
    match event:
        case e.TopicSurveyed() | e.SearchCompleted() | e.PageRead():
            return None
        case _ if isinstance(event, _SAID):
            return None
        case e.PlanCreated() | e.ApprovalRequested():
            return _payloads(filter(None, [state.survey]))
        case e.FactsObserved():
            worker, page = state.workers.get(event.worker_id), state.pages[event.url]
            return state.perspectives, page.digest, state.observed.get(event.url), worker and len(worker.iterations)
        case e.WorkerStarted() | e.WorkerThought() | e.WorkerEvaluated() | e.WorkerCompleted():
            node, worker = state.nodes.get(event.worker_id), state.workers.get(event.worker_id)
            view = state.perspectives.get(node.perspective) if node else None
            return view, worker and (worker.iterations, facts_of(worker))
        case e.AnalysisStarted() | e.GapsFound() | e.PlanExtended() | e.SynthesisStarted():
            return state.facts, state.analyses
        case e.PassagesChosen():
            searched = {query: _payloads([done]) for query, done in state.searches.items()}
            return _payloads(filter(None, [state.survey])), searched, {url: page.digest for url, page in state.pages.items()}
    part = getattr(event, "part", BEGINNING)
    return state.facts, state.synthesis, state.parts if part == BEGINNING else state.parts.get(part)


_OF_A_TURN = (
    t.MessageAsked, t.MessageResolved, t.PassagesFound, t.PassagesTaken,
    t.PassagesObserved, t.AnswerDrafted, t.MessageAnswered,
)  # fmt: skip


def joined(first: Branch, second: Branch) -> tuple[Branch, list[Record]]:
    """Return the branch that goes on, and the records that join the other to it and follow its last one.

    The one with a report goes on, else the longer, else that of the smaller hash.

    Raises:
        LogDamaged: a record of a session is no event.
        SchemaTooNew: a newer major version of this program wrote one.
    """

    def order(branch: Branch) -> tuple[bool, int, str]:
        return not any(record.type == "report.generated" for record in branch.records), -len(branch.records), branch.head

    kept, taken = sorted((first, second), key=order)
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
    """Go through the outcomes of the other branch, in its order and beside the states of both; ``BranchMerged`` has the terms."""
    events = list(decode_all(record.data for record in kept.records))
    others = list(decode_all(record.data for record in taken.records[base:]))
    before = state_of(kept.records[0].session_id, events)
    ours, theirs = deepcopy(before), state_of(before.id, events[:base])
    reopened = before.status == "failed" and not state_of(before.id, [*events[:base], *others]).ended
    if reopened:
        fold.apply(ours, e.ResearchReopened(version=ours.version))
    ended = [(name, outcome) for name, outcome in _outcomes(events[base:]) if name]
    known = dict(sorted(ended, key=lambda entry: not isinstance(entry[1][-1], e.StepFailed)))  # an answer counts before a failure
    new = {record.id for record in fresh}
    adopted: list[str] = []
    same: list[str] = []
    left: list[str] = []
    conflicts: list[e.Conflict] = []
    for name, outcome in _outcomes(others):
        first, ids = outcome[0], [event.id for event in outcome]
        if first.id not in new or isinstance(first, _ITS_OWN):
            pass
        elif _is_open(ours, first) and _basis(ours, first) == _basis(theirs, first):
            for event in outcome:
                if refusal(ours, event):
                    left.append(event.id)
                else:
                    fold.apply(ours, event)
                    adopted.append(event.id)
        elif name not in known:
            left += ids if name else []
        elif _payloads(known[name]) == _payloads(outcome):
            same += ids
        else:
            conflicts.append(e.Conflict(step=name, ours=known[name][0].id, theirs=first.id))
        for event in outcome:
            fold.apply(theirs, event)
    merged = e.BranchMerged(
        base=base,
        kept=kept.head,
        taken=taken.head,
        machines=(_machine(events), _machine([*events[:base], *others])),
        adopted=tuple(adopted),
        same=tuple(same),
        left=tuple(left),
        conflicts=tuple(conflicts),
        **_bill(kept, fresh, adopted, partial(expected_usd, before)),
    )
    drafts = [merged, *([e.ResearchReopened(reason="another machine was still at work on it")] if reopened else [])]
    return _records(kept, taken, drafts, [record for record in taken.records[base:] if record.id in adopted])


def _is_open(ours: SessionState, event: e.EventBase) -> bool:
    """Return whether this branch still has to take the step that the event ended."""
    if ours.report is not None or refusal(ours, event):
        return False
    if isinstance(event, _SAID):
        return True
    if isinstance(event, e.Answered) and event.step:
        return any(step.key == event.step for step in agenda(ours))
    step_of = _PURE.get(type(event))
    return step_of is not None and step_of(event) in agenda(ours)


def _joined_talks(kept: Branch, taken: Branch, base: int, fresh: Sequence[Record]) -> list[Record]:
    """Let the other branch's questions follow this one's, unless both have the same question with the same answer."""
    events, others = (list(decode_all(record.data for record in branch.records)) for branch in (kept, taken))
    talk, new = kept.records[0].session_id, {record.id for record in fresh}
    own, other, shared = talk_of(talk, events), talk_of(talk, others), len(talk_of(talk, events[:base]).turns)
    answers = [(turn.text, turn.answer.sentences) for turn in own.turns[shared:] if turn.answer]
    numbers, last = {number: number for number in range(1, shared + 1)}, len(own.turns)
    for turn in other.turns[shared:]:
        is_known = turn.answer is not None and (turn.text, turn.answer.sentences) in answers
        last += not is_known
        numbers[turn.number] = 0 if is_known else last  # 0: this branch has the same one
    turns: dict[str, list[Any]] = {"adopted": [], "places": [], "same": [], "left": []}
    state = talk_of(talk, others[:base])
    for event in others[base:]:
        apply(state, event)
        if event.id in new and isinstance(event, _OF_A_TURN):
            number = numbers[state.turn_of(event).number]
            is_answered = number <= shared and number and own.turns[number - 1].answer is not None
            turns["same" if not number else "left" if is_answered else "adopted"].append(event.id)
            if number and not is_answered:
                turns["places"].append(number)
    said = {name: tuple(found) for name, found in turns.items()}
    bill = _bill(kept, fresh, said["adopted"], _without_history)
    machines = (_machine(events), _machine(others))
    merged = e.BranchMerged(base=base, kept=kept.head, taken=taken.head, machines=machines, **said, **bill)
    return _records(kept, taken, [merged], [record for record in taken.records[base:] if record.id in said["adopted"]])


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
    counted, unanswered = fold.lost_calls(known), fold.lost_calls([*known, *new])
    lost = [call for call in unanswered if call not in counted]
    answers = [event.cost for event in new if isinstance(event, e.Answered) and event.id not in adopted]
    cost = total([*answers, *(assumed(call.worst, expected(call.step, call.worst)) for call in lost)])
    return {
        "cost": cost.model_copy(update={"cached_tokens": 0}),
        "lost": len(lost),
        "lost_usd": round(sum(call.worst.usd for call in lost), 9),
        "answered": tuple(call.worst for call in counted if call not in unanswered),
    }


def _without_history(_step: str, worst: Cost) -> float:
    return CallHistory().expected_usd(worst)


def _machine(events: Iterable[e.EventBase]) -> str:
    """Return the machine of a branch's last run."""
    runs = [event for event in events if isinstance(event, e.RunStarted)]
    return (runs[-1].agent or runs[-1].host) if runs else ""
