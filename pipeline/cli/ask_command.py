"""The command ``ask``: questions on the pages that are stored already, and what it prints; and what a person asked in notes."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import click

from pipeline.cli.arguments_and_builds import amount, bring_up_to_date, read_sessions, session_named
from pipeline.cli.run_inputs import RunEnvironment, environment_of
from pipeline.cli.run_setup_and_progress import in_its_night
from pipeline.config.queue_file import add_query
from pipeline.config.queue_schema import question_fault
from pipeline.config.services import reasoner_for
from pipeline.config.workspace_settings import QUEUE_FILE
from pipeline.domain.budget import Budget, Caps
from pipeline.domain.events.stream_records import stream_id
from pipeline.domain.events.talk_events import Scope, TalkOpened
from pipeline.domain.page_choice_and_findings import without_fragment
from pipeline.domain.research_values import EXTRACTIVE
from pipeline.domain.talk import TalkScope, TalkState, Turn, latest_talk, read_talk, talk_scope
from pipeline.engine.stop_and_clock import RunContext
from pipeline.engine.talk_loop import TalkContext, TalkLog, answer_question, finish_question
from pipeline.errors import ExitCode, ResearchError, SessionUnknown, UsageError
from pipeline.ops.console_output import PRINTED, Console, end
from pipeline.ports import EventStore
from pipeline.search.corpus_files import Corpus
from pipeline.text.addresses import readable
from pipeline.text.cleaning import slug
from pipeline.text.ranking import page_origin
from pipeline.text.times import timestamp
from pipeline.vault.identity import is_retired
from pipeline.vault.output.user_text import AskedLine, asked_lines
from pipeline.wiring.run_context_and_note_ratings import context_of
from pipeline.wiring.session_adapters import AdapterFactory
from pipeline.wiring.vault_and_site import source_notes

_PROMPT = "? "
_QUOTE_WORDS = 14
NEAREST = "The stored pages do not clearly say. This comes nearest:"
UNJUDGED = "The passages that come nearest. No model has read them."
_WAIT_S = 20.0  # how long a person who asks waits for vectors of passages
_log = logging.getLogger("pipeline.cli.ask_command")


@click.command()
@click.argument("words", nargs=-1, metavar="[SESSION] [QUESTION]")
@click.option("--topic", metavar="TAG", help="Ask the pages of all sessions with this tag.")
@click.option("--all", "everything", is_flag=True, help="Ask the pages of all sessions, as without SESSION.")
@click.option("--continue", "goes_on", is_flag=True, help="Continue the latest talk, or the latest one about SESSION or TAG.")
@click.option("--max-cost", type=amount, metavar="USD", help="The most that a model may cost in this talk.")
@click.option("--deeper", is_flag=True, help="Also queue the question, for a fast session of the next run.")
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

    Exit code 5: nothing that is stored is near, or it does not say.
    """
    env = in_its_night(environment_of(console))
    known = read_sessions(console, env.store)
    if len(words) > 2:
        raise UsageError("too many words: a question is one word for the shell", hint='put it in quotes: research ask "How …?"')
    session, question = "", words[-1].strip() if words else ""
    if len(words) == 2:
        session = session_named(console.folder, env.store, words[0])
    elif question and not (topic or everything) and " " not in question:
        with suppress(SessionUnknown):
            session, question = session_named(console.folder, env.store, question), ""
    if len(words) > bool(session) and (fault := question_fault(question)):
        raise UsageError(fault[0], hint=fault[1])
    refused: list[str] = []

    def lines() -> Iterator[str]:
        for line in _lines(console):
            if fault := question_fault(line):
                refused.append(line)
                console.say(f"not asked: {fault[0]}; {fault[1]}", always=True)
            else:
                yield line

    if sum([bool(session), topic is not None, everything]) > 1:
        raise UsageError("SESSION, --topic and --all exclude each other", hint="name one of them")
    named: tuple[Scope, str | None] = ("session", session) if session else ("topic", topic) if topic else ("vault", None)
    scope = talk_scope(known.sessions, named[0], (named[1],) if named[1] else ())
    context = context_of(env.workspace, env.keys)
    if goes_on:
        state = latest_talk(talks_in(env.store), scope if session or topic or everything else None)
        scope = talk_scope(known.sessions, state.scope, state.ids, state.subject)
    else:
        cap = env.workspace.queue.settings.query_limits.cost_usd
        name = question or scope.subject or " ".join(scope.ids) or "all"
        state = TalkState(id=stream_id("talk", timestamp(context.now()), secrets.token_hex(4), name), budget_usd=cap)
    state.budget_usd = state.budget_usd if max_cost is None else max_cost

    def value_of(turn: Turn) -> dict[str, Any]:
        return _turn_value(turn, source_notes(console.folder, [fact.url for fact in turn.cited()]))

    def show(turn: Turn) -> None:
        if not console.as_json:
            click.echo("\n".join(_turn_lines(value_of(turn), turn)))

    turns = asyncio.run(_talk(env, context, state, scope, [question] if question else lines(), show))
    queued = ""
    if turns and deeper:
        asked_of = scope.sessions if state.scope == "session" else ()
        tags = sorted({tag for one in known.sessions if one.id in asked_of for tag in one.tags})
        try:
            query = add_query(
                console.folder / QUEUE_FILE, turns[-1].stands_alone, mode="fast", **({"tags": tags} if tags else {})
            )
            queued = query.id
            console.say(f"queued as {queued}", always=True)
        except ResearchError as error:  # it is there already, or the file cannot be written: the answer is printed all the same
            console.say(f"not queued: {error}", always=True)
    if console.as_json:
        about = {"talk": state.id, "scope": {"kind": state.scope, "ids": list(state.ids)}, "cost_usd": round(state.cost().usd, 6)}
        console.data([], {**about, "turns": [value_of(turn) for turn in turns], **({"queued": queued} if deeper else {})})
    code = bring_up_to_date(console, env.workspace) if turns else 0
    is_unanswered = any(turn.answer is None or not turn.answer.found for turn in turns)
    end(code or (ExitCode.USAGE if refused else ExitCode.NOT_FOUND if is_unanswered else 0))


