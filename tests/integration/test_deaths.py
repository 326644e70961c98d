"""``kill -9`` in the middle of a night with a model: no bill is lost, nothing that was answered is asked again."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipeline.codec import decode_all
from pipeline.events import Answered, EventBase, PageRead, SearchCompleted, StepFailed
from pipeline.evidence import check
from pipeline.session import ResearchSession
from pipeline.store.files import FileStore
from tests.integration.stage import KEYS, QUESTION, queue_text
from tests.integration.verdicts import account_of, assert_cited
from tests.standin.fixtures import hosted
from tests.standin.log import Hit
from tests.standin.options import Options
from tests.standin.prompt import MARKED
from tests.standin.server import Standin

ROOT = Path(__file__).parents[2]
KILLS = 6
QUERY = f"  - {{query: '{QUESTION}', id: pumps, perspectives: 4, iterations: 2}}\n"


@dataclass
class Night:
    """One workspace whose runs are killed; ``recorded`` are, by the stand-in's log, what was known when each later run began."""

    folder: Path
    standin: Standin
    chance: random.Random
    kills: int = 0
    asked_again: list[str] = field(default_factory=list)

    def run(self, *, kill: bool) -> bool:
        """Start a run over what is there; kill it some time after it has begun to ask. Return whether it ended by itself."""
        known, before = set(self.recorded()), len(self.standin.log.hits)
        command = [sys.executable, "-m", "pipeline", "-C", str(self.folder), "-q", "run"]
        with subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **KEYS}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as one:
            while kill and one.poll() is None and len(self.standin.log.hits) == before:
                time.sleep(0.005)
            try:
                one.wait(self.chance.uniform(0.0, 0.8) if kill else 120)
            except subprocess.TimeoutExpired:
                one.send_signal(signal.SIGKILL)
            errors = one.stderr.read() if one.stderr else b""
            one.wait(10)
        assert b"Traceback" not in errors
        self.asked_again += [name for hit in self.standin.log.hits[before:] if (name := name_of(hit)) in known]
        self.kills += one.returncode == -signal.SIGKILL
        return one.returncode == 0

    def events(self) -> list[EventBase]:
        store = FileStore(self.folder / "events")
        return [event for name in store.session_ids() for event in decode_all(record.data for record in store.load(name))]

    def recorded(self) -> Iterator[str]:
        """The names of all requests whose answers are in the log."""
        store = FileStore(self.folder / "events")
        for event in self.events():
            if isinstance(event, SearchCompleted):
                yield f"search {event.query}"
            elif isinstance(event, PageRead):
                yield f"page {event.url.partition('//')[2].partition('/')[2]}"
            elif isinstance(event, Answered) and event.exchange and not isinstance(event, StepFailed):
                calls = json.loads(store.get(event.exchange))["calls"]
                yield from (f"prompt {plain(call['request']['messages'][-1]['content'])}" for call in calls)


def name_of(hit: Hit) -> str:
    if hit.route == "chat":
        return f"prompt {plain((hit.request.json_object() or {})['messages'][-1]['content'])}"
    return f"search {hit.request.query['q']}" if hit.route == "brave" else f"page {hit.path.lstrip('/')}"


def plain(prompt: str) -> str:
    """A prompt without the random parts of its delimiters."""
    return re.sub("|".join(map(re.escape, set(MARKED.findall(prompt)))) or r"\Z", "", prompt)


@pytest.mark.parametrize("seed", range(5))
def test_killed_at_random_instants_a_session_is_paid_once_and_complete(seed: int, tmp_path: Path) -> None:
    with hosted(Options(latency_s=0.03)) as standin:
        (tmp_path / "queries.yaml").write_text(queue_text(standin, queries=QUERY, limits="concurrency: 16"))
        night = Night(tmp_path, standin, random.Random(f"deaths {seed}"))
        ended = False
        while not ended and night.kills < KILLS:
            ended = night.run(kill=True)
        ended = ended or night.run(kill=False)
        assert ended
        assert night.asked_again == []
        assert set(night.recorded()) <= {name_of(hit) for hit in standin.log.hits}
        store = FileStore(tmp_path / "events")
        (name,) = store.session_ids()
        state = ResearchSession.open(store, name).state
        assert state.status == "complete"
        assert check(state, store).unsupported == ()
        assert_cited(state)
        assert_paid(night, name)


def assert_paid(night: Night, session: str) -> None:
    """What the events say is at least what the server charged; what was not lost, or assumed, is at most that."""
    state = ResearchSession.open(FileStore(night.folder / "events"), session).state
    account, log = account_of(night.events(), state), night.standin.log
    charged, slack = log.charged().nano_usd, len(log.of("chat"))
    assert account.usd + account.lost + slack >= charged
    assert account.certain <= charged + slack
    assert account.lost > 0 or night.kills == 0 or account.usd == pytest.approx(charged, abs=slack)
    assert state.open_calls == {}
