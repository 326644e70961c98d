"""The outcome of one question, read from its session's events: ending, report, documents reached, cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase, ReportGenerated, ResearchFailed, SynthesisStarted
from pipeline.domain.findings import page_of
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import Report, SessionState, cost_of
from pipeline.domain.values import Cost
from pipeline.errors import LogError
from pipeline.evaluate.scoring.report_text import notices_of, output_of
from pipeline.ports import EventStore
from pipeline.text.normalise import normalised

STAGES = ("searched", "read", "quoted", "cited")
Ending = Literal["report", "refused", "failed"]
_REFUSED_CAUSE = "no-evidence"
_REFUSED_STATUS = "not-found"
_CORPUS = "corpus:"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question's session. ``output`` is the report's text without titles, normalised; "" without a report.

    ``reached`` holds the documents of each stage (paths in the folder, or web addresses). ``missing`` are the words that the
    documents do not hold according to the program. ``seconds`` is wall-clock time.
    """

    ending: Ending
    reason: str = ""
    state: SessionState | None = None
    output: str = ""
    missing: str = ""
    reached: Mapping[str, frozenset[str]] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    seconds: float = 0.0

    @property
    def report(self) -> Report | None:
        """The finished report, if there is one."""
        return self.state.report if self.state else None


def outcome_of(store: EventStore, session: str, reason: str, seconds: float) -> Outcome:
    """Return the outcome of the session; one with an unreadable log has failed, for ``reason`` or the log's error."""
    try:
        state = ResearchSession.open(store, session).state
        events = list(decode_all(record.data for record in store.load(session)))
    except LogError as error:
        return Outcome("failed", reason or error.message)
    return Outcome(
        _ending(state, events),
        reason or state.end_reason,
        state,
        normalised(output_of(state.report, state.facts)),
        "\n".join([*_missing(events), notices_of(state.report)]),
        reached_in(state),
        cost_of(state),
        seconds,
    )


def _ending(state: SessionState, events: Iterable[EventBase]) -> Ending:
    if state.report is not None:
        return "report"
    causes = [event.cause for event in events if isinstance(event, ResearchFailed)]
    refused = str(state.status) == _REFUSED_STATUS or causes[-1:] == [_REFUSED_CAUSE]
    return "refused" if refused else "failed"


def _missing(events: Iterable[EventBase]) -> Iterable[str]:
    """Yield the words that the documents do not hold, from the last event that names any."""
    saying = [event for event in events if isinstance(event, SynthesisStarted | ReportGenerated | ResearchFailed)]
    named = [tuple(getattr(event, "missing", ())) for event in saying]
    return next((words for words in reversed(named) if words), ())


def reached_in(state: SessionState) -> dict[str, frozenset[str]]:
    """Return the documents of each stage: found by a search, read, quoted in a fact, cited in the report."""
    hits = [hit for done in (state.survey, *state.searches.values()) if done for hit in done.hits]
    cited = state.report.references if state.report else ()
    urls: tuple[Iterable[str], ...] = (
        (hit.url for hit in hits),
        (page.url for page in state.pages.values()),
        (fact.url for fact in state.facts.values()),
        (reference.url for reference in cited),
    )
    return {stage: frozenset(map(document_of, found)) for stage, found in zip(STAGES, urls, strict=True)}


def document_of(url: str) -> str:
    """Return the path in the folder for a ``corpus:`` address, or a web address without its fragment."""
    page = page_of(url)
    return unquote(page.removeprefix(_CORPUS)) if page.startswith(_CORPUS) else page