@asynccontextmanager
async def _context_of_talk(env: RunEnvironment, state: TalkState, sessions: Sequence[str]) -> AsyncIterator[TalkContext]:
    """Yield what a talk's steps may use, and close it afterwards. Its budget is what the talk and the night have left.

    Raises:
        UsageError: the talk's model, or that of the embeddings, is not set up (any more).
    """
    corpus = Corpus(env.workspace.corpora)
    is_unusable = bool(corpus.unusable())

    def is_gone(url: str) -> bool:  # nothing is said of documents whose folder is missing, as when a disk is not mounted
        return not is_unusable and page_origin(url) == "own" and not corpus.path_at(without_fragment(url)).exists()

    async with aclosing(AdapterFactory(env.workspace, env.store, env.keys, night=env.night, wait_s=_WAIT_S)) as factory:
        budget = Budget(Caps(state.budget_usd), name="talk", spent=state.cost())
        pages = factory.documents_for(budget)
        yield TalkContext(
            None if state.reasoner == EXTRACTIVE else factory.model_for(state.reasoner, budget),
            pages,
            lambda digest: env.store.objects.get(digest).decode("utf-8"),
            sessions,
            state.last_at[:10] or f"{datetime.now(UTC):%Y-%m-%d}",
            is_gone,
            None if is_unusable else pages,
        )


async def _talk(
    env: RunEnvironment,
    context: RunContext,
    state: TalkState,
    scope: TalkScope,
    texts: Iterable[str],
    show: Callable[[Turn], None] = lambda _turn: None,
    note: str = "",
) -> list[Turn]:
    """Answer what the talk has left open, then each question as it comes; ``show`` gets each turn once it is answered."""
    log, turns = TalkLog(env.store, context, state), []
    state.reasoner = state.reasoner if state.version else reasoner_for(env.workspace.queue.settings, env.keys).name
    try:
        async with _context_of_talk(env, state, scope.sessions) as talk:
            if state.turns and state.turns[-1].answer is None:
                turns.append(await finish_question(log, talk))
                show(turns[-1])
            for text in texts:
                if note and text in {turn.text for turn in state.turns}:  # what was left open was this one
                    continue
                if not state.version:
                    about = {"scope": scope.scope, "ids": scope.ids, "subject": scope.subject, "note": note}
                    log.record(TalkOpened(**about, reasoner=state.reasoner, budget_usd=state.budget_usd))
                turns.append(await answer_question(log, talk, text, by="note" if note else "person"))
                show(turns[-1])
    finally:
        env.store.release(state.id)
    return turns


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


def _turn_value(turn: Turn, notes: Mapping[str, str]) -> dict[str, Any]:
    """Return an answer as a JSON value; ``notes`` are the paths of source notes by address."""
    answer, gone, hint = turn.answer, turn.gone(), ""
    if answer is None or not answer.found:
        # Where no model had a part in the answer, nothing is said of what the pages say.
        unjudged = answer is not None and turn.draft is None and answer.outcome in ("passages", "not-found")
        says = "Nothing that is stored is near enough." if unjudged else "The stored pages do not say."
        hint = f'{says} research add "{turn.text.replace(chr(34), chr(39))}" has it researched.'
    return {
        "question": turn.text,
        "stands_alone": turn.stands_alone,
        "found": answer is not None and answer.found,
        "outcome": answer.outcome if answer else "",
        "answer": [{"text": one.text, "facts": list(one.facts)} for one in answer.sentences] if answer else [],
        "facts": [
            {
                "id": fact.id,
                "quote": fact.quote,
                "lead": fact.lead,
                "path": list(fact.path),
                "address": f"{fact.url}#{fact.anchor}" if fact.anchor else fact.url,
                "note": notes.get(fact.url, ""),
                "page": fact.digest,
                "gone": fact.url in gone,
                "read_at": gone.get(fact.url, ""),
            }
            for fact in turn.cited()
        ],
        "missing": list(answer.missing) if answer else [],
        "nearest": [{"text": one.text, "facts": list(one.facts)} for one in answer.nearest] if answer else [],
        "follow_ups": list(answer.follow_ups) if answer else [],
        "hint": hint,
        "without_meaning": [side.reason for side in turn.found.failed] if turn.found else [],
        "without_model": list(dict.fromkeys(turn.failed.values())),
    }


