"""A recurring question's session held against the one before it."""

from __future__ import annotations

from pipeline import events as e
from pipeline.changes import changes
from pipeline.errors import ObjectMissing
from pipeline.research.desk import Desk, Outcome
from pipeline.state import SessionState
from pipeline.steps import Compare


async def compare(_step: Compare, state: SessionState, desk: Desk) -> Outcome:
    """Work out what is new since the earlier session. Nobody is asked; the texts of both are read from the store."""
    if state.earlier is None:
        return Outcome(())
    before = {source.digest for source in state.earlier.sources}

    def text_of(digest: str) -> str:
        try:
            return desk.page_text(digest)
        except ObjectMissing:
            if digest in before:  # a text that was pruned since: what stood in it cannot be told any more
                return ""
            raise

    return Outcome((e.ChangesFound(changes=changes(state.earlier, state, text_of)),))
