"""Check of the expected answers against the documents, as an answer that no document holds measures nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from pipeline.evaluate.bm25_baseline import plain_text
from pipeline.evaluate.question_set.question_set import Dataset, Entry
from pipeline.evaluate.question_set.rows import Answer, Nugget, Side
from pipeline.evaluate.scoring.answer_matching import match_in
from pipeline.evaluate.scoring.stored_pages import bare_words
from pipeline.text.normalise import normalised

Texts = Mapping[str, str]
_AROUND = 60  # words; an answer may be next to its supporting text


def check(dataset: Dataset, texts: Texts) -> Iterator[str]:
    """Yield errors with the question's id, never its text. ``texts`` are the documents by path, in the page format."""
    plain = {path: plain_text(text) for path, text in texts.items()}
    for entry in dataset.entries:
        for number, answer in enumerate(entry.answers, start=1):
            yield from (f"{entry.id}: answer {number}: {fault}" for fault in _of_answer(answer, entry, plain))
        for number, nugget in enumerate(entry.nuggets, start=1):
            yield from (f"{entry.id}: nugget {number}: {fault}" for fault in _of_nugget(nugget, plain))
        yield from (f"{entry.id}: {fault}" for fault in _of_subject(entry, plain))


def _of_answer(answer: Answer, entry: Entry, texts: Texts) -> Iterator[str]:
    if match_in(normalised(entry.query), answer.aliases):
        yield "the question gives its answer away"
    if answer.doc and answer.doc not in texts:
        yield f"{answer.doc} cannot be read"
    elif answer.doc and answer.support:
        around = _around(texts[answer.doc], answer.support)
        if not around:
            yield f"its support is not in {answer.doc}"
        elif not match_in(f"{normalised(answer.support)}\n{around}", answer.aliases):
            yield f"no alias matches in or around its support in {answer.doc}"


def _around(text: str, support: str) -> str:
    """Return the lower-cased words from 60 before to 60 after a support, without punctuation; "" if it is not found."""
    words, wanted = bare_words(text), bare_words(support)
    at = words.find(wanted) if wanted.strip() else -1
    if at < 0:
        return ""
    before, after = words[:at].split(), words[at + len(wanted) :].split()
    return " ".join([*before[-_AROUND:], *wanted.split(), *after[:_AROUND]])


def _of_nugget(nugget: Nugget, texts: Texts) -> Iterator[str]:
    if nugget.doc and nugget.doc not in texts:
        yield f"{nugget.doc} cannot be read"
    elif nugget.doc and not match_in(texts[nugget.doc], nugget.any):
        yield f"none of its names is found in {nugget.doc}"


def _of_subject(entry: Entry, texts: Texts) -> Iterator[str]:
    if entry.subject is None:
        return
    for pair in entry.subject.pairs:
        if pair.a.document == pair.b.document:
            yield f"both sides of a pair are from {pair.a.document}"
        yield from (f"a sentence is not in {side.document}" for side in (pair.a, pair.b) if not _is_in(side, texts))


def _is_in(side: Side, texts: Texts) -> bool:
    stem = PurePosixPath(side.document).stem
    pages = (text for path, text in texts.items() if PurePosixPath(path).stem in (side.document, stem))
    return any(bare_words(side.sentence) in bare_words(text) for text in pages)
