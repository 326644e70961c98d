"""The longest chain of outside calls in a finished session: how long it must take however many calls run side by side.

Counted from what depends on what: a worker's searches on its thought, its pages on all searches of that iteration, an observation
on its page, an evaluation on all observations, and so on. Each call counts 1. A search or a page that several workers want is
made once, for whoever asks first. Folded contexts are not counted: the chain would only become longer.
"""

from __future__ import annotations

from pipeline.domain.findings import all_facts, chosen_pages
from pipeline.domain.state import SUMMARY, Section, SessionState, Worker, workers_in_order
from pipeline.research.clustering import like_groups

Asked = dict[str, int]  # after how many calls a query or a page's address is first asked for


def longest_chain(state: SessionState) -> int:
    """Return the number of calls in the longest chain, from the survey to the last check."""
    ended = 2  # survey, then perspectives
    asked: Asked = {}
    for analysis in state.analyses:
        workers = [worker for worker in workers_in_order(state) if worker.round == analysis.round]
        ended, asked = _gathered(state, workers, ended, asked)
        ended += 2 if like_groups(all_facts(state)) else 1  # cross-checks side by side, then gaps
    body = [_section(part) for name, part in state.sections.items() if name != SUMMARY]
    return ended + 1 + max(body) + _section(state.sections[SUMMARY])  # the outline, then the sections, then the summary


def _gathered(state: SessionState, workers: list[Worker], start: int, asked: Asked) -> tuple[int, Asked]:
    """When the last worker ends, and when each thing was first asked for: recomputed until nothing is asked for earlier."""
    while True:
        earliest = dict(asked)
        ends = [_worker(state, worker, start, earliest) for worker in workers]
        if earliest == asked:
            return max(ends), asked
        asked = earliest


def _worker(state: SessionState, worker: Worker, start: int, asked: Asked) -> int:
    """When a worker ends; notes what it asks for earlier than anybody before."""
    ended = start
    for number, iteration in enumerate(worker.iterations, start=1):
        ended += 1  # thought
        searched = max([ended, *(_answered(query, ended, asked) for query in iteration.queries)])
        read = (max(searched, _answered(url, searched, asked)) for url in chosen_pages(state, worker, number))
        ended = max([searched, *(done + 1 for done in read)]) + 1  # observations side by side, then the evaluation
    return ended


def _answered(what: str, now: int, asked: Asked) -> int:
    asked[what] = min(now, asked.get(what, now))
    return asked[what] + 1


def _section(section: Section) -> int:
    """Written and checked, and so again for each revision."""
    return 2 + 2 * section.revision
