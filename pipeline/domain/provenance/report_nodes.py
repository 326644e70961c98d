"""The sentences of a session's report, or of its sections while it is written, those that were cut among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.domain.report_parts import kept_text
from pipeline.domain.state import SUMMARY, SessionState
from pipeline.domain.values import Paragraph, Sentence
from pipeline.text.normalise import digest_of

_SUMMARY_TITLE = "In short"


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence with its section and the ids of the facts that it cites. ``cut`` is why it was cut, or ""."""

    section: str
    title: str
    text: str
    facts: tuple[str, ...]
    cut: str = ""

    @property
    def id(self) -> str:
        """The id of its node: the same text in the same section is one sentence."""
        return f"sentence:{digest_of(f'{self.section}|{self.text}'.encode())[:12]}"


def sentences_of_report(state: SessionState) -> list[WrittenSentence]:
    """Return the sentences of the report, the summary first, then those that were cut; before the report, those written."""
    kept = list(_reported(state) if state.report else _drafted(state))
    known = {(one.section, one.text) for one in kept}
    return kept + [one for one in _cut(state) if (one.section, one.text) not in known]


def _reported(state: SessionState) -> Iterator[WrittenSentence]:
    report = state.report
    assert report is not None  # noqa: S101 - the caller looked
    yield from (_written(SUMMARY, _SUMMARY_TITLE, one) for one in report.summary)
    for section in report.sections:
        yield from (_written(section.id, section.title, one) for one in _all(section.paragraphs))


def _drafted(state: SessionState) -> Iterator[WrittenSentence]:
    for kept in kept_text(state)[0]:
        title = _SUMMARY_TITLE if kept.id == SUMMARY else kept.title
        yield from (_written(kept.id, title, one) for one in _all(kept.paragraphs))
    for name, section in state.sections.items():
        unsupported = {verdict.sentence for verdict in section.unsupported()}
        for place, one in enumerate(_all(section.paragraphs or ())):
            if place not in unsupported:
                yield _written(name, _SUMMARY_TITLE if name == SUMMARY else section.plan.title, one)


def _cut(state: SessionState) -> Iterator[WrittenSentence]:
    """Yield the sentences that are not in the report; in older logs those that the last check of a section found unsupported."""
    for cut in state.report.cut_sentences if state.report else kept_text(state)[1]:
        yield WrittenSentence(
            cut.section, _SUMMARY_TITLE if cut.section == SUMMARY else cut.title, cut.text, cut.facts, cut.reason
        )
    for name, section in state.sections.items():
        sentences = list(_all(section.paragraphs or ()))
        for verdict in section.unsupported():
            if verdict.sentence < len(sentences):
                one = sentences[verdict.sentence]
                title = _SUMMARY_TITLE if name == SUMMARY else section.plan.title
                yield WrittenSentence(name, title, one.text, one.facts, verdict.reason or "its quotes do not support it")


def _all(paragraphs: Iterable[Paragraph]) -> Iterator[Sentence]:
    return (sentence for paragraph in paragraphs for sentence in paragraph.sentences)


def _written(section: str, title: str, one: Sentence) -> WrittenSentence:
    return WrittenSentence(section, title, one.text, one.facts)