def _turn_lines(value: dict[str, Any], turn: Turn) -> list[str]:
    """Return the lines for one answer: its sentences with the numbers of the facts that they cite, and the place of each."""
    shown = value["answer"] if value["found"] else value["nearest"]
    if not shown:
        return [value["hint"]]
    lines = [] if value["found"] else [NEAREST, ""]
    lines += [UNJUDGED, ""] if value["found"] and value["outcome"] == "passages" else []
    numbers = {fact["id"]: number for number, fact in enumerate(value["facts"], start=1)}
    leads = {fact.id: fact.lead for fact in turn.facts() if fact.lead}  # a table's header, or an introduction
    for one in shown:
        lead = "".join(f"{leads[name]}\n" for name in one["facts"] if name in leads)
        lines += [f"{lead}{one['text']} {''.join(f'[{numbers[name]}]' for name in one['facts'])}", ""]
    for fact in value["facts"]:
        words = fact["quote"].split()
        quote = " ".join(words[:_QUOTE_WORDS]) + (" …" if len(words) > _QUOTE_WORDS else "")
        lines.append(f"  [{numbers[fact['id']]}] {' › '.join(fact['path'])}  {readable(fact['address'])}")
        lines.append(f"      quote {fact['id']}: “{quote}”")
        lines += [f"      note {fact['note']}"] if fact["note"] else []
        when = f"; it was last read on {fact['read_at'][:10]}" if fact["read_at"] else ""
        lines += [f"      this document is no longer in the folder{when}"] if fact["gone"] else []
    if not value["found"]:
        return [*lines, value["hint"].removeprefix("The stored pages do not say. ")]
    lines += [f"  next: {text}" for text in value["follow_ups"]]
    return lines + [f"  in part without the model: {why}" for why in value["without_model"]]


def open_note_questions(env: RunEnvironment) -> list[AskedLine]:
    """Return the questions in notes that no talk has answered yet; a copy in ``my/`` of a note that was forgotten asks none."""
    lines = asked_lines(env.console.folder / "vault")
    if not lines:
        return []
    asked = [(talk.note, turn.text) for talk in talks_in(env.store) for turn in talk.turns if turn.answer is not None]
    moved = {text for note, text in asked if is_retired(note)}  # now in the report that took over what stood in the note
    stones = env.store.tombstones()
    kept = (line for line in lines if not stones.is_forgotten(line.note.partition(":")[2].partition("/")[0]))
    return [line for line in kept if line.text not in moved and (line.note, line.text) not in asked]


def answer_note_questions(env: RunEnvironment, lines: Sequence[AskedLine], end: datetime | None) -> None:
    """Answer these questions, each note's in a talk of its own. A failure is reported and keeps nothing else from being done.

    What is not answered by ``end`` is left to the next run.
    """
    done = 0
    for note in dict.fromkeys(line.note for line in lines):
        try:
            context, cap = context_of(env.workspace, env.keys), env.workspace.queue.settings.query_limits.cost_usd
            known = read_sessions(env.console, env.store, again=True)
            kind, _, name = note.partition(":")
            scope = talk_scope(known.sessions, "vault")
            if kind in ("report", "session") and any(one.id == name for one in known.sessions):
                scope = talk_scope(known.sessions, "session", (name,))
            elif tag := next((tag for one in known.sessions for tag in one.tags if kind == "topic" and slug(tag) == name), ""):
                scope = talk_scope(known.sessions, "topic", (tag,))
            state = next((talk for talk in talks_in(env.store) if talk.note == note), None)
            named = stream_id("talk", timestamp(context.now()), secrets.token_hex(4), note)
            texts = [line.text for line in lines if line.note == note]
            state = state or TalkState(id=named, budget_usd=cap)
            left_s = None if end is None else (end - datetime.now(UTC)).total_seconds()
            done += len(asyncio.run(asyncio.wait_for(_talk(env, context, state, scope, texts, note=note), left_s)))
        except (ResearchError, TimeoutError) as error:
            why = error.message if isinstance(error, ResearchError) else "the deadline has passed; the next run goes on"
            env.console.say(f"a question in {note} was not answered: {why}", always=True, fg="yellow")
            _log.error("a question in %s was not answered: %s", note, why, extra=PRINTED)
    if done:
        env.console.say(f"{done} asked in notes, answered in their reports", dim=True)


def talks_in(store: EventStore) -> list[TalkState]:
    """Return all talks."""
    return [read_talk(store, name) for name in store.ids("talk")]
