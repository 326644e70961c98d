"""A folder of questions with known answers. ``bench/quality/README.md`` describes the files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from bench.evaluate.baseline import plain_text
from pipeline.documents.extract import extract
from pipeline.errors import ReadFailed, UsageError
from pipeline.text.cleaning import normalised

Half = Literal["dev", "held-out"]
HALVES: tuple[Half, ...] = ("dev", "held-out")
_DESCRIBED = "bench/quality/README.md describes the files"
_MOST_SHOWN = 100
_AROUND = 60  # words; an answer may be next to the text that supports it


@lru_cache(maxsize=4_096)
def pattern_of(alias: str) -> re.Pattern[str]:
    """Return the pattern of one alias.

    After ``re:`` comes a regular expression: the author of a question set may name variants of a value. Anything else is plain
    text that begins at the start of a word; the word may continue ("weak reference" matches "weak references"), a number may not.

    Raises:
        ValueError: the alias is empty, or its regular expression is faulty.
    """
    plain = normalised(alias)
    if not plain.removeprefix("re:").strip():
        raise ValueError("an alias is empty")
    try:
        if plain.startswith("re:"):
            return re.compile(alias.removeprefix("re:"), re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"an alias is no valid regular expression: {error.msg}") from error
    before, after = "(?<!\\w)" if plain[0].isalnum() else "", "(?!\\d)" if plain[-1].isdigit() else ""
    return re.compile(before + re.escape(plain) + after, re.IGNORECASE)


def match_in(text: str, aliases: Iterable[str]) -> str:
    """Return the first part of a normalised text that one of the aliases matches, or ""."""
    hits = (pattern_of(alias).search(text) for alias in aliases)
    return next((hit[0] for hit in hits if hit), "")


def _checked(alias: str) -> str:
    pattern_of(alias)
    return alias


Alias = Annotated[str, AfterValidator(_checked)]
Aliases = Annotated[tuple[Alias, ...], Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=500)]


class Row(BaseModel):
    """A row. Unknown fields are errors, because a misspelt ``half`` would publish a held-out question; ``note`` is free text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Name
    note: str = ""


class Topic(Row):
    """A question. Its answers are in the other files, under the same ``id``."""

    query: Name
    half: Half = "dev"


class Answer(Row):
    """The short answer to a narrow question. ``doc`` is the path of a document that holds ``support`` verbatim."""

    aliases: Aliases
    doc: str = ""
    support: str = ""
    kind: str = ""


class Nugget(Row):
    """One idea of a good report on the topic ``id``; ``any`` are its names, ``doc`` one place that holds it."""

    nugget: Name
    vital: bool = False
    any: Aliases
    doc: str = ""


