"""What is told from a session's findings: the page of a quote in a PDF."""

from __future__ import annotations

import pytest

from pipeline.domain.findings import sheet_of
from pipeline.domain.state import PageDone, SessionState
from pipeline.domain.values import Fact

URL = "corpus:harbour.pdf"


def state_with(sheets: tuple[int, ...]) -> SessionState:
    state = SessionState(id="s")
    state.pages[URL] = PageDone(URL, "Harbour", "d1", 100, "", sheets=sheets)
    return state


@pytest.mark.parametrize(("start", "page"), [(2, 1), (39, 1), (40, 3), (90, 4), (-1, 0)])
def test_the_page_of_a_quote_is_the_last_that_begins_at_or_before_it(start: int, page: int) -> None:
    fact = Fact(id="f", claim="", quote="q", url=URL, digest="d1", start=start)
    assert sheet_of(state_with((2, 40, 40, 80)), fact) == page


def test_a_source_without_pages_or_of_another_text_has_none() -> None:
    fact = Fact(id="f", claim="", quote="q", url=URL, digest="d1", start=3)
    assert sheet_of(state_with(()), fact) == 0
    assert sheet_of(state_with((0,)), fact.model_copy(update={"digest": "d2"})) == 0
