"""Answers to outline and section questions: sections by the question's parts or by role, made of whole passages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipeline.adapters.reasoners.extractive.question_subject import title_subject
from pipeline.adapters.reasoners.extractive.report_passages import ChosenPassages, choose_passages
from pipeline.domain.reasoner_questions import (
    Edit,
    Editing,
    EditingQuestion,
    Outline,
    OutlineQuestion,
    Revision,
    RevisionQuestion,
    SectionQuestion,
    SectionText,
)
from pipeline.domain.values import Fact, Paragraph, SectionPlan, Sentence
from pipeline.text.normalise import one_line, slug
from pipeline.text.ranking.passages import without_open_end
from pipeline.text.ranking.query_terms import ParsedQuestion, content_stems, parse_question

SUMMARY = "summary"
_SUMMARY_WORDS = 150
_LEAST_PASSAGES = 2  # a smaller section is merged into the first
_NEAR_WORDS = 350  # words of the first section of a narrow report
_LONGEST_HEADING = 80  # characters of a page's heading that becomes a section's
_ENTRY = re.compile(r"\w\([^)]*\)(?!:)|(?<![\w-])--?\w|\w_\w|\[\w+\]|=|\A[\w.]+\.\w+\Z")
_WORKING = "how it works"
# For each role of a passage: a pattern, and how often it must match.
_ROLES: Mapping[str, tuple[re.Pattern[str], int]] = {
    "what to do": (
        re.compile(
            r"```|\b(?:should|must|use|run|set|install|enable|add|create|make sure|recommended|first|then)\b|(?<![\w-])--[a-z]",
            re.I,
        ),
        4,
    ),
    "limits and failures": (
        re.compile(
            r"\b(?:not|cannot|never|no|fails?|failed|failure|lost|lose|loss|risks?|warning|errors?|however|unless|except|only|limits?|problems?"
            r"|avoid|drawbacks?|careful|wrong|unsafe|insecure|deprecated|without)\b|n't\b",
            re.I,
        ),
        4,
    ),
}


def outline(question: OutlineQuestion) -> Outline:
    """Return title and sections, in the order of the question's parts."""
    picked = choose_passages(question.query, question.facts, question.statistics, _SUMMARY_WORDS, question.words)
    query = parse_question(question.query, question.statistics.language)
    sections = _sections_by_part(picked, query) if picked.part else _sections_by_role(picked, query)
    sections = _with_own_headings(sections, query.language)
    plans = (SectionPlan(id=_section_id(title), title=title, facts=tuple(fact.id for fact in facts)) for title, facts in sections)
    return Outline(title=title_of(question.query), sections=tuple(plans))


def title_of(query: str) -> str:
    """Return the query as a title: on one line, with a capital first letter unless it begins with an identifier."""
    plain = " ".join(query.split())
    first = plain.split(" ", 1)[0]
    return plain[:1].upper() + plain[1:] if first.isalpha() and first.islower() else plain


def _with_own_headings(sections: Sequence[tuple[str, list[Fact]]], language: str) -> list[tuple[str, list[Fact]]]:
    """Return the sections without the passages that have no word of their title; these follow under headings of their pages."""
    found: dict[str, tuple[str, list[Fact]]] = {_section_id(title): (title, []) for title, _ in sections}
    for title, facts in sections:
        for fact in facts:
            heading = title if _shares_word(fact, title, language) else _own_heading(fact, language) or title
            found.setdefault(_section_id(heading), (heading, []))[1].append(fact)
    return [(title, facts) for title, facts in found.values() if facts]


def _own_heading(fact: Fact, language: str) -> str:
    """Return the first of the page's title and the headings above a passage that has a word in common with it, or "".

    A function or an option is the heading of an entry, and of no section of a report; nor is a word in capitals.
    """
    names = (name for name in fact.path if not _ENTRY.search(name) and not name.isupper())
    return next((one_line(name, _LONGEST_HEADING) for name in names if _shares_word(fact, name, language)), "")


def _section_id(title: str) -> str:
    return f"s-{slug(title, 40)}"


def _shares_word(fact: Fact, title: str, language: str) -> bool:
    return not content_stems(title, language).isdisjoint(content_stems(fact.quote, language))


def _sections_by_part(picked: ChosenPassages, query: ParsedQuestion) -> list[tuple[str, list[Fact]]]:
    """Return a section for each part of the question, titled with its own words."""
    found: dict[int, list[Fact]] = {}
    for fact in picked.body:
        found.setdefault(picked.part[fact.id], []).append(fact)
    return [(_heading(query.clauses[number]), found[number]) for number in sorted(found)]


def _heading(clause: str) -> str:
    plain = clause.partition(" (")[0].strip(" ?.,")
    return plain[:1].upper() + plain[1:]


def _sections_by_role(picked: ChosenPassages, query: ParsedQuestion) -> list[tuple[str, list[Fact]]]:
    """Return the sections of a broad question by role: how it works, what to do, limits; those of a narrow one by rank."""
    subject = title_subject(query, [" / ".join(fact.path) for fact in picked.body])
    name = subject[:1].upper() + subject[1:]
    if not query.broad:
        return _narrow_sections(subject, picked.body)
    found: dict[str, list[Fact]] = {role: [] for role in (_WORKING, *_ROLES)}
    for fact in picked.body:
        found[_role(fact)].append(fact)
    small = [fact for role in _ROLES if len(found[role]) < _LEAST_PASSAGES for fact in found[role]]
    found[_WORKING] += small
    kept = {role: [fact for fact in facts if fact not in small or role == _WORKING] for role, facts in found.items()}
    return [(f"{name} – {role}", facts) for role, facts in kept.items() if facts]


def _narrow_sections(subject: str, facts: Sequence[Fact]) -> list[tuple[str, list[Fact]]]:
    """Return the passages of a narrow report in two sections: the first 350 words or so, and the rest."""
    near: list[Fact] = []
    words = 0
    for fact in facts:
        words += len(fact.quote.split())
        if near and words > _NEAR_WORDS:
            break
        near.append(fact)
    rest = list(facts[len(near) :])
    return [(f"More on {subject}", near), *([(f"Further passages on {subject}", rest)] if rest else [])]


def _role(fact: Fact) -> str:
    """Return the role of a passage by the words that it uses."""
    hits = {role: len(pattern.findall(fact.quote)) / most for role, (pattern, most) in _ROLES.items()}
    best = max(hits, key=lambda role: hits[role])
    return best if hits[best] >= 1 else _WORKING


def write(question: SectionQuestion) -> SectionText:
    """Return the section's passages as paragraphs."""
    known = {fact.id: fact for fact in question.facts}
    if question.section.id == SUMMARY:
        facts: Sequence[Fact] = choose_passages(
            question.query, question.facts, question.statistics, question.words, question.words
        ).summary
    else:
        facts = [known[name] for name in question.section.facts if name in known]
    support = {entry.fact_id: entry.support for entry in question.validated}
    return SectionText(
        paragraphs=tuple(_passage_paragraph(fact, [name for name in support.get(fact.id, ()) if name in known]) for fact in facts)
    )


def _passage_paragraph(fact: Fact, support: Sequence[str]) -> Paragraph:
    return Paragraph(
        sentences=(Sentence(text=without_open_end(fact.quote) or fact.quote, facts=(fact.id, *support)),), kind="passages"
    )


def revise(question: RevisionQuestion) -> Revision:
    """Return that all unsupported sentences are dropped."""
    return Revision(edits=tuple(Edit(place=place, drop=True) for place in range(len(question.sentences))))


def edit(_question: EditingQuestion) -> Editing:
    """Return that nothing is to be changed."""
    return Editing()
