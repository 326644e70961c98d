"""What is told from a session's findings: the pages that a worker reads, the page of a quote in a PDF."""

from __future__ import annotations

import pytest

from pipeline.domain.events.session_events import PageRead
from pipeline.domain.page_choice_and_findings import chosen_pages, facts_of, sheet_of
from pipeline.domain.report_draft import facts_of_parts
from pipeline.domain.research_values import Fact, Hit, Perspective, PlanNode, ResearchConfig
from pipeline.domain.session_state import Iteration, PageObserved, SessionState, Worker
from tests.fakes import done_search

URL = "corpus:harbour.pdf"


SHEETS = (2, 40, 40, 80)


@pytest.mark.parametrize(
    ("sheets", "digest", "start", "page"),
    [
        *((SHEETS, "d1", start, page) for start, page in ((2, 1), (39, 1), (40, 3), (90, 4), (-1, 0))),
        ((), "d1", 3, 0),
        ((0,), "d2", 3, 0),
    ],
)
def test_the_page_of_a_quote_is_the_last_that_begins_at_or_before_it_in_the_same_text(
    sheets: tuple[int, ...], digest: str, start: int, page: int
) -> None:
    read = PageRead(url=URL, title="Harbour", digest="d1", characters=100, sheets=sheets)
    assert sheet_of(read, Fact(id="f", claim="", quote="q", url=URL, digest=digest, start=start)) == page


def searched(state: SessionState, query: str, *urls: str) -> None:
    state.searches[query] = done_search(tuple(Hit(url=url, title="") for url in urls))


def test_a_page_that_was_observed_stays_chosen_when_a_search_that_failed_is_answered_later() -> None:
    """The search may be made again after the session was reopened, or its answer may come from another machine."""
    fact = Fact(id="f", claim="", quote="q", url="b.md", digest="d")
    steps = [Iteration("", ("one", "two"), observed={"b.md": PageObserved((fact,), ())}), Iteration("", ("three",))]
    worker = Worker("search_0", "view", 0, "", iterations=steps)
    state = SessionState(id="s", config=ResearchConfig(pages_per_iteration=2), workers={"search_0": worker})
    searched(state, "one", "a.md", "b.md")
    searched(state, "three", "b.md", "e.md")
    assert chosen_pages(state, worker, 1) == ("a.md", "b.md")
    searched(state, "two", "c.md", "d.md", "a.md")
    assert chosen_pages(state, worker, 1) == ("a.md", "b.md")
    assert chosen_pages(state, worker, 2) == ("e.md",)
    assert facts_of(worker) == (fact,)
    steps[0].observed.clear()
    assert chosen_pages(state, worker, 1) == ("a.md", "c.md")


def test_the_page_with_most_hits_is_read_first_and_workers_choose_in_turn() -> None:
    workers = {name: Worker(name, name, 0, "", iterations=[Iteration("", (name,))]) for name in ("search_0", "search_1")}
    nodes = {name: PlanNode(id=name, task="search", description="", perspective=name) for name in workers}
    config = ResearchConfig(pages_per_iteration=2, reasoner="a-model")
    state = SessionState(id="s", config=config, workers=workers, nodes=nodes)
    searched(state, "search_0", "a.md#1", "b.md#1", "b.md#2", "b.md#3", "c.md")
    searched(state, "search_1", "b.md#9", "a.md", "d.md")
    assert chosen_pages(state, workers["search_0"], 1) == ("b.md", "c.md")
    assert chosen_pages(state, workers["search_1"], 1) == ("a.md", "d.md")


def test_of_the_first_five_web_pages_two_at_most_are_of_one_site() -> None:
    worker = Worker("search_0", "view", 0, "", iterations=[Iteration("", ("one",))])
    state = SessionState(id="s", config=ResearchConfig(pages_per_iteration=5, reasoner="m"), workers={"search_0": worker})
    searched(state, "one", *(f"https://a.example/{n}" for n in range(4)), *(f"https://{n}.example/" for n in "bcd"))
    hosts = [url.split("/")[2] for url in chosen_pages(state, worker, 1)]
    assert hosts == ["a.example", "a.example", "b.example", "c.example", "d.example"]


def test_the_parts_of_a_report_are_about_equally_long_and_each_question_is_in_one() -> None:
    asked = [name for name, times in {"a": 110, "b": 60, "c": 15, "d": 15, "e": 10}.items() for _ in range(times)]
    quote = "Water flows downhill, and never up. " * 10
    facts = [Fact(id=f"{number}", claim="", quote=quote, url="a", digest="", question=one) for number, one in enumerate(asked)]
    view = Perspective(id="p", name="P", focus="", questions=tuple("abcde"))
    parts = facts_of_parts(SessionState(facts={fact.id: fact for fact in facts}, perspectives={"p": view}))
    assert [sorted({fact.question for fact in part}) for part in parts] == [["a"], ["b", "c", "d", "e"]]
    assert sorted(fact.id for part in parts for fact in part) == sorted(fact.id for fact in facts)
