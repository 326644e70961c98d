"""The pages that a worker reads again because earlier nights found answers there: only a page that is read again is cited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pipeline.domain.findings import may_be_read, origin_of
from pipeline.domain.state import SessionState
from pipeline.domain.values import Perspective, Recalled
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.rank_fusion import page_origin
from pipeline.text.ranking.scoring import coverage, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import stems

LOCAL = "local"  # the search whose documents only a session that names it may read
_ANSWERS_FROM = 0.6  # of the weight of a question's words


def recalled_pages(state: SessionState, view: Perspective) -> tuple[str, ...]:
    """Return the pages of recalled statements that answer the view's questions, those with most of them first.

    At most a third of the pages of an iteration. A session reads documents only if it searches them, and web pages only if it
    searches the web, whatever another session read.
    """
    if state.recalled is None:
        return ()
    failing = {record.origin for record in state.recalled.origins if record.failing}
    found = dict.fromkeys(pair for question in view.questions for pair in _answering(question, state.recalled))
    counts = Counter(url for _fact, url in found if _may_be_read(state, url) and origin_of(url) not in failing)
    ordered = sorted(counts, key=lambda url: -counts[url])
    return tuple(ordered[: -(-state.config.pages_per_iteration // 3)])


def _answering(question: str, recalled: Recalled) -> Iterator[tuple[str, str]]:
    """Yield fact and page of the statements that hold most of a question's words, weighted by how rare they are."""
    parsed = parse_question(question)
    weights = term_weights(parsed, TermStatistics())
    for one in recalled.statements:
        if coverage(weights, frozenset(stems(one.statement.claim, parsed.language))) >= _ANSWERS_FROM:
            yield one.statement.fact, one.statement.url


def _may_be_read(state: SessionState, url: str) -> bool:
    searched = state.config.search
    side = LOCAL in searched if page_origin(url) == "own" else any(name != LOCAL for name in searched)
    return side and may_be_read(url, state.config)
