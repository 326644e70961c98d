"""The command ``ask``: questions on the pages that are stored already, and what it prints; and what a person asked in notes."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from pipeline.batch import talk_scopes
from pipeline.batch.scheduling import Decision
from pipeline.batch.session_actions import new_session
from pipeline.batch.session_index import SessionIndex
from pipeline.batch.talk_scopes import TalkScope, new_talk_id, opening_of
from pipeline.cli.command_parts import Amount, bring_up_to_date, read_sessions, report_build_problems, session_named
from pipeline.cli.researching import config_of, in_its_night, research_one, run_async
from pipeline.cli.run_environment import Request, RunEnvironment, environment_of
from pipeline.config.values import Query
from pipeline.domain.events.stream_events import TalkResearched
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.domain.talk import TalkState, Turn, read_talk
from pipeline.domain.values import Fact, Sentence
from pipeline.engine.run_context import RunContext
from pipeline.engine.talk import TalkLog, answer_question, finish_question
from pipeline.errors import NOT_FOUND, ResearchError, SessionUnknown, UsageError
from pipeline.ops.console_output import PRINTED, Console, end, put
from pipeline.ops.unattended import unattended_run
from pipeline.ports import EventStore
from pipeline.text.normalise import slug
from pipeline.text.times import timestamp
from pipeline.vault.identity import is_retired
from pipeline.vault.said import AskedLine, asked_lines
from pipeline.wiring.recording import context_of
from pipeline.wiring.session_adapters import talk_context, talk_reasoner
from pipeline.wiring.workspace_adapters import source_notes

_PROMPT = "? "


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
    env = in_its_night(environment_of(console, Request()))
    known = read_sessions(console, env.store)
    if len(words) > 2:
        raise UsageError("too many words: a question is one word for the shell", hint='put it in quotes: research ask "How …?"')
    session, question = "", words[-1] if words else ""
    if len(words) == 2:
        session = session_named(console.folder, env.store, words[0])
    elif words and not (topic or everything) and " " not in question.strip():
        with suppress(SessionUnknown):
            session, question = session_named(console.folder, env.store, question), ""
    if sum([bool(session), topic is not None, everything]) > 1:
        raise UsageError("SESSION, --topic and --all exclude each other", hint="name one of them")
    if session:
        scope = talk_scopes.session_scope(known, session)
    else:
        scope = talk_scopes.topic_scope(known, topic) if topic else talk_scopes.vault_scope(known)
    context = context_of(env.workspace, env.keys)
    if goes_on:
        state = talk_scopes.latest_talk(talks_in(env.store), scope if session or topic or everything else None)
        scope = talk_scopes.scope_of(state, known)
    else:
        state = TalkState(id=talk_scopes.new_talk_id(timestamp(context.now()), question.strip() or scope.name))
    log = TalkLog(env.store, context, state)
    try:
        turns = asyncio.run(_talk(env, log, scope, question.strip(), max_cost))
        if turns and deeper:
            tags = {tag for one in known.sessions if one.id in scope.sessions for tag in one.tags}
            deeper_state = research_deeper(env, log, tuple(sorted(tags)) if scope.scope == "session" else ())
            env.console.say(f"researched further: {deeper_state.id} is {deeper_state.status}", always=True)
    finally:
        env.store.release(log.state.id)
    if console.as_json:
        console.data([], talk_value(log.state, turns, _notes(env, turns)))
    problems = bring_up_to_date(console, env.workspace) if turns else []
    code = report_build_problems(console, problems)
    end(code or (NOT_FOUND if any(turn.answer is None or not turn.answer.found for turn in turns) else 0))


async def _talk(env: RunEnvironment, log: TalkLog, scope: TalkScope, question: str, max_cost: float | None) -> list[Turn]:
    """Answer the question, or line after line from stdin; print each answer as it comes."""
    opening = None
    if not log.state.version:
        cap = env.workspace.queue.settings.query_limits.cost_usd if max_cost is None else max_cost
        log.state.reasoner, log.state.budget_usd = talk_reasoner(env.workspace, env.keys), cap
        opening = opening_of(scope, log.state.reasoner, cap)
    elif max_cost is not None:
        log.state.budget_usd = max_cost
    turns = []
    async with talk_context(env.workspace, env.store, env.keys, log.state, scope.sessions, env.night) as context:
        if log.state.turns and log.state.turns[-1].answer is None:
            turns.append(_printed(env, await finish_question(log, context)))
        for text in [question] if question else _lines(env.console):
            if opening is not None:
                log.record(opening)
                opening = None
            turns.append(_printed(env, await answer_question(log, context, text)))
    return turns


def _printed(env: RunEnvironment, turn: Turn) -> Turn:
    if not env.console.as_json:
        put("\n".join(turn_lines(turn, _notes(env, [turn]))))
    return turn


def _notes(env: RunEnvironment, turns: list[Turn]) -> dict[str, str]:
    """Return the paths of the notes of the cited sources, by address."""
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


def research_deeper(env: RunEnvironment, log: TalkLog, tags: tuple[str, ...]) -> SessionState:
    """Research the talk's last question; record in the talk which session does it, before it begins.

    Raises:
        ResearchError: the workspace is locked, the documents cannot be searched, a service is down.
    """
    turn = log.state.turns[-1]
    text = turn.stands_alone
    query = Query(id=f"ask-{slug(text, 40)}", text=text, mode="fast", tags=tags, line=sys.maxsize)
    config = config_of(env, query)

    async def opened(context: RunContext) -> ResearchSession:
        session = await new_session(env.store, Decision(query, "new", "asked in a talk"), config, context)
        log.record(TalkResearched(number=turn.number, session=session.id))
        return session

    with unattended_run(env.console, "research ask --deeper") as run, run.lock(None):
        return run_async(run, research_one(env, run, config.search, opened))


NEAREST = "The stored pages do not clearly say. This comes nearest:"
UNJUDGED = "The passages that come nearest. No model has read them."
_QUOTE_WORDS = 14


def refusal_of(turn: Turn) -> str:
    """Return what is printed where the stored pages hold no answer."""
    asked = turn.text.replace('"', "'")
    # Where no model had a part in the answer, nothing is said of what the pages say.
    unjudged = turn.answer is not None and turn.draft is None and turn.answer.outcome in ("passages", "not-found")
    says = "Nothing that is stored is near the question." if unjudged else "The stored pages do not say."
    return f'{says} research add "{asked}" has it researched.'


def turn_lines(turn: Turn, notes: Mapping[str, str]) -> list[str]:
    """Return the lines for one answer; ``notes`` are the paths of source notes by address."""
    if turn.answer is None or not turn.answer.found:
        if turn.answer is None or not turn.answer.nearest:
            return [refusal_of(turn)]
        hint = refusal_of(turn).removeprefix("The stored pages do not say. ")
        return [NEAREST, "", *_quoted_lines(turn.answer.nearest, turn, notes), hint]
    lines = [UNJUDGED, ""] if turn.answer.outcome == "passages" else []
    lines += _quoted_lines(turn.answer.sentences, turn, notes)
    lines += [f"  next: {text}" for text in turn.answer.follow_ups]
    lines += [f"  in part without the model: {why}" for why in dict.fromkeys(turn.failed.values())]
    return lines


def _quoted_lines(sentences: Sequence[Sentence], turn: Turn, notes: Mapping[str, str]) -> list[str]:
    """Return sentences with the numbers of the facts that they cite, and the place of each."""
    numbers = {fact.id: number for number, fact in enumerate(turn.cited(), start=1)}
    lines = []
    for sentence in sentences:
        lines += [f"{_lead(sentence.facts, turn)}{sentence.text} {''.join(f'[{numbers[name]}]' for name in sentence.facts)}", ""]
    for fact in turn.cited():
        lines += _place_lines(numbers[fact.id], fact, notes)
        lines += [f"      {gone_words(turn.gone()[fact.url])}"] if fact.url in turn.gone() else []
    return lines


def gone_words(read_at: str) -> str:
    """Return what is said of a document that is no longer in its folder; ``read_at`` is when it was last read, or ""."""
    return f"this document is no longer in the folder{f'; it was last read on {read_at[:10]}' if read_at else ''}"


def _lead(names: Sequence[str], turn: Turn) -> str:
    """Return the table header or the introduction that a quoted passage needs, on a line of its own."""
    known = {fact.id: fact for fact in turn.facts()}
    leads = (known[name].lead for name in names if name in known and known[name].lead)
    return "".join(f"{lead}\n" for lead in leads)


def _place_lines(number: int, fact: Fact, notes: Mapping[str, str]) -> Iterator[str]:
    words = fact.quote.split()
    quote = " ".join(words[:_QUOTE_WORDS]) + (" …" if len(words) > _QUOTE_WORDS else "")
    yield f"  [{number}] {' › '.join(fact.path)}  {_address(fact)}"
    yield f"      fact {fact.id}: “{quote}”"
    if fact.url in notes:
        yield f"      note {notes[fact.url]}"


def _address(fact: Fact) -> str:
    return f"{fact.url}#{fact.anchor}" if fact.anchor else fact.url


def talk_value(state: TalkState, turns: Sequence[Turn], notes: Mapping[str, str]) -> dict[str, Any]:
    """Return the answers as one JSON value."""
    return {
        "talk": state.id,
        "scope": {"kind": state.scope, "ids": list(state.ids)},
        "cost_usd": round(state.cost().usd, 6),
        "turns": [_turn_value(turn, notes) for turn in turns],
    }


def _turn_value(turn: Turn, notes: Mapping[str, str]) -> dict[str, Any]:
    answer = turn.answer
    found = answer is not None and answer.found
    return {
        "question": turn.text,
        "stands_alone": turn.stands_alone,
        "found": found,
        "outcome": answer.outcome if answer else "",
        "answer": [{"text": one.text, "facts": list(one.facts)} for one in answer.sentences] if answer else [],
        "facts": [
            {
                "id": fact.id,
                "quote": fact.quote,
                "lead": fact.lead,
                "path": list(fact.path),
                "address": _address(fact),
                "note": notes.get(fact.url, ""),
                "page": fact.digest,
                "gone": fact.url in turn.gone(),
                "read_at": turn.gone().get(fact.url, ""),
            }
            for fact in turn.cited()
        ],
        "missing": list(answer.missing) if answer else [],
        "nearest": [{"text": one.text, "facts": list(one.facts)} for one in answer.nearest] if answer else [],
        "follow_ups": list(answer.follow_ups) if answer else [],
        "hint": "" if found else refusal_of(turn),
        "session": turn.session,
        "without_meaning": [side.reason for side in turn.found.failed] if turn.found else [],
        "without_model": list(dict.fromkeys(turn.failed.values())),
    }


_log = logging.getLogger("pipeline.cli.ask_command")


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
