"""What each kind of call cost in a session: one row for each kind of step, from the events alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.domain.events import session_events as e
from pipeline.domain.values import Spent

_WORDS = {
    "Survey": "First search",
    "Plan": "Planning",
    "Think": "Deciding what to search for",
    "SearchFor": "Searching",
    "Observe": "Taking facts from pages",
    "ObservePage": "Taking facts from pages",
    "LookUp": "Looking gaps up in pages read",
    "Evaluate": "Judging what was found",
    "Fold": "Condensing what was found",
    "Validate": "Cross-checking the facts",
    "Contrast": "Looking for disagreements",
    "FindGaps": "Looking for what is still unknown",
    "MakeOutline": "Outlining the report",
    "WriteSection": "Writing",
    "CheckSection": "Checking sentences",
    "CheckChanges": "Checking changed sentences",
    "ReviseSection": "Revising",
    "EditReport": "Editing the report",
    "ReadPages": "Reading pages",
    "WriteReport": "Writing the report",
    "CheckReport": "Checking the report",
    "MendReport": "Mending the report",
}
_STEP_OF = {  # of events in a log from before they named their step
    e.TopicSurveyed: "Survey",
    e.PlanCreated: "Plan",
    e.WorkerThought: "Think",
    e.SearchCompleted: "SearchFor",
    e.FactsObserved: "Observe",
    e.WorkerEvaluated: "Evaluate",
    e.ContextFolded: "Fold",
    e.FactsValidated: "Validate",
    e.ContradictionsFound: "Contrast",
    e.AnalysisCompleted: "FindGaps",
    e.OutlineCreated: "MakeOutline",
    e.SectionWritten: "WriteSection",
    e.ClaimsChecked: "CheckSection",
    e.ReportRevised: "ReviseSection",
}
LOST = "Calls without a reply, at their worst case"


@dataclass(slots=True)
class CostRow:
    """The sums of one kind of call. ``cached_tokens`` are part of ``input_tokens``."""

    kind: str
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0


def cost_rows(events: Iterable[e.EventBase], spent: Spent) -> tuple[CostRow, ...]:
    """Return a row for each kind of call that was charged, the dearest first; together they are what the session ``spent``."""
    rows: dict[str, CostRow] = {}
    for event in events:
        if isinstance(event, e.Answered) and (event.cost.calls or event.cost.usd):
            _add(rows, event)
    if spent.lost:
        rows[LOST] = _rest(spent, rows.values())
    return tuple(sorted(rows.values(), key=lambda row: (-row.usd, -row.input_tokens, row.kind)))


def _add(rows: dict[str, CostRow], event: e.Answered) -> None:
    step, cost = event.step.partition(":")[0] or _STEP_OF.get(type(event), event.type), event.cost
    row = rows.setdefault(step, CostRow(_WORDS.get(step, step)))
    row.calls += cost.calls
    row.input_tokens += cost.input_tokens
    row.cached_tokens += cost.cached_tokens
    row.output_tokens += cost.output_tokens
    row.usd = round(row.usd + cost.usd, 9)


def _rest(spent: Spent, rows: Iterable[CostRow]) -> CostRow:
    known = list(rows)
    return CostRow(
        LOST,
        spent.lost,
        max(0, spent.input_tokens - sum(row.input_tokens for row in known)),
        0,
        max(0, spent.output_tokens - sum(row.output_tokens for row in known)),
        spent.lost_usd,
    )
