"""The outcome of a session: what a reader gets, and who has judged it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pipeline.domain.state import SessionState
from pipeline.domain.values import EXTRACTIVE
from pipeline.domain.values import Outcome as Outcome

OUTCOME_WORDS: Mapping[str, str] = MappingProxyType(
    {"answered": "answered", "in-part": "answered in part", "passages": "passages", "not-found": "not found"}
)


def outcome_of(state: SessionState) -> Outcome | Literal[""]:
    """Return the outcome; "" for a session that has not ended, failed or was cancelled.

    Logs from before outcomes were recorded do not say it: there a report is an answer if a model gave it.
    """
    if state.status == "not-found":
        return "not-found"
    if state.status != "complete":
        return ""
    said = state.report.outcome if state.report else ""
    return said or ("passages" if state.config.reasoner == EXTRACTIVE else "answered")