class AnswerablePart(BaseModel):
    """The half of a question that the documents answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    aliases: Aliases


class Unanswerable(Topic):
    """A question that the documents do not answer, or only by half. ``missing`` are its words that the documents lack."""

    kind: Literal["off-topic", "near-topic", "half"]
    missing: tuple[Alias, ...] = ()
    answerable_part: AnswerablePart | None = None


class Judgement(Row):
    """One line of ``qrels.txt``."""

    doc: str
    relevance: int


R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class Question:
    """One question with all that is known about its answer. ``docs`` hold the answer or parts of it: paths in the folder."""

    id: str
    query: str
    half: Half
    answers: tuple[Answer, ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    unanswerable: Unanswerable | None = None
    docs: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of question; ``plain`` if no answer is known."""
        if self.unanswerable:
            return self.unanswerable.kind
        return "narrow" if self.answers else "broad" if self.nuggets else "plain"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions in the order of their files, and the folder of documents that should answer them."""

    corpus: Path
    questions: tuple[Question, ...]

    def chosen(self, only: Iterable[str], *, final: bool) -> QuestionSet:
        """Return the set with the questions ``only`` (empty: all), without held-out ones unless ``final``.

        Raises:
            UsageError: there is no question with one of the ids, or none is left.
        """
        wanted = set(only)
        allowed = [question for question in self.questions if final or question.half == "dev"]
        unknown = sorted(wanted - {question.id for question in allowed})
        questions = tuple(question for question in allowed if not wanted or question.id in wanted)
        if unknown or not questions:
            what = f"no question with the id {', '.join(unknown)}" if unknown else "no question to ask"
            raise UsageError(what, hint="held-out questions are asked only with --final")
        return replace(self, questions=questions)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield path and text, in the page format, of every document; what cannot be read is passed over."""
        for path in sorted(self.corpus.rglob("*")):
            name = path.relative_to(self.corpus)
            if path.is_file() and not any(part.startswith(".") for part in name.parts):
                try:
                    yield name.as_posix(), extract(path.read_bytes(), path=str(name)).text
                except (ReadFailed, OSError):
                    continue

    def digests(self) -> dict[str, str]:
        """Return the digest of every document's bytes by its path: of two equal documents, the program reads one."""
        files = (path for path in self.corpus.rglob("*") if path.is_file())
        return {path.relative_to(self.corpus).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def load(folder: Path, corpus: Path | None = None) -> QuestionSet:
    """Read the data files of ``folder``, and of its sub-folders ``dev`` and ``held-out`` if it has them.

    Raises:
        UsageError: folder or documents are missing; or the files have errors: the message lists all of them, and no question.
    """
    places = (corpus,) if corpus else (folder / "corpus", folder / "documents")
    documents = next((place.resolve() for place in places if place.is_dir()), None)
    if documents is None:
        missing = " or ".join(map(str, places))
        raise UsageError(f"there is no folder {missing}", hint="name the folder of the documents with --corpus")
    faults: list[str] = []
    asked: dict[str, Topic] = {}
    known: dict[str, list[Answer | Nugget | Judgement]] = {}
    for place, given in ((folder, {}), *((folder / half, {"half": half}) for half in HALVES)):
        for at, row in (
            *_rows(place, "topics", Topic, given, faults),
            *_rows(place, "unanswerable", Unanswerable, given, faults),
        ):
            if asked.setdefault(row.id, row) is not row:
                faults.append(f"{at}: the id {row.id} is used before")
        rows: list[tuple[str, Answer | Nugget | Judgement]] = [*_judgements(place / "qrels.txt", faults)]
        rows += _rows(place, "answers", Answer, {}, faults)
        rows += _rows(place, "nuggets", Nugget, {}, faults)
        for at, fact in rows:
            known.setdefault(fact.id, []).append(fact)
            if fact.doc and not (documents / fact.doc).is_file():
                faults.append(f"{at}: there is no document {fact.doc}")
    faults += [f"there is no topic with the id {name}" for name in known if type(asked.get(name)) is not Topic]
    if not faults and not asked:
        raise UsageError(f"{folder} holds no question", hint=_DESCRIBED)
    if faults:
        shown = [*faults[:_MOST_SHOWN], *([f"and {len(faults) - _MOST_SHOWN} more"] if len(faults) > _MOST_SHOWN else [])]
        raise UsageError("\n".join([f"errors in the data files: {len(faults)}", *shown]), hint=_DESCRIBED)
    return QuestionSet(documents, tuple(_question(topic, known.get(topic.id, [])) for topic in asked.values()))


def _question(topic: Topic, known: Iterable[Answer | Nugget | Judgement]) -> Question:
    known = list(known)
    return Question(
        topic.id,
        topic.query,
        topic.half,
        tuple(row for row in known if isinstance(row, Answer)),
        tuple(row for row in known if isinstance(row, Nugget)),
        topic if isinstance(topic, Unanswerable) else None,
        tuple(dict.fromkeys(row.doc for row in known if row.doc)),
    )


def _rows(folder: Path, name: str, model: type[R], given: Mapping[str, Any], faults: list[str]) -> Iterator[tuple[str, R]]:
    """Yield place and row of a file with one JSON object a line; an error never holds a row's text, which may be held out."""
    for at, line in _lines(folder / f"{name}.jsonl", faults):
        try:
            value = json.loads(line)
            yield at, model.model_validate({**given, **value} if isinstance(value, dict) else value)
        except ValidationError as error:
            faults += [
                f"{at}: {'.'.join(map(str, problem['loc'])) or 'the row'}: {problem['msg']}"
                for problem in error.errors(include_url=False, include_input=False)
            ]
        except (ValueError, RecursionError):
            faults.append(f"{at}: no JSON")


def _judgements(path: Path, faults: list[str]) -> Iterator[tuple[str, Judgement]]:
    """Yield the relevant documents of a TREC file: topic, 0, document, relevance."""
    for at, line in _lines(path, faults):
        columns = line.split()
        if len(columns) != 4 or not columns[3].lstrip("-").isdecimal():
            faults.append(f"{at}: not four columns: topic, 0, document, relevance (a whole number)")
        elif int(columns[3]) > 0:
            yield at, Judgement(id=columns[0], doc=columns[2], relevance=int(columns[3]))


def _lines(path: Path, faults: list[str]) -> Iterator[tuple[str, str]]:
    """Yield ``file:line`` and the text of each line that is not empty; nothing if there is no file."""
    name = f"{path.parent.name}/{path.name}" if path.parent.name in HALVES else path.name
    try:
        text = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
    except UnicodeDecodeError:
        faults.append(f"{name}: not UTF-8")
        return
    yield from ((f"{name}:{number}", line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def faults_of(chosen: QuestionSet) -> Iterator[str]:
    """Yield the errors in the expected answers, held against the documents, by the question's id and without its text."""
    plain = {path: plain_text(text) for path, text in chosen.texts()}
    for question in chosen.questions:
        if match_in(normalised(question.query), [alias for answer in question.answers for alias in answer.aliases]):
            yield f"{question.id}: the question gives its answer away"
        yield from (f"{question.id}: {doc} cannot be read" for doc in question.docs if doc not in plain)
        for number, answer in enumerate(question.answers, start=1):
            around = _around(plain.get(answer.doc, ""), answer.support)
            if answer.support and answer.doc in plain and not around:
                yield f"{question.id}: the support of answer {number} is not in {answer.doc}"
            elif around and not match_in(f"{normalised(answer.support)}\n{around}", answer.aliases):
                yield f"{question.id}: no alias of answer {number} matches in or around its support in {answer.doc}"
        for number, nugget in enumerate(question.nuggets, start=1):
            if nugget.doc in plain and not match_in(plain[nugget.doc], nugget.any):
                yield f"{question.id}: none of the names of nugget {number} is found in {nugget.doc}"


def _around(text: str, support: str) -> str:
    """Return the lower-cased words from 60 before to 60 after a support, without punctuation; "" if it is not found."""
    words, wanted = (re.findall(r"\w+", part.lower()) for part in (text, support))  # words as the baseline counts them
    joined, sought = f" {' '.join(words)} ", f" {' '.join(wanted)} "
    at = joined.find(sought) if wanted else -1
    if at < 0:
        return ""
    before, after = joined[:at].split(), joined[at + len(sought) :].split()
    return " ".join([*before[-_AROUND:], *wanted, *after[:_AROUND]])
