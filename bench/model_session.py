"""What a session costs: calls, tokens and cacheable prefixes by kind of call, facts, USD.

    python -m bench.model_session FOLDER [--mode fast] [--keep WORKSPACE] [--price 0.25] [--cached 0.025] [--output 2.00]

FOLDER holds documents: the PostgreSQL manual of the Debian package ``postgresql-doc-15``, 1,171 pages, to which the questions of
``bench.careful_model`` belong (``apt-get download postgresql-doc-15 && dpkg -x postgresql-doc-15*.deb .``). Tokens are the
program's own estimate. A prefix counts if an earlier prompt of the session began with it and it has 1,024 tokens or more; "with
schema" counts as a server does that puts the reply's schema before the prompt.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.careful_model import QUERY, said
from bench.chat_server import MODEL, Body, Prefixes, prompt_of, schema_of, serving
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.session import state_of
from pipeline.domain.session_state import SessionState
from pipeline.store.file_store import FileStore
from pipeline.text.cleaning import tokens
from tests.standin.prompt import read_prompt

_LATENCY_S = 0.05  # so that calls overlap as they do with a real server
_QUEUE = """\
settings:
  reasoner: {{model: {model}, base_url: "{url}"}}
  search: [local]
  corpus: {corpus}
queries:
  - query: {query}
    id: measured
    mode: {mode}
"""


@dataclass
class Kind:
    """The sums of one kind of call, in tokens; ``cacheable`` tokens stand in prefixes that an earlier prompt had."""

    calls: int = 0
    sent: int = 0
    cacheable: int = 0
    with_schema: int = 0
    received: int = 0

    def add(self, other: Kind) -> None:
        """Add another kind's sums."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Meter:
    """The stand-in model, and what it was sent."""

    kinds: dict[str, Kind] = field(default_factory=lambda: defaultdict(Kind))
    prefixes: Prefixes = field(default_factory=Prefixes)
    with_schema: Prefixes = field(default_factory=Prefixes)
    shown: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: Body) -> str:
        """Answer one request and count it."""
        prompt, text = prompt_of(body), said(body)
        schema = json.dumps(schema_of(body))
        with self.lock:
            kind = Kind(1, tokens(prompt), self.prefixes.tokens_shared(prompt), 0, tokens(text))
            kind.with_schema = max(0, self.with_schema.tokens_shared(schema + prompt) - tokens(schema))
            asked = read_prompt(body)
            self.kinds[asked.name].add(kind)
            self.shown |= {fact.key for fact in asked.facts} if asked.name == "report" else set()
        time.sleep(_LATENCY_S)
        return text


def main() -> None:
    """Run the session and print its figures."""
    options = argparse.ArgumentParser(prog="python -m bench.model_session")
    options.add_argument("corpus", type=Path)
    options.add_argument("--mode", choices=("deep", "fast"), default="deep")
    options.add_argument("--keep", type=Path, help="leave the workspace in this folder")
    for name, usd in {"price": 0.25, "cached": 0.025, "output": 2.00}.items():
        options.add_argument(f"--{name}", type=float, default=usd, metavar="USD", help="for a million tokens")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="model-session-") as scratch:
        folder, meter = given.keep or Path(scratch), Meter()
        with serving(meter.answer) as url:
            _research(folder, url, given)
        print(*_figures(meter, _session(folder), given), sep="\n")


def _research(folder: Path, url: str, given: argparse.Namespace) -> None:
    research = [sys.executable, "-m", "pipeline", "-C", str(folder)]
    subprocess.run([sys.executable, "-m", "pipeline", "init", str(folder)], check=True, capture_output=True)
    query, corpus = json.dumps(QUERY), json.dumps(str(given.corpus.resolve()))
    (folder / "queries.yaml").write_text(_QUEUE.format(model=MODEL, url=url, corpus=corpus, query=query, mode=given.mode))
    ended = subprocess.run([*research, "run"], capture_output=True, text=True)
    if ended.returncode:
        sys.exit(ended.stderr or ended.stdout)


def _session(folder: Path) -> SessionState:
    store = FileStore(folder / "events")
    (name,) = store.ids("session")
    return state_of(name, decode_all(record.data for record in store.load(name)))


def _figures(meter: Meter, state: SessionState, given: argparse.Namespace) -> Iterator[str]:
    yield f"{'kind':<16}{'calls':>7}{'tokens in':>12}{'cacheable':>12}{'with schema':>13}{'tokens out':>12}"
    whole = Kind()
    for name, kind in sorted(meter.kinds.items(), key=lambda item: -item[1].sent):
        whole.add(kind)
        yield _row(name, kind)
    yield _row("all", whole)
    fresh = whole.sent - whole.cacheable
    usd = (fresh * given.price + whole.cacheable * given.cached + whole.received * given.output) / 1e6
    without = (whole.sent * given.price + whole.received * given.output) / 1e6
    yield f"status {state.status}, {len(state.facts)} distinct facts from {len(state.pages)} pages"
    cited = sum(len(reference.facts) for reference in state.report.references) if state.report else 0
    counts = {"shown to the writer": len(meter.shown), "cited": cited}
    yield ", ".join(f"{name} {count} ({count / max(1, len(state.facts)):.0%})" for name, count in counts.items())
    shares = (f"{part / max(1, whole.sent):.0%}" for part in (whole.cacheable, whole.with_schema))
    yield "cacheable: {} of the input, {} with schema".format(*shares)
    yield f"{usd:.4f} USD with a cache, {without:.4f} without one"


def _row(name: str, kind: Kind) -> str:
    return f"{name:<16}{kind.calls:>7,}{kind.sent:>12,}{kind.cacheable:>12,}{kind.with_schema:>13,}{kind.received:>12,}"


if __name__ == "__main__":
    main()
