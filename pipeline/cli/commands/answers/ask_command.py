"""The command ``ask``: questions on the pages that are stored already."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.command_parts import bring_up_to_date, read_sessions, report_build_problems, session_named
from pipeline.cli.param_types import Amount
from pipeline.errors import NOT_FOUND
from pipeline.ops.console_output import Console, end, put

if TYPE_CHECKING:
    from pipeline.batch.session_index import SessionIndex
    from pipeline.batch.talks.scopes import TalkScope
    from pipeline.cli.run_environment import RunEnvironment
    from pipeline.domain.talk import TalkState, Turn
    from pipeline.engine.talk_loop import TalkLog

_PROMPT = "? "


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line asks: a question, or "" for lines from stdin; and the session it names, or ""."""

    session: str
    question: str
    topic: str | None
    everything: bool
    goes_on: bool
    max_cost: float | None
    deeper: bool


@click.command()
@click.argument("words", nargs=-1, metavar="[SESSION] [QUESTION]")
@click.option("--topic", metavar="TAG", help="Ask the pages of all sessions with this tag.")
@click.option("--all", "everything", is_flag=True, help="Ask the pages of all sessions; also the default without SESSION.")
@click.option("--continue", "goes_on", is_flag=True, help="Continue the latest talk, or the latest one about SESSION or TAG.")
@click.option("--max-cost", type=Amount(), metavar="USD", help="The most that a model may cost in this talk.")
@click.option("--deeper", is_flag=True, help="Also research the question now, in a fast session of its own.")
@click.pass_obj
def ask(
    console: Console,
    words: tuple[str, ...],
    topic: str | None,
    everything: bool,
    goes_on: bool,
    max_cost: float | None,
    deeper: bool,
) -> None:
    """Answer QUESTION from stored pages and your documents; never from the web. Without QUESTION, answer lines from stdin.

    SESSION is a session's id or its query's id. An answer has at most 120 words, each passage with its quote and its place. Exit
    code 5: nothing that is stored is near, or it does not say.
    """
    import asyncio

    from pipeline.cli.run_environment import Request, environment_of

    env = environment_of(console, Request())
    known = read_sessions(console, env.store)
    asked = _parsed(env, words, topic, everything, goes_on, max_cost, deeper)
    log, scope = _opened(env, known, asked)
    try:
        turns = asyncio.run(_talk(env, log, scope, asked))
        if turns and asked.deeper:
            _go_deeper(env, known, log, scope)
    finally:
        env.store.release(log.state.id)
    if console.as_json:
        from pipeline.cli.talk_output import talk_value

        console.data([], talk_value(log.state, turns, _notes(env, turns)))
    problems = bring_up_to_date(console, env.workspace) if turns else []
    code = report_build_problems(console, problems)
    end(code or (NOT_FOUND if any(turn.answer is None or not turn.answer.found for turn in turns) else 0))


def _parsed(env: RunEnvironment, words: tuple[str, ...], *options: Any) -> _Asked:
    """Sort out which words name a session, and which ask.

    Raises:
        UsageError: too many words, or two scopes.
        SessionUnknown: a first word of two names no session.
    """
    from pipeline.errors import SessionUnknown, UsageError

    topic, everything, goes_on, max_cost, deeper = options
    session, question = "", words[-1] if words else ""
    if len(words) > 2:
        raise UsageError("too many words: a question is one word for the shell", hint='put it in quotes: research ask "How …?"')
    if len(words) == 2:
        session = session_named(env.console.folder, env.store, words[0])
    elif words and not (topic or everything) and " " not in question.strip():
        with suppress(SessionUnknown):
            session, question = session_named(env.console.folder, env.store, question), ""
    if sum([bool(session), topic is not None, everything]) > 1:
        raise UsageError("SESSION, --topic and --all exclude each other", hint="name one of them")
    return _Asked(session, question.strip(), topic, everything, goes_on, max_cost, deeper)


