"""A recurring question's session held against the one before it."""

from __future__ import annotations

from pipeline.domain.events import session_events as e
from pipeline.domain.state import SessionState
from pipeline.domain.steps import Compare
from pipeline.errors import ObjectMissing
from pipeline.research.session_diff import changes
from pipeline.research.step_context import Outcome, StepContext


async def compare(_step: Compare, state: SessionState, context: StepContext) -> Outcome:
    """Work out what is new since the earlier session. Nobody is asked; the texts of both are read from the store."""
    if state.earlier is None:
        return Outcome(())
    before = {source.digest for source in state.earlier.sources}

    def text_of(digest: str) -> str:
        try:
            return context.page_text(digest)
        except ObjectMissing:
            if digest in before:  # a text that was pruned since: what stood in it cannot be told any more
                return ""
            raise

    return Outcome((e.ChangesFound(changes=changes(state.earlier, state, text_of)),))
