"""``Catalogue``: a small SQLite file beside the log with what the last build derived. It can be deleted at any time.

It stores each stream's mark with its card or batch, the readings and the path of each source, and for each file of the vault its
owner, size, time and digest. There may be very many of each, so a build reads only the rows it needs. Another version of the
program discards all derived tables; only the tables of files and notes are kept, because they show what a person removed. If the
file is damaged, a build renders everything again and recognises its notes by their properties.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from pydantic import TypeAdapter

from pipeline.vault.cache.database import DERIVED, FILES_FORMAT, TABLES, CatalogueFile
from pipeline.vault.session_card import Brief, Card, Reading, in_brief
from pipeline.vault.vault_model import Batch, Lookup, SourceNotePlace, VaultModel


@dataclass(frozen=True, slots=True)
class ReadingSummary:
    """A reading in short: the session, the time, and the page's title."""

    session: str
    at: str
    title: str


class StoredReading(NamedTuple):
    """A reading as a row of the catalogue; ``value`` is JSON."""

    url: str
    at: str
    title: str
    value: bytes


def stored_readings(readings: Iterable[Reading]) -> tuple[StoredReading, ...]:
    """Return readings as rows of the catalogue."""
    pages = ((reading, reading.page) for reading in readings)
    return tuple(StoredReading(page.url, page.at, page.title, _readings().dump_json(reading)) for reading, page in pages)


def readings_from(values: Iterable[bytes]) -> tuple[Reading, ...]:
    """Return the readings of stored values.

    Raises:
        ValidationError: a value is not a reading.
    """
    return tuple(map(_readings().validate_json, values))


def _stem(path: str) -> str:
    """The file name of a note as it is compared: file systems may not tell letter case apart."""
    return path.rpartition("/")[2].casefold()


_BRIEF = ", ".join(("session", *Brief._fields[1:]))


@cache
def _cards() -> TypeAdapter[Card]:
    return TypeAdapter(Card)


@cache
def _batches() -> TypeAdapter[Batch]:
    return TypeAdapter(Batch)


@cache
def _readings() -> TypeAdapter[Reading]:
    return TypeAdapter(Reading)


