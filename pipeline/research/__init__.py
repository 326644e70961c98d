"""The work of each step: functions that ask a reasoner, search or read, and return drafted events. Nothing here writes.

An async function must read the state before its first ``await``: other steps change the state while it waits.
``pipeline.research.performing`` says which function does which step.
"""

from __future__ import annotations

from pipeline.research.step_context import StepContext, StepResult

__all__ = ["StepContext", "StepResult"]
