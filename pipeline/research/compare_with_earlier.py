"""The step Compare: the comparison of a recurring query's session with the one before."""

from __future__ import annotations

from pipeline.domain.events import session_events as e
from pipeline.domain.state import SessionState
from pipeline.domain.steps import Compare
from pipeline.errors import ObjectMissing
from pipeline.research.session_diff import session_changes
from pipeline.research.step_context import Outcome, StepContext


async def compare(_step: Compare, state: SessionState, context: StepContext) -> Outcome:
    """Compute what is new since the earlier session, from the stored texts of both."""
    if state.earlier is None:
        return Outcome(())
    before = {source.digest for source in state.earlier.sources}

    def text_of(digest: str) -> str:
        try:
            return context.page_text(digest)
        except ObjectMissing:
            if digest in before:  # the earlier text has been pruned
                return ""
            raise

    return Outcome((e.ChangesFound(changes=session_changes(state.earlier, state, text_of)),))
