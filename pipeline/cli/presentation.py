"""Sessions, events and findings as lines for a person and as values for ``--json``. Pure: nothing is printed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from typing import Any

from pipeline.batch.due_queries import UP_TO_DATE
from pipeline.domain.agenda import agenda, node_ended
from pipeline.domain.events import session_events as e
from pipeline.domain.events.import_events import ResearchImported
from pipeline.domain.page_choice_and_findings import facts_of, unused_facts
from pipeline.domain.research_values import Cost
from pipeline.domain.session import counts_of, summary_of
from pipeline.domain.session_state import SessionState, cost_of, outcome_of, title_of, workers_in_order, working_seconds
from pipeline.domain.summary import Summary, counted_outcomes, status_words
from pipeline.errors import LOG_TROUBLE
from pipeline.text.addresses import readable
from pipeline.text.cleaning import clean, one_line
from pipeline.text.humanize import bill, counted, duration, first_few


def price(spent: Cost | Summary, tokens: int) -> str:
    """Return money and tokens, or ``no cost``."""
    said = bill(spent.charged_usd, spent.assumed_usd, spent.expected_usd)
    return f"{said or 'no charge'}, {tokens:,} tokens" if said or tokens else "no cost"


def repair_lines(repair: Any) -> Iterator[str]:
    """Yield what a repair did to one file of the log (see ``store.verification.Repair``), and where the original was copied."""
    if not repair.copy:
        after = "the next build removes its notes, and a run may research its question again"
        whole = "written off: the whole log; the next run starts a new one and researches every question again"
        yield whole if repair.path == "all" else f"written off: {repair.path}; {after}"
        return
    kept = f"{counted(repair.kept, 'record')} kept" if repair.kept else "removed from the log"
    yield f"repaired: {repair.path}: {kept}; copy of the original: events/{repair.copy}"
    if repair.dropped:
        yield f"  dropped {counted(len(repair.dropped), 'record')}: {'; '.join(first_few(repair.dropped, ''))}"


def happened(event: e.EventBase) -> str:
    """Return an event's content in a few words. Control characters are removed from text of other sources."""
    return one_line(_SAID.get(type(event), lambda _event: "")(event), 160)


def _of(things: Sized, one: str, many: str = "") -> str:
    return counted(len(things), one, many)


def _run(event: e.RunStarted) -> str:
    name = f"{event.agent}, " if event.agent not in ("", event.host) else ""
    return f"run {event.run_id} of {event.program} on {name}{event.host}, process {event.process}"


def _joined(event: e.BranchMerged) -> str:
    counts = (len(event.adopted), "adopted"), (len(event.same), "the same"), (len(event.left), "left")
    parts = [f"{count} {word}" for count, word in counts if count]
    parts += [_of(event.conflicts, "conflict")] if event.conflicts else []
    return f"two branches from version {event.base}; of the other's events, {', '.join(parts) or 'none is an answer'}"


def _hits(event: e.TopicSurveyed | e.SearchCompleted) -> str:
    left_out = f", {event.left_out:,} left out by `sources`" if event.left_out else ""
    return f"{_of(event.hits, 'hit')} from {event.provider}{left_out}"


