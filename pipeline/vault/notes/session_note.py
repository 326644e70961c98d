"""The note of a session: plan, workers, timeline, failures, open questions, cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.domain.agenda.progress import counts_of
from pipeline.domain.events.session_events import BranchMerged
from pipeline.domain.events.stream_events import ImportedClaim, ImportedMessage
from pipeline.domain.findings import by_model, contradictions, open_gaps
from pipeline.domain.state import (
    OUTCOME_WORDS,
    Failure,
    SessionState,
    Worker,
    cost_of,
    outcome_of,
    search_nodes,
    workers_in_order,
    working_seconds,
)
from pipeline.domain.values import PlanNode
from pipeline.text.normalise import one_line
from pipeline.vault.notes.activity import Stretch, models, timeline
from pipeline.vault.notes.cost_table import CostRow, cost_rows
from pipeline.vault.notes.note_parts import (
    Citer,
    Disagreement,
    Open,
    archived,
    best_link,
    last_night,
    linked,
    night_links,
    open_questions,
    perspective_name,
    present,
    properties_of,
    reasoner_words,
    report_link,
    session_language,
    shown_status,
    topic_links,
    worker_link,
    worker_outcome,
)
from pipeline.vault.notes.queue_snippet import queue_lines
from pipeline.vault.notes.worker_note import WorkerView, worker_view
from pipeline.vault.output.escaping import Inert, Link, plain
from pipeline.vault.output.note import Note
from pipeline.vault.vault_model import LoadedSession, VaultModel

_STEPS = {
    "Survey": "the first survey",
    "Plan": "planning",
    "PlainPlan": "planning without the model",
    "ChoosePassages": "choosing passages",
    "WriteReport": "writing the report",
    "CheckReport": "checking the report",
    "MendReport": "mending the report",
    "Compare": "comparing with the report before",
}
_WORKER_STEPS = {"ReadPages": "reading the pages found", "PlainReading": "taking passages of the pages found"}


@dataclass(frozen=True, slots=True)
class Failed:
    """A step that failed: what it was, why, how often it was tried, and whether it was given up."""

    what: str
    message: str
    attempts: int
    given_up: bool


def failures_of(state: SessionState, prefix: str = "") -> tuple[Failed, ...]:
    """Return the session's failures in the order they happened; ``prefix`` picks by the start of the step's key."""
    found = sorted(state.failures.values(), key=lambda failure: (failure.at, failure.step))
    return tuple(failed(state, failure) for failure in found if failure.step.startswith(prefix))


def failed(state: SessionState, failure: Failure) -> Failed:
    """Return one failure in words."""
    return Failed(_step_words(state, failure.step), failure.message, failure.attempts, failure.final)


def _step_words(state: SessionState, key: str) -> str:
    kind, _, rest = key.partition(":")
    if kind == "SearchFor":
        return f"searching for “{rest}”"
    if kind == "Read":
        return f"reading {rest}"
    if kind in _WORKER_STEPS:
        return f"{_WORKER_STEPS[kind]} ({_perspective(state, rest.partition(':')[0])})"
    return _STEPS.get(kind, key)


def _perspective(state: SessionState, worker_id: str) -> str:
    worker = state.workers.get(worker_id)
    view = state.perspectives.get(worker.perspective_id) if worker else None
    return view.name if view else worker_id


@dataclass(frozen=True, slots=True)
class PlannedView:
    """A perspective of the plan: the link to its worker's note (its bare name if it never started), and its questions."""

    name: Link | str
    focus: str
    questions: tuple[str, ...]
    is_gap: bool


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker in numbers. ``outcome`` in words."""

    worker: Link
    rounds: int
    searches: int
    pages: int
    facts: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A step whose outcomes on two machines differ: what it was, what counts, and what the other machine recorded."""

    what: str
    kept: str
    other: str


@dataclass(frozen=True, slots=True)
class Joined:
    """Two machines went on with the session: their names, how many events of the ``other`` count, and where they differ."""

    kept: str
    other: str
    adopted: int
    same: int
    left: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class ImportedView:
    """What is shown of a session of another program. ``more`` counts what the note leaves out; the stored original has all of it.

    A claim has ``title`` (or ""), ``text``, ``by`` and ``sources``; a message has ``role``, ``by``, ``at`` and ``text``.
    """

    banner: str
    kind: str
    origin: str
    status: str
    created: str
    at: str
    left_out: int
    report: str
    claims: tuple[ImportedClaim, ...]
    messages: tuple[ImportedMessage, ...]
    more: int
    faults: tuple[str, ...]
    original: str


