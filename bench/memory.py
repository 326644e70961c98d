"""What memory is worth, and what recall costs. Thirty nights over the sample documents, each with one question in other words.

Each question is researched twice: in a workspace that remembers the nights before, and in one that does not. Compared are the
searches made, the pages read and the facets of the report, for questions on a subject that an earlier night was about. A facet is
a section of a document that the report cites. Every cited page is read in its own session, so the number of cited pages is the
least number of pages that a session with the same report can read; it is printed too. Then the time of one recall among 100,000
made statements is measured.

Run: python -m bench.memory [--nights 30] [--statements 100000]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from pipeline.batch.memory.consolidating import consolidate
from pipeline.batch.memory.recalling import Recaller
from pipeline.batch.scheduling import decide
from pipeline.batch.session_index import read_all
from pipeline.batch.session_pool import Batch
from pipeline.config.settings import config_for, keys_of, load_workspace
from pipeline.domain.events.memory_events import SessionConsolidated
from pipeline.domain.memory.fold import remember
from pipeline.domain.memory.recall import MemoryIndex
from pipeline.domain.memory.values import Episode, Statement
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.wiring import workspace_adapters
from pipeline.wiring.session_adapters import AdapterFactory

CORPUS = Path(__file__).parent.parent / "corpus"
AT = "2026-12-01T00:00:00.000Z"
# The first wording of a subject is asked on one of the first five nights; all others are asked later.
WORDINGS = (
    (
        "How does an append-only log survive a power cut?",
        "Do linked notes help people remember and write?",
        "How should a search engine rank passages of text?",
        "What makes a citation checkable, and how often are citations wrong?",
        "When is a static site better than a server-rendered one?",
    ),
    (
        "What keeps an append-only log safe when the power is cut?",
        "How do linked notes help with remembering and writing?",
        "How can passages of text be ranked by a search engine?",
        "How is a citation made checkable, and how many citations are wrong?",
        "Is a static site better than a server-rendered site, and when?",
    ),
    (
        "Why does a power cut not destroy an append-only log, and what are the limits?",
        "What is the use of linked notes for writing and remembering?",
        "What are good ways to rank text passages in a search engine?",
        "What are the steps that make citations checkable for readers?",
        "Why choose a static site rather than server-rendered pages?",
    ),
    (
        "How do fsync and checksums protect an append-only log in a power cut?",
        "Are linked notes better than folders for people who write?",
        "How well does BM25 rank passages of text in a search engine?",
        "How often are citations wrong, and what makes them checkable?",
        "What are the risks of a static site compared with a server-rendered one?",
    ),
    (
        "How should an append-only log be written so that a power cut loses nothing?",
        "What does research say on linked notes and remembering?",
        "How do dense retrieval and BM25 rank passages of text?",
        "How can readers check a citation, and why are citations wrong?",
        "When does a server-rendered site beat a static site?",
    ),
    (
        "What happens to an append-only log in a power cut, and how does it recover?",
        "Do links between notes help people to write?",
        "What are the limits of ranking passages of text in a search engine?",
        "What makes citations wrong or hard to check?",
        "How fast is a static site compared with a server-rendered one?",
    ),
)


class Work(NamedTuple):
    """What one session did: counts of searches and pages read, the facets of its report, and the pages that it cites."""

    searches: int
    pages: int
    facets: int
    cited: int


def researched(folder: Path, question: str, number: int, *, remembers: bool) -> Work:
    """Research one question in a workspace; then consolidate, if it remembers."""
    (folder / "queries.yaml").write_text(
        f'settings: {{corpus: "{CORPUS}"}}\nqueries:\n  - {{query: "{question}", id: q{number}}}\n'
    )
    workspace, store = load_workspace(folder), workspace_adapters.store_of(folder)
    context = workspace_adapters.context_of(workspace, lambda _event, _state: None)

    async def work() -> None:
        factory = AdapterFactory(workspace, store, keys_of(folder))
        factory.prepare(needed=True)
        batch = Batch(store, workspace.queue, factory, lambda query: config_for(query, workspace.queue.settings), context)
        if remembers:
            batch.recall = Recaller(store)
        await batch.work(decide(workspace.queue, read_all(store), context.now()))
        await factory.aclose()

    asyncio.run(work())
    if remembers:
        consolidate(store, context, read_all(store).sessions)
    (name,) = (name for name in store.session_ids() if f"-q{number}-" in name)
    return work_of(ResearchSession.open(store, name).state)


def work_of(state: SessionState) -> Work:
    """Return what a session did."""
    cited = [state.facts[name] for entry in (state.report.references if state.report else ()) for name in entry.facts]
    return Work(
        len(state.searches) + 1,
        len(state.pages),
        len({(fact.url, fact.heading) for fact in cited}),
        len({fact.url for fact in cited}),
    )


def nights(count: int) -> None:
    """Print the work of all questions, with memory and without."""
    questions = list(itertools.chain.from_iterable(WORDINGS))[:count]
    first = len(WORDINGS[0])
    totals: dict[bool, Work] = {}
    for remembers in (False, True):
        folder = Path(tempfile.mkdtemp(prefix="nights-"))
        done = [researched(folder, question, number, remembers=remembers) for number, question in enumerate(questions)]
        totals[remembers] = Work(*(sum(values) for values in zip(*done[first:], strict=True)))
        shutil.rmtree(folder)
        print(f"{'with' if remembers else 'without'} memory, {len(done) - first} later questions: {totals[remembers]}")
    shares = {part: getattr(totals[True], part) / (getattr(totals[False], part) or 1) for part in Work._fields}
    print("with / without:", {part: round(share, 2) for part, share in shares.items()}, "(wanted: ≤ 0.8, ≤ 0.8, ≥ 1)")
    least = totals[False].cited / (totals[False].pages or 1)
    print(f"pages: {least:.2f} is the least share at the same cited pages")


def recall(count: int) -> None:
    """Print how long it takes to index this many statements, and to recall from them, in milliseconds of processor time."""
    dice = random.Random(4)
    words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("ar", "en", "ix", "ol", "um") for c in range(400)]
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))

    def text(size: int) -> str:
        return " ".join(dice.choices(words, cum_weights=weights, k=size))

    memory = remember(_made(session, count // 100, text) for session in range(100))
    began = time.process_time()
    index = MemoryIndex(memory)
    print(f"{count} statements indexed in {time.process_time() - began:.1f} s")
    taken = []
    for _ in range(50):
        question, began = f"How does {text(6)}?", time.process_time()
        index.recall(question, "new", ("a",), AT)
        taken.append(1_000 * (time.process_time() - began))
    print(f"one recall: median {statistics.median(taken):.1f} ms, longest {max(taken):.1f} ms (wanted: ≤ 50 ms)")


def _made(session: int, statements: int, text: object) -> SessionConsolidated:
    assert callable(text)
    query = f"How does {text(5)}?"
    found = tuple(
        Statement(fact=f"{session}-{number}", claim=text(24), quote="q", url=f"corpus:{number % 50}.md", digest="0" * 64)
        for number in range(statements)
    )
    at = f"2026-{1 + session % 11:02d}-01T00:00:00.000Z"
    episode = Episode(question=query, at=at, outcome="complete", answer="")
    core = {"session_id": "memory-1", "version": session + 2, "session": f"s{session}", "up_to": 1, "head": "", "query": query}
    return SessionConsolidated(**core, query_id=f"q{session}", tags=("a",), outcome="complete", episode=episode, statements=found)


def main() -> None:
    """Measure both."""
    options = argparse.ArgumentParser()
    options.add_argument("--nights", type=int, default=30)
    options.add_argument("--statements", type=int, default=100_000)
    given = options.parse_args()
    if given.statements:
        recall(given.statements)
    if given.nights:
        nights(given.nights)


if __name__ == "__main__":
    main()