_SAID: dict[type, Callable[[Any], str]] = {
    e.RunStarted: _run,
    e.ResearchStarted: lambda x: x.query,
    e.TopicSurveyed: _hits,
    e.EarlierRecalled: lambda x: f"{_of(x.earlier.facts, 'fact')} of {x.earlier.session}",
    e.MemoryRecalled: lambda x: (
        f"of earlier nights: {_of(x.recalled.statements, 'statement')}, {_of(x.recalled.queries, 'search', 'searches')}"
    ),
    e.PlanCreated: lambda x: ", ".join(view.name for view in x.perspectives),
    e.ApprovalRequested: lambda _: "its plan waits for approval",
    e.ApprovalGiven: lambda x: (
        "with other perspectives: " + ", ".join(v.name for v in x.perspectives) if x.nodes else "as planned"
    ),
    e.PlanExtended: lambda x: f"{_of(x.perspectives, 'gap')} to fill",
    e.WorkerStarted: lambda x: f"{x.worker_id}: {x.perspective_id}",
    e.WorkerThought: lambda x: (
        f"{x.worker_id}, iteration {x.iteration}: {' | '.join(x.queries) or f'{len(x.pages)} pages of earlier nights'}"
    ),
    e.SearchCompleted: lambda x: f"{x.query}: {_hits(x)}",
    e.PageRead: lambda x: f"{x.title} ({readable(x.url)})" + (f"; it says: {', '.join(x.notices)}" if x.notices else ""),
    e.FactsObserved: lambda x: f"{x.worker_id}: {_of(x.facts, 'fact')} in {readable(x.url)}",
    e.WorkerEvaluated: lambda x: f"{x.worker_id}: {_of(x.gaps, 'open question')}",
    e.WorkerCompleted: lambda x: f"{x.worker_id}: {x.reason}",
    e.WorkerFailed: lambda x: f"{x.worker_id}: {x.reason}",
    e.ContradictionsFound: lambda x: _of(x.contradictions, "disagreement"),
    e.AnalysisCompleted: lambda x: _of(x.gaps, "gap"),
    e.GapsFound: lambda x: _of(x.gaps, "gap"),
    e.GapLookedUp: lambda x: _of(x.facts, "fact"),
    e.PassagesChosen: lambda x: f"{_of(x.passages, 'passage')}, {_of(x.more, 'further place')}",
    e.ReportWritten: lambda x: " | ".join(filter(None, (section.title for section in x.sections))),
    e.ClaimsChecked: lambda x: (  # in logs of earlier versions of a section, with verdicts on all sentences
        x.section_id or f"{_of(x.verdicts, 'sentence')} to mend, {_of(x.missing, 'fact')} missing"
    ),
    e.ReportRevised: lambda x: x.section_id or f"{_of(x.new, 'sentence')} to check again, {len(x.lost)} left out",
    e.ChangesFound: lambda x: (
        f"{len(x.changes.added) + len(x.changes.changed) - x.changes.rewordings} new, {x.changes.rewordings} changed, "
        f"{len(x.changes.gone)} gone, {x.changes.kept} unchanged"
    ),
    e.ReportGenerated: lambda x: f"{x.title or 'passages'}: {counted(x.words, 'word')}, {_of(x.references, 'source')}",
    e.ResearchFailed: lambda x: f"{status_words('not-found')}: {x.reason}" if x.cause == e.NO_EVIDENCE else x.reason,
    e.StepFailed: lambda x: f"{x.step}: {x.error}: {x.message}",
    e.BranchMerged: _joined,
    e.HandoffInitiated: lambda x: f"to {x.to}{f': {x.why}' if x.why else ''}",
    e.HandoffAccepted: lambda x: f"by {x.machine}",
    e.HandoffCompleted: lambda x: f"by {x.machine}",
    e.SettingsChanged: lambda x: f"goes on with {x.reasoner}, searching {', '.join(x.search)}: the settings have changed",
    e.CallSent: lambda x: f"{x.step}: at most {x.worst.usd:.4f} USD",
    e.BudgetExhausted: lambda x: f"{x.cap}: {x.spent} of {x.limit}",
    ResearchImported: lambda x: f"{counted(x.records, 'record')} of {x.origin}; not checked",
}


def log_line(event: e.EventBase) -> str:
    """Return one event as a line: version, time, type, what happened, and how long an answer took from one second on."""
    seconds = event.seconds if isinstance(event, e.Answered) and event.seconds else 0.0
    took = f" ({duration(seconds)})" if seconds >= 1 else ""
    return _plain(f"{event.version:>5}  {event.at[:19].replace('T', ' ')}  {event.type:<22}  {happened(event)}{took}".rstrip())


def _plain(line: str) -> str:
    """One line without control characters, its columns as they are."""
    return clean(line).replace("\n", " ").replace("\t", " ")


