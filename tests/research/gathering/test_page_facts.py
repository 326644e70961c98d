"""Which pages a worker reads, and where in its page a fact stands."""

from __future__ import annotations

from pipeline.domain.reasoner_questions import Finding, ObservationQuestion
from pipeline.domain.state import Iteration, SearchDone, SessionState, Worker, chosen_pages
from pipeline.domain.values import Fact, Hit, Perspective
from pipeline.research.gathering.quoted_facts import facts_and_rejected
from pipeline.text.normalise import digest_of
from pipeline.text.page_format import blocks

PAGE = """# Logs

A log is written at its end.

## Flushing {#flushing}

The writer calls for a flush. It waits until the disk has answered.

Only then does it acknowledge the record. It never acknowledges earlier.

## Reading {#reading}

The writer calls for nothing here.
"""


def _fact_of(quote: str) -> Fact:
    view = Perspective(id="basic-facts", name="Basic facts", focus="", questions=("How?",))
    question = ObservationQuestion(query="How?", perspectives=(view,), url="corpus:a", title="Logs", text=PAGE, limit=5)
    facts, rejected = facts_and_rejected((Finding(claim=quote, quote=quote),), question, digest_of(PAGE.encode()))
    assert not rejected
    return facts[0]


def test_a_quote_inside_one_block_has_that_blocks_anchor_and_heading() -> None:
    found = _fact_of("The writer calls for nothing here.")
    assert (found.anchor, found.heading) == ("reading", "Reading")


def test_a_quote_over_two_blocks_has_anchor_and_heading_of_the_one_that_it_begins_in() -> None:
    found = _fact_of("It waits until the disk has answered. Only then does it acknowledge the record.")
    assert (found.anchor, found.heading) == ("flushing", "Flushing")
    assert not any(found.quote in block.text for block in blocks(PAGE))


def _chosen(provider: str) -> tuple[str, ...]:
    """Four pages, after searches that all find the same own documents, but each another page of the web."""
    state = SessionState()
    worker = Worker("search_0", "basic-facts", 0, "", iterations=[Iteration("", ("a", "b", "c"))])
    for query in ("a", "b", "c"):
        own = [Hit(url=f"corpus:{name}.md#top", title=name) for name in "wxyz"]
        state.searches[query] = SearchDone(provider, (own[0], Hit(url=f"https://{query}.example/", title=query), *own[1:]))
    return chosen_pages(state, worker, 1)


def test_documents_that_every_search_finds_leave_a_third_of_the_pages_to_the_web() -> None:
    assert _chosen("local+brave") == ("corpus:w.md", "corpus:x.md", "https://a.example/", "https://b.example/")


def test_the_pages_of_a_log_from_before_both_were_asked_stay_as_they_were_chosen() -> None:
    assert _chosen("local") == ("corpus:w.md", "corpus:x.md", "corpus:y.md", "corpus:z.md")
