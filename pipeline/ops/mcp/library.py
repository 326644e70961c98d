"""The sessions of a workspace, kept in memory while the server runs. A session that changed is read again; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pipeline.domain.session import ResearchSession
from pipeline.errors import LogError, SessionUnknown
from pipeline.ops.mcp.entries import Entry, Page, entry_of
from pipeline.ports import EventStore
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import StemmedText, coverage, scores, statistics_of, term_weights

_LEAST_COVERAGE = 0.25  # of the question's words, by weight: what has less is no result


class Found(NamedTuple):
    """A result of a search: a report of ``entry``, or, with ``page``, a source that it read."""

    entry: Entry
    page: Page | None
    score: float


class Library:
    """What the server answers from."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._marks: dict[str, str] = {}
        self._entries: dict[str, Entry] = {}
        self.damaged: dict[str, str] = {}

    def entries(self) -> list[Entry]:
        """Return all readable sessions, the newest first; those that changed since the last call are read again."""
        self._refresh()
        return sorted(self._entries.values(), key=lambda entry: (entry.started_at, entry.id), reverse=True)

    def entry(self, name: str) -> Entry:
        """Return the session with that id, or the latest of the query with that id.

        Raises:
            SessionUnknown: there is none, or its log cannot be read.
        """
        entries = self.entries()
        for entry in entries:
            if entry.id == name:
                return entry
        for entry in entries:
            if entry.query_id == name:
                return entry
        if name.startswith("import-"):
            raise SessionUnknown(f"{name[:100]!r} was imported and is not checked", hint="it has no report that can be cited")
        why = f": its log cannot be read: {self.damaged[name]}" if name in self.damaged else ""
        raise SessionUnknown(f"there is no session {name[:100]!r}{why}", hint="the tool search finds reports and their ids")

    def page(self, digest: str) -> tuple[Page, Entry]:
        """Return the page with that SHA-256, and the newest session that read it.

        Raises:
            SessionUnknown: no session read such a page.
        """
        for entry in self.entries():
            if digest in entry.pages:
                return entry.pages[digest], entry
        raise SessionUnknown(f"no session read a page {digest[:64]!r}", hint="the tool search finds sources and their ids")

    def latest(self) -> list[Entry]:
        """Return of each question its newest session, the newest first."""
        seen: dict[str, Entry] = {}
        for entry in self.entries():
            seen.setdefault(entry.query_id or entry.id, entry)
        return list(seen.values())

    def search(self, question: str, limit: int) -> list[Found]:
        """Return at most ``limit`` reports and sources that hold words of the question, best first, newest first among equals."""
        found = list(self._texts())
        texts = [text for _, _, text in found]
        query, known = parse_question(question), statistics_of([text for _, _, text in found])
        weights = term_weights(query, known)
        ranked = [
            Found(entry, page, score)
            for (entry, page, text), score in zip(found, scores(query, texts, known), strict=True)
            if coverage(weights, {*text.body, *text.heads}) >= _LEAST_COVERAGE
        ]
        return sorted(ranked, key=lambda one: -round(one.score, 6))[:limit]

    def _texts(self) -> Iterator[tuple[Entry, Page | None, StemmedText]]:
        seen: set[str] = set()
        for entry in self.latest():
            for name, text in entry.texts:
                if name not in seen and (name == "report" or name in entry.pages):
                    yield entry, entry.pages.get(name), text
                    seen |= {name} - {"report"}

    def _refresh(self) -> None:
        found = self._store.marks()
        marks = {name: found[name] for name in self._store.session_ids() if name in found}
        for name in self._marks.keys() - marks.keys():
            self._entries.pop(name, None)
            self.damaged.pop(name, None)
        for name, mark in marks.items():
            if self._marks.get(name) != mark:
                self._read(name)
        self._marks = marks

    def _read(self, name: str) -> None:
        self.damaged.pop(name, None)
        try:
            self._entries[name] = entry_of(ResearchSession.open(self._store, name).state)
        except LogError as error:
            self._entries.pop(name, None)
            self.damaged[name] = error.message