def listed(summary: Summary, report: str = "") -> dict[str, Any]:
    """Return a session's entry in ``research list --json``; ``report`` is its report's path."""
    return {
        "session": summary.id,
        "query": summary.query,
        "query_id": summary.query_id,
        "status": summary.status,
        "outcome": summary.outcome,
        "started": summary.started_at,
        "ended": summary.ended_at,
        "facts": summary.facts,
        "sources": summary.sources,
        "usd": summary.charged_usd,
        "not_accounted_usd": summary.assumed_usd,
        "not_accounted_estimate_usd": summary.expected_usd,
        "progress": {"done": summary.steps, "of": summary.steps_in_all},
        "tags": list(summary.tags),
        "working_seconds": summary.seconds,
        "reason": summary.end_reason,
        "report": report,
    }


def list_lines(word: str, name: str, question: str, reason: str, latest: Summary | None, report: str) -> list[str]:
    """Return the lines of a query in a list: the question, its status's ``reason``, its latest session and report."""
    lines = [f"{word:<11} {name:<40}  {one_line(question, 70)}"]
    below = [one_line(reason, 300)]
    if latest:
        cost = [price(latest, latest.tokens)] if latest.usd or latest.tokens else []
        parts = [latest.id, f"{latest.started_at[:16].replace('T', ' ')}Z", steps_of(latest.steps, latest.steps_in_all), *cost]
        below += [", ".join(parts), report]
    return list(map(_plain, [*lines, *(f"{'':<11} {line}" for line in below if line)]))


def shown(state: SessionState, report: str = "") -> dict[str, Any]:
    """Return the value of ``research show --json``."""
    failures = sorted(state.failures.values(), key=lambda failure: (failure.at, failure.step))
    last = failures[-1] if failures else None
    return {
        **listed(summary_of(state), report),
        "version": state.version,
        "doing": [step.key for step in agenda(state)],
        "perspectives": [view.name for view in state.perspectives.values()],
        "waiting_for_approval": state.waiting,
        "plan": [view.model_dump(include={"id", "name", "focus", "questions"}) for view in state.perspectives.values()],
        "searches": counts_of(state)["searches"],
        "pages": counts_of(state)["pages"],
        "pruned": bool(state.pruned),
        "disagreements": len(state.report.contradictions) if state.report else 0,
        "tokens": state.spent.total_tokens,
        "calls": state.spent.calls,
        "runs": len(state.runs),
        "last_error": f"{last.step}: {last.error}: {last.message}" if last else "",
        "title": title_of(state),
        "unused": [{"url": fact.url, "quote": fact.quote} for fact in unused_facts(state)],
    }


def steps_of(done: int, in_all: int) -> str:
    """Return a session's progress in words; the number of all steps is an estimate until the session has ended."""
    return counted(done, "step") if done == in_all else f"{done:,} of about {counted(in_all, 'step')}"


