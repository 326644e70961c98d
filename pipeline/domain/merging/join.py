"""The rule by which two branches of a stream are joined: which one goes on, what it adopts, and what both cost.

Two machines that share a folder both join what they find, each on its own. So the result depends on the two branches alone: it
names no machine and asks no clock, and the union of two such joins is one file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from pipeline.domain.budget import CallHistory
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode, decode_all
from pipeline.domain.events.records import Branch, Record, kind_of, merge_run_id, moved
from pipeline.domain.merging.adoption import Adoption
from pipeline.domain.merging.turns import JoinedTurns
from pipeline.domain.session import record_of, stamped, state_of
from pipeline.domain.state import expected_usd
from pipeline.domain.values import Cost
from pipeline.text.normalise import digest_of


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