@dataclass(frozen=True, slots=True)
class SessionView:
    """What ``session.md.j2`` is given. Of a session of another program only some are set, and ``imported``."""

    title: str = ""
    status: str = ""
    outcome: str = ""
    unfinished: bool = False
    waiting: bool = False
    reason: str = ""
    session_id: str = ""
    query_id: str = ""
    report: Link | None = None
    nights: tuple[Link, ...] = ()
    earlier: Link | None = None
    later: Link | None = None
    mode: str = ""
    diagram: tuple[Inert, ...] = ()
    perspectives: tuple[PlannedView, ...] = ()
    workers: tuple[WorkerRow, ...] = ()
    folded: tuple[WorkerView, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    failures: tuple[Failed, ...] = ()
    joined: tuple[Joined, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    gaps: tuple[Open, ...] = ()
    to_ask: tuple[Inert, ...] = ()
    topics: tuple[Link, ...] = ()
    reasoner: str = ""
    models: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    searches: int = 0
    pages: int = 0
    facts: int = 0
    seconds: float = 0.0
    runs: int = 0
    usd: float = 0.0
    unknown_usd: float = 0.0
    likely_usd: float = 0.0
    calls: int = 0
    costs: tuple[CostRow, ...] = ()
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    events: int = 0
    started_at: str = ""
    ended_at: str = ""
    pruned: bool = False
    imported: ImportedView | None = None


def session_note(model: VaultModel, loaded: LoadedSession) -> Note:
    """Return the note of a session."""
    state, counts = loaded.state, counts_of(loaded.state)
    own = present(
        {
            "query": plain(state.query, 1_000),
            "session": state.id,
            "report": linked(report_link(loaded.card)),
            "night": last_night(model, loaded),
            "previous": linked(_earlier(model, loaded)),
            **{name: counts[name] for name in ("workers", "searches", "pages", "facts")},
            "cost_usd": round(cost_of(state).charged_usd, 6),
            "tokens": state.spent.total_tokens,
            "duration_s": working_seconds(state),
            **archived(model, loaded),
        }
    )
    properties = properties_of(
        "session",
        f"Session: {state.query}",
        own,
        status=shown_status(state),
        topics=state.tags,
        created=state.started_at,
        language=session_language(loaded),
    )
    return Note(loaded.card.session_path, "session", properties, _view(model, loaded))


def _view(model: VaultModel, loaded: LoadedSession) -> SessionView:
    state = loaded.state
    after = model.followers.get(loaded.card.id)
    costs = cost_rows(loaded.events, state.spent)
    counts, cost = counts_of(state), cost_of(state)
    return SessionView(
        title=state.query,
        status=state.status,
        outcome=OUTCOME_WORDS.get(outcome_of(state), shown_status(state)),
        unfinished=not state.ended,
        waiting=state.waiting,
        reason=state.end_reason,
        session_id=state.id,
        query_id=state.query_id,
        report=report_link(loaded.card),
        nights=night_links(model, loaded.card, session_language(loaded)),
        earlier=_earlier(model, loaded),
        later=best_link(after) if after else None,
        mode=state.config.mode,
        diagram=tuple(_diagram(state)),
        perspectives=tuple(_planned(loaded, node) for node in search_nodes(state)),
        workers=tuple(_row(loaded, worker) for worker in workers_in_order(state)),
        folded=tuple(worker_view(model, loaded, worker) for worker in workers_in_order(state) if worker.id in loaded.folded),
        stretches=timeline(loaded.events),
        failures=failures_of(state),
        joined=tuple(_joined(state, event) for event in loaded.events if isinstance(event, BranchMerged)),
        disagreements=Citer(model, loaded).disagreements(contradictions(state) if by_model(state) else ()),
        gaps=open_questions(open_gaps(state)),
        to_ask=() if state.status == "not-found" else queue_lines((gap.question for gap in open_gaps(state)), state.tags),
        topics=topic_links(state.tags),
        reasoner=reasoner_words(state, session_language(loaded)),
        models=models(loaded.events, state.config.reasoner),
        search=state.config.search,
        searches=counts["searches"],
        pages=counts["pages"],
        facts=counts["facts"],
        seconds=working_seconds(state),
        runs=len(state.runs),
        usd=cost.charged_usd,
        unknown_usd=cost.assumed_usd,
        likely_usd=cost.expected_usd,
        calls=state.spent.calls,
        costs=costs,
        input_tokens=state.spent.input_tokens,
        cached_tokens=sum(row.cached_tokens for row in costs),
        output_tokens=state.spent.output_tokens,
        events=state.version,
        started_at=state.started_at,
        ended_at=state.ended_at,
        pruned=bool(state.pruned),
    )


def _joined(state: SessionState, event: BranchMerged) -> Joined:
    kept, other, *_ = (*event.machines, "", "")
    differences = (Difference(_step_words(state, one.step), one.kept, one.other) for one in event.conflicts)
    return Joined(kept or "one", other or "another", len(event.adopted), len(event.same), len(event.left), tuple(differences))


def _diagram(state: SessionState) -> Iterator[Inert]:
    """The plan as the lines of a Mermaid flow chart; of its words only letters, digits and harmless signs are left."""
    if not state.nodes:
        return
    names = {name: f"n{number}" for number, name in enumerate(state.nodes)}
    yield Inert("flowchart LR")
    for node in state.nodes.values():
        words = perspective_name(state.perspectives[node.perspective]) if node.perspective else node.description
        shown = "".join(sign if sign.isalnum() or sign in " .,?!'()-" else " " for sign in one_line(words, 80))
        yield Inert(f'    {names[node.id]}["{shown}"]')
        yield from (Inert(f"    {names[before]} --> {names[node.id]}") for before in node.depends_on if before in names)


def _planned(loaded: LoadedSession, node: PlanNode) -> PlannedView:
    view = loaded.state.perspectives[node.perspective]
    name = worker_link(loaded.card, node.id) if node.id in loaded.worker_paths else perspective_name(view)
    return PlannedView(name, view.focus, view.questions, node.id.startswith("gap_"))


def _row(loaded: LoadedSession, worker: Worker) -> WorkerRow:
    state = loaded.state
    asked = [query for step in worker.iterations for query in step.queries if query in state.searches]
    pages = {url for pages in loaded.pages[worker.id] for url in pages.observed}
    return WorkerRow(
        worker_link(loaded.card, worker.id),
        len(worker.iterations),
        len(asked),
        len(pages),
        len(loaded.facts[worker.id]),
        worker_outcome(state, worker),
    )


def _earlier(model: VaultModel, loaded: LoadedSession) -> Link | None:
    before = model.by_id.get(loaded.state.previous_session)
    return best_link(before) if before else None