def show_lines(state: SessionState, last_event: e.EventBase | None, report: str = "") -> list[str]:
    """Return the lines of ``research show``."""
    about = shown(state)
    status = status_words(outcome_of(state) or state.status)
    steps, more = about["doing"][:3], len(about["doing"]) - 3
    doing = "nothing; it has ended" if state.ended else "nothing"
    if state.waiting:
        doing = f"nothing: its plan waits for approval; research approve {state.query_id}"
    elif steps:
        doing = "next: " + ", ".join(one_line(step, 80) for step in steps) + (f" and {more} more" if more > 0 else "")
    found = [counted(about["searches"], "search", "searches"), counted(about["pages"], "page")]
    found += [counted(about["facts"], "fact" if state.config.has_model else "passage")]
    lines = [
        one_line(state.query, 500),
        "",
        f"session    {state.id}, version {state.version}, {counted(len(state.runs), 'run')}",
        f"status     {status}" + (f": {one_line(state.end_reason, 500)}" if state.end_reason else ""),
        f"doing      {doing}",
    ]
    if last_event is not None:
        said = f"{last_event.at[:19].replace('T', ' ')}  {last_event.type}  {happened(last_event)}"
        lines.append(f"last       {said}".rstrip())
    lines.append(f"progress   {steps_of(about['progress']['done'], about['progress']['of'])}")
    lines.append(f"found      {', '.join(found)} from {counted(about['sources'], 'source')}")
    spent = cost_of(state)
    lines.append(f"cost       {price(spent, spent.total_tokens)}, {duration(working_seconds(state))} of work")
    lines += [f"report     {report}"] if report else []
    lines += [f"last error {one_line(about['last_error'], 500)}"] if about["last_error"] else []
    if state.status == "not-found":
        again = f"if it has no every:, run research retry {state.query_id} then"
        lines.append(f"next       put documents about it into your folder, or search the web; {again}")
    lines += [""] if state.nodes else []
    facts = {worker.id: len(facts_of(worker)) for worker in workers_in_order(state)}
    for node in state.nodes.values():
        worker, view = state.workers.get(node.id), state.perspectives.get(node.perspective)
        mark, detail = "done" if node_ended(state, node.id) else "not done" if state.ended else "open", ""
        if worker:
            mark, reason = worker.status, one_line(worker.reason or worker.status)
            detail = f"  ({counted(facts[node.id], 'fact')}; {reason})" if state.config.has_model else f"  ({reason})"
        lines.append(f"  {mark:<10} {node.id:<17} {one_line(node.description)}{detail}")
        if state.waiting and view is not None:  # for approval
            lines.append(f"{'':<31}{one_line(view.focus, 200)}")
            lines += [f"{'':<31}- {one_line(question, 300)}" for question in view.questions]
    return list(map(_plain, lines))


def counts_line(account: dict[str, Any]) -> str:
    """Return how many queries of a run ended in which way, in the words of Home."""
    in_part, not_found = account["in_part"], account["not_found"]
    counts = {**account, "answered": account["answered"] - in_part, "in-part": in_part, "not-found": not_found}
    return f"{counted_outcomes(counts) or '0 reports'}, {account['left_out']} skipped"


def troubles_of(account: dict[str, Any]) -> dict[str, Any]:
    """Return the account of only those queries that failed or were interrupted; ``stops``: why others were skipped."""
    ended = [entry for entry in account["ended"] if entry["status"] in ("failed", "interrupted")]
    stops = {entry["reason"]: "" for entry in account["skipped"] if entry["cause"] not in ("left", *LOG_TROUBLE)}
    skipped = [entry for entry in account["skipped"] if entry["cause"] in LOG_TROUBLE]
    return {**account, "ended": ended, "skipped": skipped, "stops": stops.keys() - {entry["reason"] for entry in ended}}


def outcome_lines(account: dict[str, Any], path: Callable[[str], str]) -> list[str]:
    """Return what became of each query of a run, in lines; ``path`` returns how a path in the workspace is printed."""
    lines = []
    for entry in account["ended"]:
        unknown, likely = entry["not_accounted_usd"], entry["not_accounted_estimate_usd"]
        cost = Cost(usd=entry["cost_usd"] + unknown, assumed_usd=unknown, expected_usd=likely)
        show = "" if entry["report"] else f"; research show {entry['session']}"
        said = entry["reason"] or f"{duration(entry['duration_s'])}, {price(cost, entry['tokens'])}{show}"
        lines.append(f"{status_words(entry['outcome'] or entry['status']):<11} {entry['query_id']}: {said}")
        lines += [f"{'':<11} {path(entry['report'])}"] if entry["report"] else []
    for cause in dict.fromkeys(entry["cause"] for entry in account["skipped"]):  # of many with one cause only the first few
        mine = [entry for entry in account["skipped"] if entry["cause"] == cause]
        reasons = {entry["reason"] for entry in mine}
        why = reasons.pop() if len(reasons) == 1 else "research list --why lists them"
        lines += first_few([f"{'skipped':<11} {entry['query_id']}: {entry['reason']}" for entry in mine], f" are skipped: {why}")
    lines += [f"{'stopped':<11} {reason}" for reason in sorted(account.get("stops", ()))]
    lines += [f"{part:<11} not up to date: {account[part]}" for part in ("vault", "site") if account[part] != UP_TO_DATE]
    return [*lines, f"{counts_line(account)}; exit code {account['exit_code']}"]
