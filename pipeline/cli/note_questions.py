"""Answers the questions that a person wrote into notes (``ask: …``): each once, in a talk of the note's own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

from pipeline.batch import talk_scopes
from pipeline.batch.session_index import SessionIndex
from pipeline.batch.talk_scopes import TalkScope, new_talk_id, opening_of
from pipeline.cli.command_parts import read_sessions
from pipeline.cli.run_environment import RunEnvironment
from pipeline.domain.talk import TalkState, read_talk
from pipeline.engine.talk_loop import TalkLog, answer_question, finish_question
from pipeline.errors import ResearchError
from pipeline.ops.console_output import PRINTED
from pipeline.ports import EventStore
from pipeline.text.normalise import slug
from pipeline.text.times import timestamp
from pipeline.vault.identity import is_retired
from pipeline.vault.said import AskedLine, asked_lines
from pipeline.wiring.recording import context_of
from pipeline.wiring.talk_adapters import talk_context, talk_reasoner

_log = logging.getLogger("pipeline.cli.note_questions")


def open_note_questions(env: RunEnvironment) -> list[AskedLine]:
    """Return the questions in notes that no talk has answered yet."""
    lines = asked_lines(env.console.folder / "vault")
    if not lines:
        return []
    asked = [(talk.note, turn.text) for talk in talks_in(env.store) for turn in talk.turns if turn.answer is not None]
    moved = {text for note, text in asked if is_retired(note)}  # now in the report that took over what stood in the note
    return [line for line in lines if line.text not in moved and (line.note, line.text) not in asked]


def answer_note_questions(env: RunEnvironment, lines: Sequence[AskedLine]) -> int:
    """Answer these questions; return how many were answered. A failure is reported and keeps nothing else from being done."""
    done = 0
    for note in dict.fromkeys(line.note for line in lines):
        texts = [line.text for line in lines if line.note == note]
        try:
            done += asyncio.run(_answer(env, note, texts))
        except ResearchError as error:
            env.console.say(f"a question in {note} was not answered: {error.message}", always=True, fg="yellow")
            _log.error("a question in %s was not answered: %s", note, error, extra=PRINTED)
    if done:
        env.console.say(f"{done} asked in notes, answered in their reports", dim=True)
    return done


async def _answer(env: RunEnvironment, note: str, texts: Iterable[str]) -> int:
    settings = env.workspace.queue.settings
    scope = _scope(read_sessions(env.console, env.store, again=True), note)
    context = context_of(env.workspace, env.keys)
    state = next((talk for talk in talks_in(env.store) if talk.note == note), None)
    is_new = state is None
    state = state or TalkState(id=new_talk_id(timestamp(context.now()), note.replace(":", " ")))
    if is_new:
        state.reasoner, state.budget_usd = talk_reasoner(env.workspace, env.keys), settings.query_limits.cost_usd
    log = TalkLog(env.store, context, state)
    done = 0
    try:
        async with talk_context(env.workspace, env.store, env.keys, state, scope.sessions, env.night) as talk:
            if is_new:
                log.record(opening_of(scope, state.reasoner, state.budget_usd, note))
            if state.turns and state.turns[-1].answer is None:
                await finish_question(log, talk)
                done += 1
            for text in texts:
                if text not in {turn.text for turn in state.turns if turn.answer is not None}:
                    await answer_question(log, talk, text, by="note")
                    done += 1
    finally:
        env.store.release(state.id)
    return done


def _scope(known: SessionIndex, note: str) -> TalkScope:
    """Return what a note's questions are about: its session, its topic, or else everything."""
    kind, _, name = note.partition(":")
    if kind in ("report", "session") and any(one.id == name for one in known.sessions):
        return talk_scopes.session_scope(known, name)
    tag = next((tag for one in known.sessions for tag in one.tags if kind == "topic" and slug(tag) == name), "")
    return talk_scopes.topic_scope(known, tag) if tag else talk_scopes.vault_scope(known)


def talks_in(store: EventStore) -> list[TalkState]:
    """Return all talks."""
    return [read_talk(store, name) for name in store.ids("talk")]
