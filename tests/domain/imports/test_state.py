from __future__ import annotations

from typing import Any

from pipeline.domain.imports.identity import item_event_id, stream_id
from pipeline.domain.imports.import_events import (
    FactsImported,
    ImportCounts,
    ImportedFact,
    MessageImported,
    ReportImported,
    ResearchImported,
)
from pipeline.domain.imports.state import NOTHING, import_of
from pipeline.domain.session import state_of


def imported(**other: Any) -> ResearchImported:
    values: dict[str, Any] = {
        "kind": "got",
        "original_id": "x",
        "origin": ".got",
        "digest": "0" * 64,
        "ordinals": 3,
        "counts": ImportCounts(),
    }
    return ResearchImported(**values | other)


EVENTS = (
    imported(question="How deep is the well?"),
    MessageImported(ordinal=0, role="task", text="Measure it"),
    FactsImported(ordinal=1, author="w1", facts=(ImportedFact(text="Nine metres"), ImportedFact(text="Dry in May"))),
    ReportImported(ordinal=2, text="Nine metres."),
)


def test_the_items_are_told_apart_by_what_they_are() -> None:
    state = import_of("import-got-x-00000000", EVENTS)
    assert state.title == "How deep is the well?"
    assert [one.text for one in state.messages] == ["Measure it"]
    assert [(author, fact.text) for author, fact in state.facts] == [("w1", "Nine metres"), ("w1", "Dry in May")]
    assert state.report is not None
    assert state.report.text == "Nine metres."
    assert state.missing == 0


def test_of_two_events_with_one_ordinal_the_last_counts() -> None:
    state = import_of("import-got-x-00000000", [*EVENTS, imported(), ReportImported(ordinal=2, text="Ten metres.")])
    assert state.report is not None
    assert (state.report.text, state.revisions[2], state.imports) == ("Ten metres.", 2, 2)


def test_what_the_original_no_longer_has_is_not_shown() -> None:
    state = import_of("import-got-x-00000000", [*EVENTS, imported(ordinals=1)])
    assert [item.ordinal for item in state.current()] == [0]
    assert state.report is None


def test_an_interrupted_import_says_how_much_is_missing() -> None:
    assert import_of("import-got-x-00000000", EVENTS[:2]).missing == 2
    assert import_of("import-got-x-00000000", ()).said is NOTHING


def test_an_imported_report_is_no_report_of_a_session() -> None:
    state = state_of("s-1", [event.model_copy(update={"version": number}) for number, event in enumerate(EVENTS, 1)])
    assert (state.report, state.facts, state.status) == (None, {}, "pending")


def test_an_original_has_one_stream_whatever_words_its_question_has() -> None:
    first = stream_id("got", "x", "How deep is the well?", ())
    assert first.startswith("import-got-how-deep-is-the-well-")
    assert stream_id("got", "x", "How deep is it?", ["import-got-other-12345678", first]) == first
    assert stream_id("aidaemon", "x", "How deep is the well?", [first]) != first


def test_an_event_id_depends_on_kind_original_and_ordinal_alone() -> None:
    ids = {
        item_event_id(kind, name, number, revision)
        for kind in ("got", "aidaemon")
        for name in "xy"
        for number in (0, 1)
        for revision in (0, 1)
    }
    assert len(ids) == 16
    assert item_event_id("got", "x", 1) == item_event_id("got", "x", 1)
