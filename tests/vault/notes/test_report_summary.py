"""Which passages the top of a report's note shows."""

from __future__ import annotations

from pipeline.domain.state import Report
from pipeline.domain.values import Paragraph, ReportSection, Sentence
from pipeline.vault.notes.report_note import shown_summary


def _report(*summary: str, passing: tuple[str, ...] = ()) -> Report:
    body = (Paragraph(sentences=(Sentence(text="A list names it.", facts=("f1",)),), kind="passages"),)
    top = tuple(Sentence(text=text, facts=("f1",)) for text in summary)
    return Report("T", top, (ReportSection(id="s", title="S", paragraphs=body),), (), (), (), (), 9, 0, (), passing)


def test_a_report_that_opens_with_what_it_lacks_shows_its_only_passage_once() -> None:
    assert shown_summary(_report("A list names it.", passing=("Btrfs",))) == ()


def test_any_other_summary_is_shown() -> None:
    assert len(shown_summary(_report("A list names it."))) == 1
    assert len(shown_summary(_report("Another passage.", passing=("Btrfs",)))) == 1
