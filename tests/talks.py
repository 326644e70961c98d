"""Sessions with stored pages, and talks about them, for tests: everything in memory but the index of stored pages."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pipeline.domain.events import session_events as e
from pipeline.domain.events.talk_events import TalkOpened
from pipeline.domain.session import record_of, stamped
from pipeline.domain.talk import Turn
from pipeline.engine.talk_loop import TalkContext, TalkLog, answer_question
from pipeline.ports import EventStore, Reasoner
from pipeline.search.passage_search import PassageSearch
from tests.fakes import FakeReasoner, MemoryStore, context_for

HARBOUR = """# The harbour of Brindle

## Depth {#depth}

The harbour of Brindle is 12 metres deep at low tide. Ships of more than 10 metres of draught wait outside until the water rises.

## Pilots {#pilots}

A pilot comes aboard every ship longer than 80 metres. The pilot station has three boats and answers on channel 14.
"""
LIGHTHOUSE = """# The lighthouse of Brindle

## Lamp {#lamp}

The lighthouse of Brindle was lit for the first time in 1871. Its lamp turns once in 20 seconds and is seen for 18 miles.
"""
PAGES = {"corpus:harbour.md": HARBOUR, "corpus:lighthouse.md": LIGHTHOUSE}
SESSION = "2026-11-21-harbour-0001"


class TalkReasoner(FakeReasoner):
    """Quotes the passages that it is shown."""


def read_pages(
    store: EventStore, session: str = SESSION, pages: dict[str, str] = PAGES, query: str = "the harbour of Brindle"
) -> None:
    """Store a session that read these pages."""
    drafts: list[e.EventBase] = [e.RunStarted(), e.ResearchStarted(query=query, query_id=session)]
    for url, text in pages.items():
        title = text.split("\n", 1)[0].removeprefix("# ")
        drafts.append(e.PageRead(url=url, title=title, digest=store.objects.put(text.encode()), characters=len(text)))
    had = len(store.load(session))
    at = f"2026-11-21T0{had % 10}:00:00.000Z"
    events = [stamped(one, session, had + n, "run", f"{session}-{had + n}", at) for n, one in enumerate(drafts, 1)]
    store.append(session, [record_of(event) for event in events], had)
    store.release(session)


def talk_context(store: EventStore, folder: Path, reasoner: Reasoner | None = None, *sessions: str) -> TalkContext:
    """Return what a talk about these sessions works with."""
    pages = PassageSearch(folder / "stored.sqlite", store=store)
    return TalkContext(reasoner, pages, lambda digest: store.objects.get(digest).decode(), sessions or (SESSION,))


def talk_log(store: EventStore, name: str = "talk-1", run: str = "run-1", reasoner: str = "extractive") -> TalkLog:
    """Return a new talk, opened, or the stored one."""
    log = TalkLog.open(store, context_for(run), name)
    if not log.state.version:
        log.record(TalkOpened(scope="session", ids=(SESSION,), subject="the harbour of Brindle", reasoner=reasoner))
    return log


def ask_all(folder: Path, *questions: str) -> list[Turn]:
    """Ask about the harbour and the lighthouse, without a model."""
    store = MemoryStore()
    read_pages(store)
    log, context = talk_log(store), talk_context(store, folder)
    return [asyncio.run(answer_question(log, context, text)) for text in questions]


def said(turn: Turn) -> str:
    """The text of an answer."""
    return " ".join(sentence.text for sentence in turn.answer.sentences) if turn.answer else ""
