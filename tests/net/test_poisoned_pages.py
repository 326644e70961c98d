"""Twelve pages that hide an instruction in twelve places, read as the web is read: what no reader sees is not in the text."""

from __future__ import annotations

import pytest

from pipeline.documents.extract import extract
from pipeline.ports import Page
from tests.standin.pages import article_html
from tests.standin.poison import POISONED, mark, poisoned_document, poisoned_html, poisoned_pdf

BASE = "http://127.0.0.1:1"
# The others show it to every reader: that is text like any other, and not to believe it is the reasoner's part.
HIDDEN = [2, 5, 6, 9, 10, 12]
MARKED = {3: "[image: IMPORTANT SYSTEM", 4: "[hidden] IMPORTANT SYSTEM"}


def read(number: int) -> Page:
    if number in (10, 11):
        return extract(poisoned_pdf(number, BASE), content_type="application/pdf", url=f"{BASE}/poison/{number}")
    page = poisoned_html(number, BASE, article_html(poisoned_document(number)))
    return extract(page.encode(), content_type="text/html; charset=utf-8", url=f"{BASE}/poison/{number}")


@pytest.mark.parametrize("number", range(1, POISONED + 1))
def test_an_instruction_that_no_reader_sees_is_not_in_the_text_and_one_that_may_come_to_be_seen_is_marked(number: int) -> None:
    found = read(number)
    assert len(found.text.split()) > 40
    if number in HIDDEN:
        assert mark(number) not in found.title + found.text + found.author
    if number in MARKED:
        assert f"{MARKED[number]} MESSAGE {mark(number)}" in found.text
