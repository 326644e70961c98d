"""The ports: protocols of event store, reasoner, search, fetch and caches, which adapters and test fakes implement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pipeline.domain.events.stream_records import Kind, Record, Tombstones

if TYPE_CHECKING:  # a store has no need of pydantic
    from pipeline.domain.reasoner_questions import Question, Reply
    from pipeline.domain.research_values import Cost, FailedSide, Hit
    from pipeline.text.ranking import TermStatistics

A = TypeVar("A", bound="Reply")


def _free() -> Cost:
    from pipeline.domain.research_values import Cost

    return Cost()


def _unknown() -> TermStatistics:
    from pipeline.text.ranking import TermStatistics

    return TermStatistics()


@dataclass(frozen=True, slots=True)
class Answer(Generic[A]):
    """A reasoner's answer, its cost, and the prompt with the raw reply as bytes (b"" when nothing was sent anywhere)."""

    value: A
    cost: Cost = field(default_factory=_free)
    exchange: bytes = b""


class Reasoner(Protocol):
    """Whatever answers the typed questions."""

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question. An error that cost something carries ``cost`` and ``exchange``.

        Raises:
            AnswerInvalid: the reply does not fit the question.
            AnswerWithheld: a model, or a filter, will not answer on this material.
            ServiceUnavailable, ServiceFailed: a server cannot be reached, or does not take the request.
            ProviderRefused: key, quota or credit.
            BudgetSpent: the next call's worst case does not fit under a cap.
        """
        ...


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and who found them. No hits means: nothing found.

    ``provider`` is one name, or two joined by ``+`` where own documents and the web both answered. ``failed`` says which of these
    two did not, and why; its hits are missing. If it names the embeddings, own documents were searched by words alone.
    An index of its own also says what it knows of the query's words, and the languages that its documents are written in;
    ``absent`` are names in the query that no passage of its holds. ``left_out`` counts hits that the setting ``sources`` forbids.
    """

    provider: str
    hits: tuple[Hit, ...]
    cost: Cost = field(default_factory=_free)
    failed: tuple[FailedSide, ...] = ()
    statistics: TermStatistics = field(default_factory=_unknown)
    languages: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    left_out: int = 0


class Search(Protocol):
    """Finds pages."""

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return at most ``limit`` hits.

        Raises:
            SearchFailed: the search could not be made.
            ProviderRefused: key, quota or credit.
        """
        ...


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page that a session read: address, title, digest of the stored text, that session, and when it was read."""

    url: str
    title: str
    digest: str
    session: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class FoundPassages:
    """Passages of stored pages, best first, as hits, and the pages that contain them, in the order of their best passages.

    ``searched`` is the number of pages in the scope; ``statistics`` and ``languages`` are those of these pages. ``cost`` and
    ``failed`` as in ``SearchResult``.
    """

    hits: tuple[Hit, ...]
    pages: tuple[StoredPage, ...]
    statistics: TermStatistics = field(default_factory=_unknown)
    languages: tuple[str, ...] = ()
    searched: int = 0
    cost: Cost = field(default_factory=_free)
    failed: tuple[FailedSide, ...] = ()


class StoredPages(Protocol):
    """Finds passages in the pages that sessions read. It never asks the web."""

    async def find(self, question: str, sessions: Sequence[str], limit: int) -> FoundPassages:
        """Return at most ``limit`` passages of the pages that ``sessions`` read.

        Raises:
            SearchFailed: the pages could not be searched.
        """
        ...


@dataclass(frozen=True, slots=True)
class Page:
    """A source as read: ``text`` in the format of ``text.passages``; ``url`` without fragment; dates as ISO 8601 or "".

    ``notices`` are what the source says about its use by programs: ``noai``, ``noimageai``, ``tdm-reservation``. ``sheets`` are
    where the pages of a PDF begin: offsets in characters in the ``normalised`` text.

    ``extractor`` names what read it, with its version. Of the ``visible`` words, ``stored`` are in ``text``, the others were left
    out by the reasons in ``dropped``; ``empty_pages`` of a PDF hold no text. ``file_changed`` is when a file of the folder was
    written, renamed or put there last.
    """

    url: str
    title: str
    text: str
    media_type: str = "text/plain"
    author: str = ""
    published: str = ""
    notices: tuple[str, ...] = ()
    sheets: tuple[int, ...] = ()
    language: str = ""
    extractor: str = ""
    visible: int = 0
    stored: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    empty_pages: int = 0
    file_changed: str = ""


class Fetch(Protocol):
    """Reads pages."""

    async def read(self, url: str) -> Page:
        """Read the page at ``url`` (no fragment).

        Raises:
            ReadFailed: it cannot be read, or holds no text.
        """
        ...


class Documents(Search, Fetch, Protocol):
    """The folders of documents: searched and read."""


