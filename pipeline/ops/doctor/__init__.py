"""Checks for ``research doctor``: settings, keys, services, files, clock and log. Findings are values; nothing is printed."""

from __future__ import annotations

from datetime import datetime

from pipeline.config.keys import Keys
from pipeline.config.settings import Workspace
from pipeline.ops.doctor.file_checks import file_findings
from pipeline.ops.doctor.finding import Finding, exit_code
from pipeline.ops.doctor.log_checks import log_findings
from pipeline.ops.doctor.queue_checks import queue_findings
from pipeline.ops.doctor.service_checks import service_findings
from pipeline.ops.doctor.store_checks import store_findings

__all__ = ["Finding", "examine", "exit_code"]


def examine(workspace: Workspace, keys: Keys, now: datetime) -> list[Finding]:
    """Run all checks that need no network; change nothing. ``now`` is the current time, with its zone."""
    findings = [*service_findings(workspace, keys), *file_findings(workspace, keys)]
    store = list(store_findings(workspace))
    is_usable = not store or store[0].level == "ok"
    rest = [*queue_findings(workspace), *log_findings(workspace, now)] if is_usable else []
    return [*findings, *store, *rest]