class Catalogue(CatalogueFile):
    """The open catalogue with everything derived from the log. One build at a time; ``commit`` stores the changes.

    Tables that were derived under another ``layout`` are emptied.
    """

    def _begin(self) -> None:
        super()._begin()
        if not self.is_current:
            self.forget_derived()

    def forget_derived(self) -> None:
        """Empty all tables derived from the log; the table of files is kept."""
        (known,) = self._base.execute("PRAGMA user_version").fetchone()
        for table in DERIVED if known == FILES_FORMAT else (*DERIVED, "files", "folders", "notes"):
            self._base.execute(f"DROP TABLE IF EXISTS {table}")
        self._base.execute(f"PRAGMA user_version = {FILES_FORMAT}")
        for statement in TABLES:
            self._base.execute(statement)
        self.files.compare_all()
        self._kept = {}
        self.keep("layout", self._layout)

    def is_blank(self) -> bool:
        """Tell whether there is no card of any session."""
        return self._base.execute("SELECT 1 FROM wholes").fetchone() is None

    def card(self, session: str) -> Card | None:
        """Return a session's card; None if it has not started."""
        row = self._base.execute("SELECT value FROM wholes WHERE session = ?", (session,)).fetchone()
        return _cards().validate_json(row[0]) if row else None

    def cards(self) -> Iterator[Card]:
        """Yield all cards, unordered."""
        return (_cards().validate_json(value) for (value,) in self._base.execute("SELECT value FROM wholes"))

    def briefs(self) -> tuple[Brief, ...]:
        """Return all cards in brief, in order of the sessions' start."""
        rows = self._base.execute(f"SELECT {_BRIEF} FROM cards WHERE begun ORDER BY started_at, session")  # noqa: S608 - our own names
        return tuple(map(Brief._make, rows))

    def put_card(self, session: str, mark: str, card: Card | None) -> None:
        """Store a session's card; None: it has not started."""
        if card is None:
            self._base.execute("INSERT OR REPLACE INTO cards (session, mark, begun) VALUES (?, ?, 0)", (session, mark))
            self._base.execute("DELETE FROM wholes WHERE session = ?", (session,))
            return
        row = (session, mark, 1, card.started_at, card.previous_session, *in_brief(card)[1:])
        self._base.execute("INSERT OR REPLACE INTO cards VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._base.execute("INSERT OR REPLACE INTO wholes VALUES (?, ?)", (session, _cards().dump_json(card)))

    def model(self) -> VaultModel:
        """Return the whole vault; each value is read from the catalogue when it is needed."""
        return VaultModel(self._by_id(), self._followers(), self._by_query(), self._places(), self.batches())

    def _by_id(self) -> Lookup[Card]:
        return Lookup(self.card, lambda: self._column("SELECT session FROM wholes"))

    def _followers(self) -> Lookup[Card]:
        return Lookup(self._follower, lambda: self._column("SELECT DISTINCT previous FROM cards WHERE previous != ''"))

    def _follower(self, session: str) -> Card | None:
        return next(iter(self._in_order(self.following([session]))), None)

    def _by_query(self) -> Lookup[tuple[Card, ...]]:
        return Lookup(self._of_query, lambda: self._column("SELECT DISTINCT query_id FROM cards WHERE begun"))

    def _of_query(self, query_id: str) -> tuple[Card, ...] | None:
        return self._in_order(self.sessions_on([query_id])) or None

    def _in_order(self, sessions: Iterable[str]) -> tuple[Card, ...]:
        """The cards of sessions in order of their start."""
        cards = (card for name in sessions if (card := self.card(name)))
        return tuple(sorted(cards, key=lambda card: (card.started_at, card.id)))

    def sessions_on(self, query_ids: Iterable[str]) -> set[str]:
        """Return the sessions that research any of the queries."""
        return {name for query_id in query_ids for name in self._column("SELECT session FROM cards WHERE query_id = ?", query_id)}

    def following(self, sessions: Iterable[str]) -> set[str]:
        """Return the sessions whose previous session is one of the given."""
        select = "SELECT session FROM cards WHERE previous = ? AND previous != ''"
        return {name for session in sessions for name in self._column(select, session)}

    def orphans(self) -> set[str]:
        """Return the sessions whose previous session does not exist."""
        select = "SELECT session FROM cards WHERE previous != '' AND previous NOT IN (SELECT session FROM wholes)"
        return set(self._column(select))

    def _column(self, select: str, *values: str) -> list[str]:
        return [value for (value,) in self._base.execute(select, values)]

    def has_stem(self, stem: str) -> bool:
        """Tell whether a note has this file name."""
        return self._base.execute("SELECT 1 FROM stems WHERE stem = ?", (stem.casefold(),)).fetchone() is not None

    def put_stems(self, paths: Iterable[str]) -> None:
        """Store the file names of notes, given by their paths."""
        self._base.executemany("INSERT OR IGNORE INTO stems VALUES (?)", ((_stem(path),) for path in paths))

    def drop_stems(self, paths: Iterable[str]) -> None:
        """Delete the file names of notes, given by their paths."""
        self._base.executemany("DELETE FROM stems WHERE stem = ?", ((_stem(path),) for path in paths))

    def batches(self) -> Lookup[Batch]:
        """Return the batches that have started, by id."""
        return Lookup(self._batch, lambda: self._column("SELECT batch FROM batches WHERE value != x''"))

    def _batch(self, name: str) -> Batch | None:
        row = self._base.execute("SELECT value FROM batches WHERE batch = ? AND value != x''", (name,)).fetchone()
        return _batches().validate_json(row[0]) if row else None

    def put_batch(self, batch_id: str, mark: str, batch: Batch | None) -> None:
        """Store a batch; None: it has not started."""
        value = _batches().dump_json(batch) if batch else b""
        self._base.execute("INSERT OR REPLACE INTO batches VALUES (?, ?, ?)", (batch_id, mark, value))

    def drop_streams(self, names: Iterable[str]) -> None:
        """Delete sessions and batches, with their readings."""
        for name in names:
            for table, key in (("cards", "session"), ("wholes", "session"), ("batches", "batch"), ("readings", "session")):
                self._base.execute(f"DELETE FROM {table} WHERE {key} = ?", (name,))  # noqa: S608 - no name comes from outside

    def put_readings(self, session: str, readings: Iterable[StoredReading]) -> None:
        """Store the readings of a session in place of its earlier ones."""
        self._base.execute("DELETE FROM readings WHERE session = ?", (session,))
        self._base.executemany("INSERT INTO readings VALUES (?, ?, ?, ?, ?)", ((session, *reading) for reading in readings))

    def readings(self, url: str) -> tuple[bytes, ...]:
        """Return the stored values of a source's readings, in order of time."""
        rows = self._base.execute("SELECT value FROM readings WHERE url = ? ORDER BY at, session", (url,))
        return tuple(value for (value,) in rows)

    def reading_summaries(self, url: str) -> list[ReadingSummary]:
        """Return a source's readings in short, unordered."""
        return [
            ReadingSummary(*row) for row in self._base.execute("SELECT session, at, title FROM readings WHERE url = ?", (url,))
        ]

    def sources_of(self, sessions: Iterable[str]) -> set[str]:
        """Return the addresses of all sources that the sessions read."""
        found = (self._base.execute("SELECT url FROM readings WHERE session = ?", (session,)) for session in sessions)
        return {url for rows in found for (url,) in rows}

    def readers_of(self, urls: Iterable[str]) -> set[str]:
        """Return the sessions that read any of the sources."""
        return {summary.session for url in urls for summary in self.reading_summaries(url)}

    def naming_pages(self, digests: Collection[str]) -> set[str]:
        """Return the addresses of the sources of which a reading has its text in an object of these."""
        pages = self._base.execute("SELECT url, value FROM readings")
        return {url for url, value in pages for reading in readings_from([value]) if reading.page.digest in digests}

    def noted_sources(self) -> Lookup[SourceNotePlace]:
        """Return the sources that have a note: those that a session's result leads to. The others that were read have none."""
        places = self._places()
        return Lookup(lambda url: places.get(url) if self._is_shown(url) else None, lambda: filter(self._is_shown, places))

    def _is_shown(self, url: str) -> bool:
        return any(reading.shown for reading in readings_from(self.readings(url)))

    def place(self, url: str) -> SourceNotePlace | None:
        """Return the path of a source's note, and its name in links."""
        row = self._base.execute("SELECT path, title, whereabouts FROM places WHERE url = ?", (url,)).fetchone()
        return SourceNotePlace(*row) if row else None

    def _places(self) -> Lookup[SourceNotePlace]:
        return Lookup(self.place, lambda: self._column("SELECT url FROM places"))

    def put_places(self, places: Mapping[str, SourceNotePlace | None]) -> None:
        """Store the paths and titles of sources' notes; None: no session reads the source any more."""
        gone = ((url,) for url, place in places.items() if place is None)
        self._base.executemany("DELETE FROM places WHERE url = ?", gone)
        found = ((url, place.path, place.name, place.where) for url, place in places.items() if place)
        self._base.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", found)

    def named(self, name: str) -> list[str]:
        """Return the addresses of the sources whose title is ``name``, without what tells them apart."""
        return self._column("SELECT url FROM places WHERE title = ?", name)
