"""Holds the question sets against the documentation: ``python -m bench.quality.verify [--docs DIR] [--loose]``.

Each supporting sentence must stand in its page and hold an expected answer; each facet must be found in its page, and
each of its alternatives somewhere. ``--loose`` also prints how many pages each expected answer and facet matches by
itself: an answer that stands everywhere proves nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.quality.documentation import DEFAULT_DOCS, INSTALL_HINT, pages, text_of
from bench.quality.matching import found, found_in_normalised, pattern_of
from bench.quality.sets import Broad, Facet, Narrow, broad_questions, narrow_questions
from pipeline.text import holds_quote

Texts = Mapping[str, str]


def faults_of_narrow(question: Narrow, texts: Texts) -> Iterator[str]:
    """Yield what is wrong with a narrow question."""
    if question.page not in texts:
        yield f"{question.id}: no page {question.page}"
    elif not holds_quote(texts[question.page], question.support):
        yield f"{question.id}: the supporting sentence does not stand in {question.page}"
    if not found(question.support, question.expected):
        yield f"{question.id}: the supporting sentence does not hold an expected answer"
    if found(question.question, question.expected):
        yield f"{question.id}: the question gives its answer away"


def faults_of_broad(question: Broad, texts: Texts) -> Iterator[str]:
    """Yield what is wrong with a broad question."""
    for facet in question.facets:
        if not found_in_normalised(texts.get(facet.page, ""), facet.any):
            yield f"{question.id}: '{facet.name}' is not found in {facet.page}"
        for alternative in _nowhere(facet, texts):
            yield f"{question.id}: '{facet.name}': {alternative!r} is found nowhere"


def _nowhere(facet: Facet, texts: Texts) -> Iterator[str]:
    for alternative in facet.any:
        pattern = pattern_of(alternative)
        if not any(pattern.search(text) for text in texts.values()):
            yield alternative


def _loose(texts: Texts) -> Iterator[str]:
    for question in narrow_questions():
        number = sum(bool(found_in_normalised(text, question.expected)) for text in texts.values())
        yield f"{number:4} of {len(texts)} pages  {question.id}"
    for broad in broad_questions():
        for facet in broad.facets:
            number = sum(bool(found_in_normalised(text, facet.any)) for text in texts.values())
            yield f"{number:4} of {len(texts)} pages  {broad.id}: {facet.name}"


def main() -> None:
    """Print the faults, and exit 1 if there are any."""
    parser = argparse.ArgumentParser(description="check the question sets against the documentation")
    parser.add_argument("--docs", type=Path, default=DEFAULT_DOCS)
    parser.add_argument("--loose", action="store_true", help="also print how many pages each expectation matches")
    options = parser.parse_args()
    texts = {page.as_posix(): text_of(options.docs / page) for page in pages(options.docs)}
    if not texts:
        sys.exit(f"no HTML pages in {options.docs}: {INSTALL_HINT}")
    if options.loose:
        print("\n".join(_loose(texts)))
    faults = [fault for question in narrow_questions() for fault in faults_of_narrow(question, texts)]
    faults += [fault for broad in broad_questions() for fault in faults_of_broad(broad, texts)]
    print("\n".join(faults) or f"sound: every expectation stands in one of {len(texts)} pages")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
