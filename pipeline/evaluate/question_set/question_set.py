"""Loading of a folder of questions with known answers. ``docs/evaluate.md`` describes the files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pipeline.errors import UsageError
from pipeline.evaluate.question_set.jsonl_reader import Faults, LocatedRow, json_rows, trec_rows, yaml_rows
from pipeline.evaluate.question_set.rows import Answer, FollowUp, Half, Nugget, Subject, Topic, Unanswerable

HALVES: tuple[Half, ...] = ("dev", "held-out")
Kind = Literal["narrow", "broad", "plain", "off-topic", "near-topic", "half", "subject"]
_FINAL = "held-out questions are asked only with --final"
_WHAT = "name a folder of questions with known answers; see docs/evaluate.md"
UNANSWERABLE: frozenset[str] = frozenset(("off-topic", "near-topic", "half"))


@dataclass(frozen=True, slots=True)
class Entry:
    """One question with all that is known about its answer.

    ``docs`` are documents that hold the answer or parts of it, as paths relative to the folder of documents.
    """

    id: str
    query: str
    half: Half
    answers: tuple[Answer, ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    unanswerable: Unanswerable | None = None
    subject: Subject | None = None
    docs: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """The kind of question; ``plain`` if no answer is known."""
        if self.unanswerable:
            return self.unanswerable.kind
        if self.subject:
            return "subject"
        return "narrow" if self.answers else "broad" if self.nuggets else "plain"


@dataclass(frozen=True, slots=True)
class Dataset:
    """The questions in the order of their files, and the folder of documents that should answer them.

    ``subjects`` are all subjects of the folder, whichever questions were chosen; ``follow_ups`` are about the chosen ones.
    """

    folder: Path
    corpus: Path
    entries: tuple[Entry, ...]
    subjects: tuple[Subject, ...] = ()
    follow_ups: tuple[FollowUp, ...] = ()

    def chosen(self, only: Iterable[str], *, final: bool) -> Dataset:
        """Return the dataset with the questions ``only`` (empty: all), without held-out ones unless ``final``.

        Raises:
            UsageError: there is no question with one of the ids, or no question is left.
        """
        allowed = [entry for entry in self.entries if final or entry.half == "dev"]
        wanted = set(only)
        if unknown := sorted(wanted - {entry.id for entry in allowed}):
            raise UsageError(f"no question with the id {', '.join(unknown)}", hint=_FINAL)
        entries = tuple(entry for entry in allowed if not wanted or entry.id in wanted)
        if not entries:
            raise UsageError(f"no question to ask in {self.folder}", hint=_FINAL)
        names = {entry.id for entry in entries}
        asked = tuple(row for row in self.follow_ups if row.about in names and (final or row.half == "dev"))
        return replace(self, entries=entries, follow_ups=asked)


@dataclass(slots=True)
class _Rows:
    """The rows of all data files."""

    topics: list[LocatedRow] = field(default_factory=list)
    answers: list[LocatedRow] = field(default_factory=list)
    nuggets: list[LocatedRow] = field(default_factory=list)
    unanswerable: list[LocatedRow] = field(default_factory=list)
    subjects: list[LocatedRow] = field(default_factory=list)
    follow_ups: list[LocatedRow] = field(default_factory=list)
    qrels: list[tuple[str, str, str, int]] = field(default_factory=list)


def load(folder: Path, corpus: Path | None = None) -> Dataset:
    """Read the data files of ``folder``, and of its sub-folders ``dev`` and ``held-out`` if it has them.

    Raises:
        UsageError: the folder, or its documents, are missing; or data files have errors: the message lists all of them.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", hint=_WHAT)
    documents = corpus_of(folder, corpus)
    faults, raw = Faults(), _Rows()
    for place, given in ((folder, {}), *((folder / half, {"half": half}) for half in HALVES)):
        _read(place, given, raw, faults)
    _check(raw, documents, faults)
    faults.raise_if_any()
    entries = tuple(_entries(raw))
    if not entries:
        raise UsageError(f"{folder} holds no question", hint="it needs topics.jsonl, unanswerable.jsonl or pairs.yaml")
    subjects = tuple(entry.subject for entry in entries if entry.subject)
    return Dataset(folder, documents, entries, subjects, tuple(placed.row for placed in raw.follow_ups))


