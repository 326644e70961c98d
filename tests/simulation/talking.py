"""What a person asks back in a simulated life: one talk for each finished session, continued night after night."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import Answered, CallSent, StepFailed
from pipeline.domain.events.talk_events import TalkOpened
from pipeline.domain.research_values import Hit
from pipeline.domain.session import ResearchSession
from pipeline.domain.talk import TalkState, talk_of
from pipeline.engine.stop_and_clock import RunContext
from pipeline.engine.talk_loop import TalkContext, TalkLog, answer_question, finish_question
from pipeline.ops import citation_audit
from pipeline.ports import EventStore, FoundPassages, StoredPage
from tests.simulation.doors import Asked

QUESTIONS = ("How do pumps behave?", "And valves?", "What is it that pumps do?")


@dataclass
class PagesRead:
    """The pages that sessions read, without an index: the first ones, whatever is asked."""

    store: EventStore

    async def find(self, question: str, sessions: Sequence[str], limit: int) -> FoundPassages:
        states = {name: ResearchSession.open(self.store, name).state for name in sessions}
        pages = [
            StoredPage(url, page.title, page.digest, name) for name, state in states.items() for url, page in state.pages.items()
        ]
        hits = tuple(Hit(url=page.url, title=page.title, snippet=question) for page in pages[:limit])
        return FoundPassages(hits, tuple(pages[:2]), searched=len(pages))


def talk_about(store: EventStore, session: str, run_id: str) -> str:
    """Return the id of the talk about a session, or one for a new talk: no other machine begins one of that name."""
    return next((name for name in store.ids("talk") if name.startswith(f"talk-{session}-")), f"talk-{session}-{run_id}")


async def ask_back(store: EventStore, context: RunContext, asked: Asked, session: str, text: str) -> None:
    """Ask about a session in its talk; first finish the question that an earlier night left open."""
    log = TalkLog.open(store, context, asked.session)
    try:
        talk = TalkContext(asked, PagesRead(store), lambda digest: store.objects.get(digest).decode(), (session,))
        if not log.state.version:
            log.record(TalkOpened(scope="session", ids=(session,), subject="pumps", reasoner="fake"))
        if log.state.turns and log.state.turns[-1].answer is None:
            await finish_question(log, talk)
        await answer_question(log, talk, text)
    finally:
        store.release(log.state.id)


def talks_in(store: EventStore) -> dict[str, TalkState]:
    """Return the talks of a log."""
    return {name: talk_of(name, decode_all(record.data for record in store.load(name))) for name in store.ids("talk")}


def wrong_in_talks(store: EventStore) -> Iterator[str]:
    """Yield what no talk may do: ask a model for what is recorded, or cite what no stored page has."""
    for name, state in talks_in(store).items():
        yield from _asked_again(name, store)
        yield from (f"{name}: {entry.where}: {entry.why}" for entry in citation_audit.check_talk(state, store).unsupported)


def _asked_again(name: str, store: EventStore) -> Iterator[str]:
    done: set[str] = set()
    for event in decode_all(record.data for record in store.load(name)):
        if isinstance(event, CallSent) and event.step in done:
            yield f"{name}: {event.step} was recorded, and asked again"
        if isinstance(event, Answered) and event.step and not isinstance(event, StepFailed):
            done.add(event.step)
