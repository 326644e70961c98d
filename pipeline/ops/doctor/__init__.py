"""What is set up, whether it can work, and what to do where it cannot. Findings are values; only the command line prints."""

from __future__ import annotations

from datetime import datetime

from pipeline.config.settings import Keys, Workspace
from pipeline.ops.doctor.file_checks import place_findings
from pipeline.ops.doctor.finding import Finding, exit_code
from pipeline.ops.doctor.log_checks import log_findings
from pipeline.ops.doctor.service_checks import setup_findings

__all__ = ["Finding", "examine", "exit_code"]


def examine(workspace: Workspace, keys: Keys, now: datetime) -> list[Finding]:
    """Look at all that needs no network; nothing is changed. ``now`` is the clock's time, with its zone."""
    return [*setup_findings(workspace, keys), *place_findings(workspace, keys), *log_findings(workspace, now)]