def corpus_of(folder: Path, named: Path | None) -> Path:
    """Return the folder of documents: the one that is named, else ``corpus`` or ``documents`` in ``folder``.

    Raises:
        UsageError: there is none.
    """
    for place in (named,) if named else (folder / "corpus", folder / "documents"):
        if place and place.is_dir():
            return place.resolve()
    missing = str(named) if named else f"{folder / 'corpus'} or {folder / 'documents'}"
    raise UsageError(f"there is no folder {missing}", hint="put the documents there, or name their folder with --corpus")


def _read(folder: Path, given: Mapping[str, Any], raw: _Rows, faults: Faults) -> None:
    half = dict(given)
    if (path := folder / "topics.jsonl").is_file():
        raw.topics += json_rows(path, Topic, half, faults)
    if (path := folder / "answers.jsonl").is_file():
        raw.answers += json_rows(path, Answer, {}, faults)
    if (path := folder / "nuggets.jsonl").is_file():
        raw.nuggets += json_rows(path, Nugget, {}, faults)
    if (path := folder / "unanswerable.jsonl").is_file():
        raw.unanswerable += json_rows(path, Unanswerable, half, faults)
    if (path := folder / "followups.jsonl").is_file():
        raw.follow_ups += json_rows(path, FollowUp, half, faults)
    if (path := folder / "pairs.yaml").is_file():
        raw.subjects += yaml_rows(path, "subjects", Subject, half, faults)
    if (path := folder / "qrels.txt").is_file():
        raw.qrels += trec_rows(path, faults)


def _check(raw: _Rows, documents: Path, faults: Faults) -> None:
    """Report inconsistencies: ids used twice or without a topic, and documents that do not exist."""
    seen: dict[str, str] = {}
    for placed in (*raw.topics, *raw.unanswerable, *raw.subjects):
        first = seen.setdefault(placed.row.id, placed.place)
        if first != placed.place:
            faults.add(placed.place, f"the id {placed.row.id} is used before, at {first}")
    topics = {placed.row.id for placed in raw.topics}
    for placed in raw.follow_ups:
        if placed.row.about not in topics:
            faults.add(placed.place, f"there is no topic with the id {placed.row.about}")
    for placed in (*raw.answers, *raw.nuggets):
        if placed.row.id not in topics:
            faults.add(placed.place, f"there is no topic with the id {placed.row.id}")
        if placed.row.doc and not _inside(documents, placed.row.doc):
            faults.add(placed.place, f"there is no document {placed.row.doc}")
    for place, _topic, doc, relevance in raw.qrels:
        if relevance > 0 and not _inside(documents, doc):
            faults.add(place, f"there is no document {doc}")
    stems = {path.stem for path in documents.rglob("*") if path.is_file()} if raw.subjects else set()
    for placed in raw.subjects:
        for name in _unknown_documents(placed.row, stems):
            faults.add(placed.place, f"there is no document {name}")


def _inside(documents: Path, name: str) -> bool:
    path = documents / name
    try:
        return path.is_file() and path.resolve().is_relative_to(documents)
    except (OSError, ValueError):  # a name that no file can have
        return False


def _unknown_documents(subject: Subject, stems: set[str]) -> list[str]:
    sides = [side for pair in subject.pairs for side in (pair.a, pair.b)]
    return sorted({side.document for side in sides if side.document not in stems and Path(side.document).stem not in stems})


def _entries(raw: _Rows) -> Iterable[Entry]:
    answers, nuggets, docs = _by_topic(raw.answers), _by_topic(raw.nuggets), _documents(raw)
    for topic in (placed.row for placed in raw.topics):
        yield Entry(
            topic.id,
            topic.query,
            topic.half,
            answers=tuple(answers.get(topic.id, ())),
            nuggets=tuple(nuggets.get(topic.id, ())),
            docs=tuple(docs.get(topic.id, ())),
        )
    for row in (placed.row for placed in raw.unanswerable):
        yield Entry(row.id, row.query, row.half, unanswerable=row)
    for row in (placed.row for placed in raw.subjects):
        yield Entry(row.id, row.query, row.half, subject=row)


def _by_topic(rows: Iterable[LocatedRow]) -> Mapping[str, list[Any]]:
    grouped: dict[str, list[Any]] = defaultdict(list)
    for placed in rows:
        grouped[placed.row.id].append(placed.row)
    return MappingProxyType(grouped)


def _documents(raw: _Rows) -> Mapping[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for placed in (*raw.answers, *raw.nuggets):
        if placed.row.doc:
            found[placed.row.id][placed.row.doc] = None
    for _place, topic, doc, relevance in raw.qrels:
        if relevance > 0:
            found[topic][doc] = None
    return found
