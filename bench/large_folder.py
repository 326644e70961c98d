"""One deep question over a large folder of documents, by the real program: ``python -m bench.large_folder FOLDER [QUESTION]``.

Prints documents indexed a second, seconds of the question's research, what it found, and the peak memory (target: 500 MB).
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from pipeline.batch import scheduling, session_pool
from pipeline.batch.session_index import read_all
from pipeline.config.keys import Keys
from pipeline.config.settings import config_for, load_workspace
from pipeline.domain.session import ResearchSession
from pipeline.ops import citation_audit
from pipeline.text.normalise import counted
from pipeline.wiring import workspace_adapters
from pipeline.wiring.session_adapters import AdapterFactory

QUESTION = "How does write-ahead logging protect data against a crash, and what does it cost?"


def main(folder: Path, question: str) -> None:
    """Index ``folder`` and research ``question`` over it in a temporary workspace."""
    with tempfile.TemporaryDirectory(prefix="large-") as place:
        queue = f"settings: {{corpus: {json.dumps(str(folder.resolve()))}}}\nqueries:\n  - {json.dumps(question)}\n"
        Path(place, "queries.yaml").write_text(queue)
        workspace = load_workspace(Path(place))
        store = workspace_adapters.store_of(workspace.folder)
        factory = AdapterFactory(workspace, store, Keys())
        start, processor = time.perf_counter(), time.process_time()
        report = factory.prepare(needed=True)
        assert report is not None
        indexed = time.perf_counter() - start
        found = f"{counted(report.files, 'document')}, {counted(report.passages, 'passage')}"
        used = time.process_time() - processor
        print(f"{found}: {report.files / indexed:.0f} documents/s, {indexed:.1f} s, {used:.1f} s of processor")
        start, processor = time.perf_counter(), time.process_time()
        context = workspace_adapters.context_of(workspace, lambda _event, _state: None)
        due = scheduling.decide(workspace.queue, read_all(store), context.now())
        night = session_pool.Batch(
            store, workspace.queue, factory, lambda query: config_for(query, workspace.queue.settings), context
        )
        result = asyncio.run(night.work(due))
        processor = time.process_time() - processor
        state = ResearchSession.open(store, result.ended[0].session).state
        checked = citation_audit.check(state, store)
        words = state.report.words if state.report else 0
        print(f"one deep question: {state.status}, {time.perf_counter() - start:.1f} s, {processor:.1f} s of processor, ", end="")
        print(f"{counted(len(state.pages), 'page')} read, ", end="")
        print(f"{checked.quotes} quotes and {checked.citations} citations, {len(checked.unsupported)} unsupported, {words} words")
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (target 500)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), " ".join(sys.argv[2:]) or QUESTION)