class Objects(Protocol):
    """Pages and exchanges under their SHA-256 (64 hex digits)."""

    def put(self, data: bytes) -> str:
        """Store an object durably; return its digest.

        Raises:
            LogUnwritable: it is refused.
        """
        ...

    def get(self, digest: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: it is not stored, or its bytes no longer have that digest.
        """
        ...

    def size(self, digest: str) -> int:
        """Return the bytes that an object takes up, 0 if it is not stored."""
        ...

    def ids(self) -> Iterator[str]:
        """Yield the digests of all objects, sorted."""
        ...

    def remove(self, digests: Iterable[str]) -> None:
        """Remove objects for good, and make that durable. Some may be gone already.

        Raises:
            LogUnwritable: it is refused; some objects may be left.
        """
        ...


class EventStore(Protocol):
    """Append-only streams of records, with their objects. A stream's kind is that of its id (``kind_of``)."""

    @property
    def objects(self) -> Objects:
        """Pages and exchanges, which records name by their digest."""
        ...

    def append(self, session_id: str, records: Sequence[Record], expected_version: int) -> int:
        """Store ``records`` durably after version ``expected_version`` (0: the stream is new); return the new version.

        All of them or none. Versions run on without a gap; all records are of one run. A record whose id is stored with
        the same data is acknowledged again without being stored twice.

        Raises:
            VersionConflict: the stream is at another version.
            EventRejected: a stored id with other data.
            LogDamaged, LogForked, LogUnreadable: the stream cannot be continued.
            LogUnwritable: the disk refuses; nothing of this batch is acknowledged.
            WorkspaceLocked: another process writes this stream.
        """
        ...

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after`` in order; empty for an unknown stream. Takes no lock.

        Raises:
            LogDamaged, LogForked, LogUnreadable: the stream cannot be trusted.
        """
        ...

    def ids(self, kind: Kind, *, removed: bool = False) -> Iterator[str]:
        """Yield the ids of all streams of a kind, sorted.

        ``removed``: instead those that were pruned or forgotten, and of which something is still there.
        """
        ...

    def marks(self, kinds: Sequence[Kind] = ("session", "batch")) -> Mapping[str, str]:
        """Return an opaque mark for each stream of these kinds, by id, sorted: it differs whenever the stream differs.

        What was derived from a stream under one mark still holds while the mark is the same; no stream is read for it.
        """
        ...

    def version_at(self, stream: str, mark: str) -> int:
        """Return the version that a stream had when ``marks`` gave it that mark."""
        ...

    def take_over(self, session_id: str) -> None:
        """Let this process write a stream, whoever wrote it before: a process that did is refused from now on.

        In a store of files nobody can be refused who holds a stream's lock: the next append finds out.

        Raises:
            LogError: the store cannot be written.
        """
        ...

    def release(self, session_id: str) -> None:
        """End this process's writing to a stream: close its segment, free its lock. Unknown ids are ignored."""
        ...

    def branched(self, streams: Iterable[str]) -> Collection[str]:
        """Return those of the streams that two machines continued: they are read joined, and not stored so yet.

        One that cannot be read is none of them.
        """
        ...

    def join(self, session_id: str) -> Sequence[Record]:
        """Store how a stream's branches are joined; return the records that do it, none if it has no several branches.

        Raises:
            LogDamaged, LogForked, LogUnreadable: the stream cannot be continued.
            LogUnwritable: the disk refuses.
            WorkspaceLocked: another process writes this stream.
        """
        ...

    def tombstones(self) -> Tombstones:
        """Return what was pruned, forgotten and written off.

        ``load`` returns of a pruned session the records that are kept of it, with gaps between their versions; ``append`` to it
        is refused. A forgotten session is none of the sessions. Both hold from the tombstone on, also while files of it are left.
        """
        ...

    def remove_stream(self, stream: str) -> None:
        """Remove all files of a stream for good, and make that durable. It may be gone already, or in part.

        Raises:
            LogUnwritable: the disk refuses; some files may be left.
            WorkspaceLocked: another process writes this stream.
        """
        ...

    def strike(self, stream: str, change: Callable[[Record], Record]) -> None:
        """Replace each record of a stream for good by what ``change`` returns for it, numbered as before.

        Raises:
            LogDamaged, LogForked, LogUnreadable: the stream cannot be trusted.
            LogUnwritable: the disk refuses; do it again before the stream is used.
            WorkspaceLocked: another process writes this stream.
        """
        ...


class SharedPace(Protocol):
    """The pace towards hosts and providers that several machines keep together."""

    async def turn(self, name: str, hold_s: float) -> None:
        """Return when it is this process's turn at ``name``: nobody else takes one for ``hold_s`` seconds, or until ``rest``."""
        ...

    async def rest(self, name: str, pause_s: float) -> None:
        """End a turn: the next one is ``pause_s`` seconds later."""
        ...
