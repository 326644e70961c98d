"""The drawings of a session: when what was done, and what it added up to."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.vault.charts.cost_chart import cost_chart
from pipeline.vault.charts.time_axis import seconds_of
from pipeline.vault.charts.timeline import timeline_chart
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Plain
from pipeline.vault.vault_model import LoadedSession


def chart_path(session_path: str, chart: str) -> str:
    """Return the path of a chart (``timeline`` or ``cost``) of the session with the note ``session_path``."""
    return f"charts/{session_path.rpartition('/')[2]}-{chart}.svg"


def charts_of(loaded: LoadedSession) -> Iterator[Plain]:
    """Yield a session's charts."""
    seconds = seconds_of(loaded.events)
    yield Plain(chart_path(loaded.card.session_path, "timeline"), timeline_chart(loaded, seconds))
    yield Plain(chart_path(loaded.card.session_path, "cost"), cost_chart(loaded, seconds))


def timeline_link(loaded: LoadedSession) -> Link:
    """Return the link to the drawing of a session's time."""
    return Link(chart_path(loaded.card.session_path, "timeline"), "Timeline of this session")
