"""The real program at work in a temporary workspace: a queue of questions over a folder, one night, and what it reported.

All questions of a workspace share one index. Beside each report stand the plain passages that the same index finds first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.quality.matching import first_words
from pipeline import wiring
from pipeline.batch import Night
from pipeline.deciding import decide
from pipeline.doors import Desks
from pipeline.errors import LogError
from pipeline.events import EventBase, ReportGenerated
from pipeline.night_events import QueryEnded
from pipeline.overview import read_all
from pipeline.ports import Search
from pipeline.session import ResearchSession
from pipeline.settings import QUEUE_FILE, Keys, config_for, load_workspace
from pipeline.state import Report, SessionState
from pipeline.store.files import FileStore
from pipeline.text import one_line
from pipeline.values import Mode

PLAIN_HITS = 60
_SESSIONS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the id that its result is kept under."""

    id: str
    question: str


def workspace_at(folder: Path, asked: Sequence[Asked], mode: Mode) -> Path:
    """Write a queue of the questions into ``folder``; its documents belong into ``folder / "corpus"``."""
    entries = [{"id": entry.id, "query": entry.question, "mode": mode} for entry in asked]
    limits = {"max_failures": len(asked) + 1}
    queue = {
        "settings": {"reasoner": "extractive", "search": ["local"], "corpus": "corpus", "limits": limits},
        "queries": entries,
    }
    folder.mkdir(parents=True, exist_ok=True)
    # A YAML 1.2 document may be written as JSON.
    (folder / QUEUE_FILE).write_text(json.dumps(queue, indent=1) + "\n", encoding="utf-8")
    return folder


async def research(folder: Path) -> dict[str, SessionState]:
    """Research the whole queue of the workspace; return each session's last state by query id.

    Raises:
        ResearchError: the queue, the documents or the log cannot be used.
    """
    workspace = load_workspace(folder)
    store = wiring.store_of(folder)
    context = wiring.context_of(workspace, _Counter(len(workspace.queue.queries)))
    desks = Desks(workspace, store, Keys())
    night = Night(
        store, workspace.queue, desks, lambda query: config_for(query, workspace.queue.settings), context, _SESSIONS_AT_ONCE
    )
    try:
        result = await night.work(decide(workspace.queue, read_all(store), context.now()))
    finally:
        await desks.aclose()
    return {ended.query_id: _state(store, ended) for ended in result.ended}


async def plain_passages(folder: Path, questions: Mapping[str, str], words: Mapping[str, int]) -> dict[str, str]:
    """Return by id the passages that the workspace's index finds first for each question, cut to that many words."""
    search: Search = wiring.documents_of(load_workspace(folder))
    return {name: await _plain(search, question, words[name]) for name, question in questions.items()}


async def _plain(search: Search, question: str, words: int) -> str:
    result = await search.search(question, PLAIN_HITS)
    return first_words("\n".join(hit.snippet for hit in result.hits), words)


def _state(store: FileStore, ended: QueryEnded) -> SessionState:
    with suppress(LogError):
        return ResearchSession.open(store, ended.session).state
    return SessionState(id=ended.session, status="failed", end_reason=ended.reason)


class _Counter:
    """Says on stderr how many sessions have ended."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0

    def __call__(self, _event: EventBase, state: SessionState) -> None:
        if state.ended:
            self._done += 1
            if sys.stderr.isatty():
                end = "\n" if self._done == self._total else ""
                print(f"\r{self._done:4}/{self._total} {one_line(state.query, 70):70}", end=end, file=sys.stderr, flush=True)


def summary_of(report: Report | ReportGenerated | None) -> str:
    """Return the summary's text, "" without a report."""
    return " ".join(sentence.text for sentence in report.summary) if report else ""


def text_of(report: Report | ReportGenerated | None) -> str:
    """Return title, summary and the sections' sentences, without references."""
    if report is None:
        return ""
    paragraphs = (paragraph for section in report.sections for paragraph in section.paragraphs)
    body = (" ".join(sentence.text for sentence in paragraph.sentences) for paragraph in paragraphs)
    return "\n".join([report.title, summary_of(report), *body])
