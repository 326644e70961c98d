"""The one place that reads a report's text: everything that scores or writes reports takes it from here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipeline.domain.state import Report
from pipeline.domain.values import Fact


@dataclass(frozen=True, slots=True)
class Stated:
    """A sentence of a report, or a whole quoted passage, and the ids of the facts it rests on."""

    text: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The summary (without title) or a section: paragraphs of sentences."""

    title: str
    paragraphs: tuple[tuple[Stated, ...], ...]


def parts_of(report: Report | None) -> tuple[Part, ...]:
    """Return the summary, then the sections; nothing without a report."""
    if report is None:
        return ()
    summary = Part("", (tuple(Stated(sentence.text, sentence.facts) for sentence in report.summary),))
    return (summary, *(Part(section.title, tuple(map(_paragraph, section.paragraphs))) for section in report.sections))


def _paragraph(paragraph: object) -> tuple[Stated, ...]:
    return tuple(Stated(sentence.text, sentence.facts) for sentence in getattr(paragraph, "sentences", ()))


def output_of(report: Report | None, facts: Mapping[str, Fact]) -> str:
    """Return what a reader reads from the top, a paragraph a line: summary and sections, without titles and references.

    A quoted passage is shown with the line that introduces it and the headings that it stands under.
    """
    paragraphs = (paragraph for part in parts_of(report) for paragraph in part.paragraphs)
    return "\n".join(" ".join(_shown(stated, facts) for stated in paragraph) for paragraph in paragraphs if paragraph)


def _shown(stated: Stated, facts: Mapping[str, Fact]) -> str:
    fact = facts.get(stated.facts[0]) if stated.facts else None
    if fact is None or fact.quote != stated.text:
        return stated.text
    return f"{fact.lead} {stated.text} ({' / '.join(fact.path)})"


def stated_in(report: Report | None) -> Iterator[Stated]:
    """Yield all sentences in order."""
    for part in parts_of(report):
        for paragraph in part.paragraphs:
            yield from paragraph


def notices_of(report: Report | None) -> str:
    """Return what the report says it had to do without."""
    return "\n".join(report.limits) if report else ""
