"""One section's text: its facts as sentences, ordered to read as prose, those that bear each other out cited together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from pipeline import terms
from pipeline.questions import SectionQuestion, SectionText
from pipeline.reasoners.extractive import cues, phrases
from pipeline.reasoners.extractive.ranking import distinct, leans, merits
from pipeline.reasoners.extractive.summary import summarise
from pipeline.values import Fact, Paragraph, Sentence

SUMMARY = "summary"
_LONGEST_PARAGRAPH = 4  # sentences
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


def write(question: SectionQuestion) -> SectionText:
    """Return the section's paragraphs within its words; for a revision, the draft without its unsupported sentences."""
    if question.draft:
        return SectionText(paragraphs=_revised(question))
    merit = merits(question.query, question.facts, question.validated, question.hits)
    support = _support(question)
    if question.section.id == SUMMARY:
        chosen = summarise(question.query, question.facts, question.validated, question.words, question.hits)
        return SectionText(paragraphs=_paragraphs([chosen], support)) if chosen else SectionText(paragraphs=())
    chosen = _fitting(_own(question, merit), question.words, support)
    return SectionText(paragraphs=_paragraphs(_grouped(chosen, merit, question.section.title), support))


def _revised(question: SectionQuestion) -> tuple[Paragraph, ...]:
    bad = {verdict.sentence for verdict in question.unsupported if not verdict.supported}
    kept: list[Paragraph] = []
    place = 0
    for paragraph in question.draft:
        count = len(paragraph.sentences)
        sentences = tuple(text for offset, text in enumerate(paragraph.sentences) if place + offset not in bad)
        place += count
        if sentences:
            kept.append(Paragraph(sentences=sentences))
    return tuple(kept)


def _support(question: SectionQuestion) -> Mapping[str, tuple[str, ...]]:
    known = {fact.id for fact in question.facts}
    return {entry.fact_id: tuple(name for name in entry.support if name in known) for entry in question.validated}


def _own(question: SectionQuestion, merit: Mapping[str, float]) -> list[Fact]:
    """Return the section's facts in the outline's order, which is that of their worth to the report."""
    known = {fact.id: fact for fact in question.facts}
    planned = [known[name] for name in question.section.facts if name in known]
    return planned or sorted(question.facts, key=lambda fact: (-merit[fact.id], fact.id))


def _fitting(ranked: Sequence[Fact], words: int, support: Mapping[str, tuple[str, ...]]) -> list[Fact]:
    """Return the strongest facts that fit, without those that repeat or bear out one already taken."""
    taken: list[Fact] = []
    spoken: set[str] = set()
    left = words
    for fact in distinct(ranked):
        length = len(fact.claim.split())
        if length <= left and fact.id not in spoken:
            taken.append(fact)
            spoken.update(support.get(fact.id, ()))
            left -= length
    return taken


def _grouped(facts: Sequence[Fact], merit: Mapping[str, float], title: str) -> list[list[Fact]]:
    """Return the facts by the place they come from; the groups and their facts from what stands under the section's own title
    and from the general to the special.
    """

    def place(fact: Fact) -> tuple[bool, float]:
        return phrases.heading(fact.heading) != title, -_generality(fact, merit)

    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        groups.setdefault((fact.url, fact.heading), []).append(fact)
    ordered = sorted(groups.values(), key=lambda group: (min(map(place, group)), group[0].id))
    return [_told(group, place) for group in _joined(ordered)]


def _told(group: list[Fact], place: Callable[[Fact], tuple[bool, float]]) -> list[Fact]:
    years = {fact.id: _YEAR.search(fact.claim) for fact in group}
    if len(group) > 2 and all(years.values()):
        return sorted(group, key=lambda fact: (_year(fact), fact.id))
    return sorted(group, key=lambda fact: (place(fact), fact.id))


def _year(fact: Fact) -> str:
    found = _YEAR.search(fact.claim)
    return found[0] if found else ""


def _generality(fact: Fact, merit: Mapping[str, float]) -> float:
    return merit[fact.id] + 0.25 * cues.defines(fact.claim) - 0.15 * cues.doubts(fact.claim) - 0.2 * leans(fact.claim)


def _joined(groups: Sequence[list[Fact]]) -> list[list[Fact]]:
    """Return the groups with the single facts that lie side by side, or belong to one page, brought together."""
    by_page: dict[str, list[Fact]] = {}
    result: list[list[Fact]] = []
    for group in groups:
        home = by_page.get(group[0].url)
        if home is not None and len(home) + len(group) <= _LONGEST_PARAGRAPH:
            home.extend(group)
        elif len(group) == 1 and result and len(result[-1]) == 1 and _akin(result[-1][0], group[0]):
            result[-1].extend(group)
        else:
            result.append(list(group))
            by_page[group[0].url] = result[-1]
    return _without_orphans(result)


def _akin(a: Fact, b: Fact) -> bool:
    return terms.alike(terms.term_set(a.claim), terms.term_set(b.claim)) >= 0.08


def _without_orphans(groups: Sequence[list[Fact]]) -> list[list[Fact]]:
    kept: list[list[Fact]] = []
    for group in groups:
        if kept and len(group) == 1 and len(kept[-1]) < _LONGEST_PARAGRAPH:
            kept[-1].extend(group)
        else:
            kept.append(group)
    return kept


def _paragraphs(groups: Iterable[Sequence[Fact]], support: Mapping[str, tuple[str, ...]]) -> tuple[Paragraph, ...]:
    found: list[Paragraph] = []
    for group in groups:
        for part in _parts(group):
            sentences = tuple(Sentence(text=fact.claim, facts=(fact.id, *support.get(fact.id, ()))) for fact in part)
            found.append(Paragraph(sentences=sentences))
    return tuple(found)


def _parts(group: Sequence[Fact]) -> list[Sequence[Fact]]:
    """Cut a long group into paragraphs of two to four sentences."""
    count = -(-len(group) // _LONGEST_PARAGRAPH)
    size = -(-len(group) // count) if count else 1
    return [group[start : start + size] for start in range(0, len(group), size)]
