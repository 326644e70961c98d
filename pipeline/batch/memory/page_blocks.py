"""The text of the pages that memory's statements are from, block by block, for naming what they are about."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.memory.fold import Memory
from pipeline.domain.memory.values import Statement
from pipeline.errors import ObjectMissing
from pipeline.ports import EventStore
from pipeline.text.page_format import blocks

# The latest pages, and characters of one page and of all; the best sentences stay with the entities that were named from them.
MOST_PAGES = 100
MOST_TEXT, MOST_OF_ALL = 150_000, 3_000_000


def page_blocks(store: EventStore, memory: Memory) -> Iterator[Statement]:
    """Yield the paragraphs and list items of the pages that statements are from as statements without a fact id.

    The pages of the latest statements come first. Of a page that was read several times, the latest reading counts. A page that
    was pruned is left out.
    """
    latest = {one.statement.url: one.statement for one in memory.statements.values() if one.holds}
    size = 0
    for one in reversed(list(latest.values())[-MOST_PAGES:]):
        if size > MOST_OF_ALL:
            return
        try:
            text = store.get(one.digest).decode("utf-8", "replace")[:MOST_TEXT]
        except ObjectMissing:
            continue
        size += len(text)
        yield from _blocks(one, text)


def _blocks(page: Statement, text: str) -> Iterator[Statement]:
    core = {"fact": "", "url": page.url, "digest": page.digest, "title": page.title}
    for block in blocks(text):
        if block.kind in ("paragraph", "item"):
            yield Statement.model_validate({**core, "claim": block.text, "quote": block.text, "heading": block.heading})
