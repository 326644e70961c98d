"""The pages that a worker reads again because earlier nights found answers there: only a page that is read again is cited."""

from __future__ import annotations

from collections import Counter

from pipeline.domain.findings import origin_of
from pipeline.domain.memory.answering import answering
from pipeline.domain.state import SessionState
from pipeline.domain.values import Perspective
from pipeline.text.ranking.rank_fusion import page_origin

LOCAL = "local"  # the search whose documents only a session that names it may read


def recalled_pages(state: SessionState, view: Perspective) -> tuple[str, ...]:
    """Return the pages of recalled statements that answer the view's questions, those with most of them first.

    At most a third of the pages of an iteration. A session reads documents only if it searches them, and web pages only if it
    searches the web, whatever another session read.
    """
    if state.recalled is None:
        return ()
    failing = {record.origin for record in state.recalled.origins if record.failing}
    found = {one.statement.fact: one for question in view.questions for one in answering(question, state.recalled)}
    urls = (one.statement.url for one in state.recalled.statements if one.statement.fact in found)
    counts = Counter(url for url in urls if _may_be_read(state, url) and origin_of(url) not in failing)
    ordered = sorted(counts, key=lambda url: -counts[url])
    return tuple(ordered[: -(-state.config.pages_per_iteration // 3)])


def _may_be_read(state: SessionState, url: str) -> bool:
    searched = state.config.search
    return LOCAL in searched if page_origin(url) == "own" else any(name != LOCAL for name in searched)
