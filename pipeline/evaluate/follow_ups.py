"""Follow-up questions of an evaluation: asked by the real loop of a talk, of the pages that a topic's session stored."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.batch.talks.scopes import TalkScope, new_talk_id, opening_of
from pipeline.config.settings import Keys, Workspace, load_workspace
from pipeline.domain.session import ResearchSession
from pipeline.domain.talk.state import TalkState, Turn
from pipeline.engine.talk_loop import TalkLog, answer_question
from pipeline.evaluate.figures import Score
from pipeline.evaluate.question_set.rows import FollowUp
from pipeline.evaluate.scoring.answer_matching import match_in, word_count
from pipeline.evaluate.scoring.stored_pages import StoredPages
from pipeline.ports import EventStore
from pipeline.text.normalise import normalised
from pipeline.text.times import timestamp
from pipeline.wiring import store_adapters, workspace_adapters
from pipeline.wiring.talk_adapters import talk_context, talk_reasoner

ANSWER_WORDS = 120


def follow_up_id(row: FollowUp) -> str:
    """Return the id of a follow-up's score."""
    return f"{row.about}/{row.id}"


async def follow_up_scores(
    folder: Path, keys: Keys, rows: Sequence[FollowUp], sessions: Mapping[str, str], vectors: Path | None = None
) -> tuple[Score, ...]:
    """Ask the follow-ups in the workspace ``folder``; ``sessions`` are those of the topics, by the topic's id.

    ``vectors`` is the cache of the embeddings, in place of the workspace's own.

    Raises:
        ResearchError: the log, the settings or the model cannot be used.
    """
    asking = _Asking(folder, load_workspace(folder), keys, store_adapters.file_store(folder), vectors)
    return tuple([await asking.score(row, sessions.get(row.about, "")) for row in rows])


@dataclass(frozen=True, slots=True)
class _Asking:
    folder: Path
    workspace: Workspace
    keys: Keys
    store: EventStore
    vectors: Path | None

    async def score(self, row: FollowUp, session: str) -> Score:
        """Return the values of one follow-up, in a talk of its own."""
        if not session:
            return Score(follow_up_id(row), row.half, "follow-up", {"failed": 1.0}, ("its topic was not researched",))
        began = time.process_time()
        turn = (await self._asked(session, [row.first, row.query] if row.first else [row.query]))[-1]
        spent = time.process_time() - began
        values = {"failed": 0.0, "ask.ms": 1_000 * spent, "ask.words": float(word_count(_text(turn)))}
        values |= self._right(row, turn, session)
        if row.full:
            full = (await self._asked(session, [row.full]))[-1]
            values["ask.pair"] = float(_is_same(turn, full, row))
        notes = ([] if turn.stands_alone == row.query else [f"as: {turn.stands_alone}"]) + ([] if _found(turn) else ["refused"])
        return Score(follow_up_id(row), row.half, "follow-up", values, tuple(notes), _text(turn))

    def _right(self, row: FollowUp, turn: Turn, session: str) -> dict[str, float]:
        """Return whether it is answered or refused as it should be; nothing if its answer is in no stored page."""
        if not row.aliases:
            return {"ask.unanswerable": float(not _found(turn))}
        pages = StoredPages(self.store)
        stored = (pages.get(page.digest).text for page in ResearchSession.open(self.store, session).state.pages.values())
        if not any(match_in(text, row.aliases) for text in stored):
            return {}
        return {"ask.right": float(_is_right(turn, row)), "ask.refused": float(not _found(turn))}

    async def _asked(self, session: str, questions: Sequence[str]) -> list[Turn]:
        context = workspace_adapters.context_of(self.workspace, lambda _event, _state: None)
        state = TalkState(id=new_talk_id(timestamp(context.now()), session), reasoner=talk_reasoner(self.workspace, self.keys))
        log = TalkLog(self.store, context, state)
        subject = ResearchSession.open(self.store, session).state.query
        scope = TalkScope("session", (session,), subject, (session,))
        try:
            log.record(opening_of(scope, state.reasoner, None))
            async with talk_context(self.workspace, self.store, self.keys, state, scope.sessions, self.vectors) as talk:
                return [await answer_question(log, talk, text) for text in questions]
        finally:
            self.store.release(state.id)


def _found(turn: Turn) -> bool:
    return turn.answer is not None and turn.answer.found


def _text(turn: Turn) -> str:
    """Return the answer with the headings, table headers and introductions that are printed with it."""
    leads = " ".join(f"{fact.heading} {fact.lead}" for fact in turn.cited())
    return f"{leads} {' '.join(one.text for one in turn.answer.sentences)}".strip() if turn.answer else ""


def _is_right(turn: Turn, row: FollowUp) -> bool:
    if turn.answer is None or not turn.answer.found:
        return False
    said = " ".join(one.text for one in turn.answer.sentences)
    return word_count(said) <= ANSWER_WORDS and bool(match_in(normalised(_text(turn)), row.aliases))


def _is_same(turn: Turn, full: Turn, row: FollowUp) -> bool:
    """Return whether both questions got the same facts first, or both the expected answer, or both none."""
    if not _found(turn) or not _found(full):
        return _found(turn) == _found(full)
    same = {fact.id for fact in turn.cited()[:1]} == {fact.id for fact in full.cited()[:1]}
    return same or (_is_right(turn, row) and _is_right(full, row))
