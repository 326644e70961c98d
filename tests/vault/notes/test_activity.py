"""The timeline of a session in plain sentences."""

from __future__ import annotations

from pipeline.domain.events import session_events as e
from pipeline.vault.notes.activity import timeline


def test_a_session_that_was_reopened_says_so() -> None:
    at = "2026-11-21T02:15:00.000Z"
    history = (e.RunStarted(at=at), e.ResearchReopened(at=at))
    assert [stretch.text for stretch in timeline(history)] == ["Started", "Opened again"]
