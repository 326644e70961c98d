"""A report's text as parts, paragraphs and cited sentences, for scoring and export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipeline.domain.state import Report
from pipeline.domain.values import Fact


@dataclass(frozen=True, slots=True)
class CitedText:
    """A sentence or a whole quoted passage of a report, and the ids of the facts that it cites."""

    text: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The summary (without title) or a section: paragraphs of sentences."""

    title: str
    paragraphs: tuple[tuple[CitedText, ...], ...]


def parts_of(report: Report | None) -> tuple[Part, ...]:
    """Return the summary, then the sections; empty without a report."""
    if report is None:
        return ()
    summary = Part("", (tuple(CitedText(sentence.text, sentence.facts) for sentence in report.summary),))
    return (summary, *(Part(section.title, tuple(map(_paragraph, section.paragraphs))) for section in report.sections))


def _paragraph(paragraph: object) -> tuple[CitedText, ...]:
    return tuple(CitedText(sentence.text, sentence.facts) for sentence in getattr(paragraph, "sentences", ()))


def output_of(report: Report | None, facts: Mapping[str, Fact]) -> str:
    """Return the text of summary and sections, one paragraph a line, without titles and references.

    A quoted passage is returned with the line that introduces it and the headings above it.
    """
    paragraphs = (paragraph for part in parts_of(report) for paragraph in part.paragraphs)
    return "\n".join(" ".join(_shown(stated, facts) for stated in paragraph) for paragraph in paragraphs if paragraph)


def _shown(stated: CitedText, facts: Mapping[str, Fact]) -> str:
    fact = facts.get(stated.facts[0]) if stated.facts else None
    if fact is None or fact.quote != stated.text:
        return stated.text
    return f"{fact.lead} {stated.text} ({' / '.join(fact.path)})"


def cited_texts(report: Report | None) -> Iterator[CitedText]:
    """Yield all sentences in order."""
    for part in parts_of(report):
        for paragraph in part.paragraphs:
            yield from paragraph


def notices_of(report: Report | None) -> str:
    """Return the limits that the report states, one a line."""
    return "\n".join(report.limits) if report else ""
