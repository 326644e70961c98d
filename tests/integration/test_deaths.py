"""``kill -9`` in the middle of a night with a model: no bill is lost, nothing that was answered is asked again."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipeline.domain.events.session_events import Answered, CallSent, EventBase, PageRead, SearchCompleted, StepFailed
from pipeline.domain.research_values import Cost
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState, cost_of
from pipeline.ops.citation_audit import check
from pipeline.search.providers import Brave
from pipeline.store.file_store import FileStore
from tests.forking import PATIENCE_S, Command
from tests.integration.stage import KEYS, events_of, queue_text
from tests.integration.verdicts import account_of, assert_cited
from tests.seeds import FULL, SEED
from tests.standin.fixtures import hosted
from tests.standin.log import Hit
from tests.standin.options import Options
from tests.standin.prompt import plain
from tests.standin.server import Standin

SEEDS, KILLS = range(2 * SEED, 2 * SEED + (5 if FULL else 1)), 5
SUBJECTS = ("heat pumps", "stone kilns", "river locks")
QUERIES = "".join(f"  - {{query: 'How do {one} in cold climates behave?', perspectives: 2, iterations: 2}}\n" for one in SUBJECTS)


@dataclass
class Night:
    """One workspace whose runs are killed. ``lost`` counts the requests that were under way at a kill, so are in no log."""

    folder: Path
    standin: Standin
    chance: random.Random
    kills: int = 0
    lost: int = 0
    asked_again: list[str] = field(default_factory=list)

    def run(self, *, kill: bool) -> bool:
        """Start a run over what is there; kill it some time after it has begun to ask. Return whether it ended by itself."""
        known, before = set(self.recorded()), len(self.standin.log.hits)
        one = Command(self.folder, "-q", "run", env=KEYS)
        while kill and one.code is None and len(self.standin.log.hits) == before:
            time.sleep(0.005)
        if one.ended(self.chance.uniform(0.0, 0.8) if kill else PATIENCE_S) is None:
            one.send(signal.SIGKILL)
            one.ended()
        assert "Traceback" not in one.err
        self.asked_again += [name for hit in self.standin.log.hits[before:] if (name := name_of(hit)) in known]
        killed = one.code == -signal.SIGKILL
        self.kills += killed
        if killed:
            known = set(self.recorded())
            self.lost += sum(name_of(hit) not in known for hit in self.standin.log.hits[before:])
        return one.code == 0

    def events(self, *sessions: str) -> list[EventBase]:
        return events_of(FileStore(self.folder / "events"), *sessions)

    def costs(self) -> list[Cost]:
        """What the sessions say that they cost."""
        store = FileStore(self.folder / "events")
        return [cost_of(ResearchSession.open(store, name).state) for name in store.ids("session")]

    def charged_usd(self) -> float:
        """What the server charged for the model, and the provider for the searches that reached it."""
        return self.standin.log.charged().usd + Brave.price * len(self.standin.log.of("brave"))

    def recorded(self) -> Iterator[str]:
        """The names of all requests whose answers are in the log."""
        store = FileStore(self.folder / "events")
        for event in self.events():
            if isinstance(event, SearchCompleted):
                yield f"search {event.query}"
            elif isinstance(event, PageRead):
                yield f"page {event.url.partition('//')[2].partition('/')[2]}"
            elif isinstance(event, Answered) and event.exchange and not isinstance(event, StepFailed):
                calls = json.loads(store.objects.get(event.exchange))["calls"]
                yield from (f"prompt {plain(call['request']['messages'][-1]['content'])}" for call in calls)


def name_of(hit: Hit) -> str:
    if hit.route == "chat":
        return f"prompt {hit.prompt}"
    return f"search {hit.request.query['q']}" if hit.route == "brave" else f"page {hit.path.lstrip('/')}"


@contextmanager
def night_of(folder: Path, seed: str, limits: str = "concurrency: 16") -> Iterator[Night]:
    """Give a workspace of three questions, and a stand-in of its own."""
    folder.mkdir(exist_ok=True)
    with hosted(Options(latency_s=0.03)) as standin:
        (folder / "queries.yaml").write_text(queue_text(standin, queries=QUERIES, limits=limits))
        yield Night(folder, standin, random.Random(f"deaths {seed}"))


def undisturbed(folder: Path) -> int:
    """Return how many requests the night makes when nobody kills it."""
    with night_of(folder, "none") as night:
        assert night.run(kill=False)
        return len(night.standin.log.hits)


def broken(night: Night, usual: int, kills: int) -> list[str]:
    """Kill the night that many times, let it end, and return what is wrong then; ``usual`` requests were made without kills."""
    ended = False
    while not ended and night.kills < kills:
        ended = night.run(kill=True)
    if not (ended or night.run(kill=False)):
        return ["the night did not end"]
    made = len(night.standin.log.hits)
    wrong = [f"asked again: {name}" for name in night.asked_again]
    wrong += [f"recorded, never answered: {n}" for n in set(night.recorded()) - {name_of(hit) for hit in night.standin.log.hits}]
    if made > usual + night.lost:
        wrong.append(f"{made} requests: {usual} without kills, {night.lost} were under way at one")
    store = FileStore(night.folder / "events")
    states = [ResearchSession.open(store, name).state for name in store.ids("session")]
    if [state.status for state in states] != ["complete"] * len(SUBJECTS):
        wrong.append(f"the sessions are {[state.status for state in states]}")
    for state in states:
        wrong += [entry.why for entry in check(state, store).unsupported]
        assert_cited(state)
    assert_paid(night, states)
    return wrong


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> int:
    return undisturbed(tmp_path_factory.mktemp("usual"))


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_random_instants_a_night_is_paid_once_and_complete(seed: int, usual: int, tmp_path: Path) -> None:
    with night_of(tmp_path, str(seed)) as night:
        assert broken(night, usual, KILLS) == []


def assert_paid(night: Night, states: Sequence[SessionState]) -> None:
    """What the events say is at least what the server charged; what was not lost, or assumed, is at most that."""
    accounts, log = [account_of(night.events(state.id), state) for state in states], night.standin.log
    charged, slack = log.charged().nano_usd, len(log.of("chat"))
    usd, lost = sum(one.usd for one in accounts), sum(one.lost for one in accounts)
    assert usd + lost + slack >= charged
    assert sum(one.certain for one in accounts) <= charged + slack
    assert lost > 0 or night.kills == 0 or usd == pytest.approx(charged, abs=slack)
    assert all(state.open_calls == {} for state in states)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_night_s_cap_counts_what_its_killed_runs_have_spent(seed: int, tmp_path: Path) -> None:
    cap = 0.25
    with night_of(tmp_path, f"cap {seed}", f"cost_usd: {cap}, concurrency: 4") as night:
        for _ in range(2):
            night.run(kill=True)
        night.run(kill=False)
        before = night.charged_usd()
        assert night.run(kill=False) or night.charged_usd() == before
        calls = [event.worst.usd for event in night.events() if isinstance(event, CallSent)]
        assert night.charged_usd() <= cap + max(calls)
        assert night.charged_usd() == before  # the cap is the night's, however often it is started
        Command(tmp_path, "-q", "run", "--max-cost", "0.30", env=KEYS).ended()
        assert before <= night.charged_usd() <= before + 0.30 + max(calls)
