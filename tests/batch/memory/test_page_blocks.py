"""The blocks of the pages that statements are from: without code and headings; pruned pages are left out."""

from __future__ import annotations

from pipeline.batch.memory.consolidating import consolidate
from pipeline.batch.memory.page_blocks import page_blocks
from pipeline.batch.memory.reading import read_memory
from pipeline.batch.session_index import read_all
from pipeline.domain.memory.fold import Memory
from pipeline.text.normalise import digest_of
from tests.fakes import MemoryStore, context_for
from tests.vault.builders import named_story

PAGE = "# Logs\n\nA log is kept.\n\n## Power\n\n- It survives\n\n```\ncode(1)\n```\n\n| a | b |\n"


def a_memory(store: MemoryStore) -> Memory:
    named_story(store).whole()
    consolidate(store, context_for("run-8"), read_all(store).sessions)
    return read_memory(store)


def test_paragraphs_and_items_are_read_with_their_headings() -> None:
    store = MemoryStore()
    memory = a_memory(store)
    url = next(iter(memory.statements.values())).statement.url
    store.objects[digest_of(url.encode())] = PAGE.encode()
    found = [(one.quote, one.heading, one.fact, one.url) for one in page_blocks(store, memory)]
    assert found == [("A log is kept.", "Logs", "", url), ("It survives", "Power", "", url)]


def test_a_page_that_is_no_longer_stored_is_left_out() -> None:
    store = MemoryStore()
    assert list(page_blocks(store, a_memory(store))) == []
