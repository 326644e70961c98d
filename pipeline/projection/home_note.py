"""The vault's front page: last night, what needs a look, what is new, and what it all comes to."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.projection.inert import Link
from pipeline.projection.library import Library, Study
from pipeline.projection.names import HOME
from pipeline.projection.night_note import NightView, night_view
from pipeline.projection.notes import Note
from pipeline.projection.views import Cited, Citer, night_link, properties_of, report_link, session_link
from pipeline.state import working_seconds

LATEST_REPORTS, LATEST_NIGHTS = 15, 7


@dataclass(frozen=True, slots=True)
class Latest:
    """A recent report with the first sentence of its summary. ``at``: when it was finished."""

    report: Link
    at: str
    first: Cited | None
    sources: int


@dataclass(frozen=True, slots=True)
class Attention:
    """A question whose latest session has no report: failed or cancelled (with the reason), or unfinished."""

    session: Link
    outcome: str
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class HomeView:
    """What ``home.md.j2`` is given. ``last_night`` is None before the first; totals are over all sessions."""

    title: str
    last_night: NightView | None
    last_night_link: Link | None
    nights: tuple[Link, ...]
    attention: tuple[Attention, ...]
    reports: tuple[Latest, ...]
    older_reports: int
    total_reports: int
    total_sessions: int
    total_sources: int
    total_facts: int
    total_seconds: float
    total_usd: float
    total_tokens: int


def home_note(library: Library) -> Note:
    """Return the front page."""
    view = home_view(library)
    own = {
        "reports": view.total_reports,
        "sessions": view.total_sessions,
        "sources": view.total_sources,
        "facts": view.total_facts,
        "cost_usd": round(view.total_usd, 6),
    }
    return Note(HOME, "home", properties_of("home", view.title, own), view)


def home_view(library: Library) -> HomeView:
    """Return what the front page says."""
    reported = sorted((study for study in library.studies if study.report_path), key=lambda study: (study.reported_at, study.id))
    latest = tuple(_latest(library, study) for study in reversed(reported[-LATEST_REPORTS:]))
    last = library.nights[-1] if library.nights else None
    states = [study.state for study in library.studies]
    return HomeView(
        title="Research",
        last_night=night_view(library, last) if last else None,
        last_night_link=night_link(last) if last else None,
        nights=tuple(map(night_link, reversed(library.nights[-LATEST_NIGHTS - 1 : -1]))),
        attention=tuple(_attention(study) for study in _latest_of_each_query(library) if not study.report_path),
        reports=latest,
        older_reports=len(reported) - len(latest),
        total_reports=len(reported),
        total_sessions=len(states),
        total_sources=len(library.sources),
        total_facts=sum(len(state.facts) for state in states),
        total_seconds=sum(map(working_seconds, states)),
        total_usd=sum(state.spent.usd for state in states),
        total_tokens=sum(state.spent.total_tokens for state in states),
    )


def _latest(library: Library, study: Study) -> Latest:
    report = study.state.report
    summary = report.summary if report else ()
    first = Citer(library, study).sentence(summary[0]) if summary else None
    link = report_link(study) or session_link(study)
    return Latest(link, study.reported_at, first, len(report.references) if report else 0)


def _latest_of_each_query(library: Library) -> list[Study]:
    latest = {study.state.query_id or study.id: study for study in library.studies}
    return sorted(latest.values(), key=lambda study: (study.state.started_at, study.id), reverse=True)


def _attention(study: Study) -> Attention:
    state = study.state
    outcome = state.status if state.ended else "unfinished"
    return Attention(session_link(study), outcome, state.end_reason, state.ended_at or state.started_at)