def _opened(env: RunEnvironment, known: SessionIndex, asked: _Asked) -> tuple[TalkLog, TalkScope]:
    """Return the talk to speak in, a new one or one that goes on, and the sessions that it is about."""
    from pipeline.batch.talks import scopes
    from pipeline.config.service_selection import secrets_of
    from pipeline.domain.talk import TalkState
    from pipeline.engine.talk_loop import TalkLog
    from pipeline.text.redaction import Redaction
    from pipeline.text.times import timestamp
    from pipeline.wiring import workspace_adapters

    scope = _scope(known, asked)
    redaction = Redaction(secrets_of(env.workspace.queue.settings, env.keys))
    context = workspace_adapters.context_of(env.workspace, lambda _event, _state: None, redaction.data)
    if asked.goes_on:
        wanted = scope if asked.session or asked.topic or asked.everything else None
        state = scopes.latest_talk(_talks(env), wanted)
        return TalkLog(env.store, context, state), scopes.scope_of(state, known)
    return TalkLog(
        env.store, context, TalkState(id=scopes.new_talk_id(timestamp(context.now()), asked.question or scope.name))
    ), scope


def _go_deeper(env: RunEnvironment, known: SessionIndex, log: TalkLog, scope: TalkScope) -> None:
    """Research the last question, and print which session did and how it ended."""
    from pipeline.cli.commands.answers.deeper import research_deeper

    tags = {tag for one in known.sessions if one.id in scope.sessions for tag in one.tags} if scope.scope == "session" else set()
    state = research_deeper(env, log, tuple(sorted(tags)))
    env.console.say(f"researched further: {state.id} is {state.status}", always=True)


def _scope(known: SessionIndex, asked: _Asked) -> TalkScope:
    from pipeline.batch.talks import scopes

    if asked.session:
        return scopes.session_scope(known, asked.session)
    return scopes.topic_scope(known, asked.topic) if asked.topic else scopes.vault_scope(known)


def _talks(env: RunEnvironment) -> list[TalkState]:
    from pipeline.domain.talk import recent_talk

    return [recent_talk(name, env.store.load(name)) for name in env.store.ids("talk")]


async def _talk(env: RunEnvironment, log: TalkLog, scope: TalkScope, asked: _Asked) -> list[Turn]:
    """Answer the question, or line after line from stdin; print each answer as it comes."""
    from pipeline.batch.talks.scopes import opening_of
    from pipeline.engine.talk_loop import answer_question, finish_question
    from pipeline.wiring.talk_adapters import talk_context, talk_reasoner

    if not log.state.version:
        cap = env.workspace.queue.settings.query_limits.cost_usd if asked.max_cost is None else asked.max_cost
        log.state.reasoner, log.state.budget_usd = talk_reasoner(env.workspace, env.keys), cap
        opening = opening_of(scope, log.state.reasoner, cap)
    else:
        opening = None
        log.state.budget_usd = log.state.budget_usd if asked.max_cost is None else asked.max_cost
    turns = []
    async with talk_context(env.workspace, env.store, env.keys, log.state, scope.sessions) as context:
        if log.state.turns and log.state.turns[-1].answer is None:
            turns.append(_printed(env, await finish_question(log, context)))
        for text in [asked.question] if asked.question else _lines(env.console):
            if opening is not None:
                log.record(opening)
                opening = None
            turns.append(_printed(env, await answer_question(log, context, text)))
    return turns


def _printed(env: RunEnvironment, turn: Turn) -> Turn:
    from pipeline.cli.talk_output import turn_lines

    if not env.console.as_json:
        put("\n".join(turn_lines(turn, _notes(env, [turn]))))
    return turn


def _notes(env: RunEnvironment, turns: list[Turn]) -> dict[str, str]:
    """Return the paths of the notes of the cited sources, by address."""
    from pipeline.wiring.workspace_adapters import source_notes

    return source_notes(env.console.folder, [fact.url for turn in turns for fact in turn.cited()])


def _lines(console: Console) -> Iterator[str]:
    """Yield the questions on stdin until it ends; on a terminal with a prompt."""
    shows_prompt = console.terminal and sys.stdin.isatty()
    while True:
        if shows_prompt:
            click.echo(_PROMPT, nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


__all__ = ["ask"]
