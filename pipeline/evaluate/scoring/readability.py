"""Readability counts of a report: sentences away from their neighbours, unclear openers, scraps, text off its section's title."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pipeline.domain.state import SessionState
from pipeline.domain.values import Fact
from pipeline.evaluate.scoring.report_text import CitedText, Part, parts_of
from pipeline.evaluate.scoring.stored_pages import StoredPages, bare_words
from pipeline.text.page_format import blocks
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.sentences import points_back

FEWEST_WORDS = 5
_END = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["')\]]))\s+(?=["'(\[]?[A-Z0-9])""")
_CAPTION = re.compile(r"(figure|fig\.|table|listing|example) ?[A-Z]?\d+([.-]\d+)*([.:)](?!\d)|\Z)", re.IGNORECASE)
# REQ-1, SYS-NAV-12, ABC-001; not RAID-5 or UTF-16, which are things that sentences are about.
_REQUIREMENT = re.compile(r"\(?((REQ|FR|NFR|SRS|HLR|LLR|RQ)-\d+|[A-Z]{2,6}-[A-Z]{2,6}-\d+|[A-Z]{2,6}-\d{3,6})(\.\d+)*\)?[:.\s]")
_ENTITY = re.compile(r"&(#\d{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z]{2,12});")
_URL = re.compile(r"https?://\S+|www\.\S+")
_HEADING_END = re.compile(r"\{#[^{}\s]+\}\Z")
_LINKS = re.compile(r"(see also|related|contents|navigation|previous|next|up|home)\s*[:|»]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LocatedSentence:
    """A source sentence in the report, with the start and end of its words in a cited page (-1 if it is in none).

    ``opens``: it is the first text under its heading, which the report shows too. ``first``: it is the first sentence of a
    citation.
    """

    text: str
    digest: str = ""
    start: int = -1
    end: int = -1
    opens: bool = False
    first: bool = True

    def follows(self, other: LocatedSentence | None) -> bool:
        """Return whether it comes directly after ``other`` in the same page."""
        return other is not None and self.start >= 0 and self.digest == other.digest and self.start == other.end


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of one report.

    ``pairs`` are neighbouring sentences that are both found in stored pages; ``neighbours`` of them are neighbours there too.
    ``openers`` are first sentences of paragraphs and of quoted passages; ``leaning`` of them need a sentence that is not shown.
    ``scraps`` are counted among ``sentences``; ``off_title`` of the ``body`` share no content word with their section's title.
    """

    sentences: int = 0
    pairs: int = 0
    neighbours: int = 0
    openers: int = 0
    leaning: int = 0
    scraps: int = 0
    body: int = 0
    off_title: int = 0
    examples: tuple[str, ...] = ()


def count(state: SessionState, pages: StoredPages) -> Counts:
    """Return the counts of the finished report; all are zero without one."""
    parts = parts_of(state.report)
    placed = [[list(_located(paragraph, state, pages)) for paragraph in part.paragraphs] for part in parts]
    paragraphs = [paragraph for part in placed for paragraph in part if paragraph]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    pairs = [pair for paragraph in paragraphs for pair in pairwise(paragraph) if _both_stand(pair)]
    openers = list(_openers(paragraphs))
    leaning = [sentence.text for sentence in openers if points_back(sentence.text)]
    stated = [one for part in parts for paragraph in part.paragraphs for one in paragraph]
    running = [sentence for sentence in sentences if not _is_item(sentence.text, stated)]  # a list's item may be short
    scraps = [f"scrap, {kind}: {one.text}" for one in running if (kind := scrap(one.text, alone=_is_alone(one.text, stated)))]
    off = list(_off_title(parts))
    body = sum(len(paragraph) for part in parts[1:] for paragraph in part.paragraphs)
    return Counts(
        len(sentences),
        len(pairs),
        sum(second.follows(first) for first, second in pairs),
        len(openers),
        len(leaning),
        len(scraps),
        body,
        len(off),
        (
            *(f"leans: {text}" for text in leaning),
            *scraps,
            *(f"off title: {text}" for text in off),
        ),
    )


def _both_stand(pair: tuple[LocatedSentence, LocatedSentence]) -> bool:
    return pair[0].start >= 0 and pair[1].start >= 0


def _located(paragraph: Iterable[CitedText], state: SessionState, pages: StoredPages) -> Iterator[LocatedSentence]:
    """Yield the source sentences of a paragraph with their positions in pages."""
    before: LocatedSentence | None = None
    for stated in paragraph:
        facts = [state.facts[name] for name in stated.facts if name in state.facts]
        opens = bool(facts) and _opens(facts[0], pages)
        for place, text in enumerate(source_sentences(stated.text)):
            before = replace(_locate(text, facts, pages, before), opens=opens and place == 0, first=place == 0)
            yield before


def _opens(fact: Fact, pages: StoredPages) -> bool:
    """Return whether a fact's quote comes directly after a heading of its page."""
    return fact.start >= 0 and _HEADING_END.search(pages.get(fact.digest).text[: fact.start].rstrip()[-200:]) is not None


def _locate(text: str, facts: Sequence[Fact], pages: StoredPages, before: LocatedSentence | None) -> LocatedSentence:
    words = bare_words(text)
    if not words.strip():
        return LocatedSentence(text)
    for digest in dict.fromkeys(fact.digest for fact in facts):
        page = pages.get(digest).words
        # A sentence may occur twice in a page: the occurrence after the previous sentence is preferred.
        if before and before.digest == digest and page.startswith(words, before.end - 1):
            return LocatedSentence(text, digest, before.end, before.end + len(words) - 1)
        if (at := page.find(words)) >= 0:
            return LocatedSentence(text, digest, at + 1, at + len(words))
    return LocatedSentence(text)


def source_sentences(text: str) -> list[str]:
    """Return the sentences of a cited text; from a whole passage, those of its running text and items, not of tables and code."""
    texts = (block.text for block in blocks(text) if block.kind in ("paragraph", "item", "heading"))
    return [piece.strip() for part in texts for piece in _END.split(part) if piece.strip()]


def _is_item(text: str, stated: Iterable[CitedText]) -> bool:
    return any(f"- {text}" in one.text for one in stated)


def _openers(paragraphs: Iterable[list[LocatedSentence]]) -> Iterator[LocatedSentence]:
    """Yield the sentences shown without the one before them: the first of each paragraph, and of each passage within one."""
    last: LocatedSentence | None = None
    for paragraph in paragraphs:
        for place, sentence in enumerate(paragraph):
            begins = place == 0 or (sentence.first and sentence.start >= 0)
            if begins and not sentence.opens and not sentence.follows(last):
                yield sentence
            last = sentence


def _is_alone(text: str, stated: Iterable[CitedText]) -> bool:
    """Return whether a sentence is a whole cited text; within a passage, a short sentence is no fragment."""
    return any(one.text.strip() == text for one in stated)


def scrap(text: str, *, alone: bool = True) -> str:
    """Return the kind of scrap of a sentence, or "": caption, requirement id, link list, raw entity, fragment under 5 words."""
    plain = text.strip("*_`-• ")
    without = _URL.sub("", plain)
    links = len(_URL.findall(plain)) > 2 or plain.count(" | ") > 2 or plain.count("»") > 1 or _LINKS.match(plain)
    kinds = (
        ("caption", _CAPTION.match(plain)),
        ("requirement id", _REQUIREMENT.match(plain)),
        ("link list", links),
        ("raw entity", _ENTITY.search(plain)),
        ("fragment", alone and len(without.split()) < FEWEST_WORDS),
    )
    return next((kind for kind, is_so in kinds if is_so), "")


def _off_title(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the sentences or passages of the body that share no content stem with their section's title."""
    for part in parts[1:]:
        wanted = content_stems(part.title)
        for paragraph in part.paragraphs:
            yield from (stated.text for stated in paragraph if wanted and not wanted & content_stems(stated.text))
