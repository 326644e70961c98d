"""Which pages a worker reads, and where in its page a fact stands."""

from __future__ import annotations

from typing import Any

from pipeline.domain.findings import chosen_pages
from pipeline.domain.reasoner_questions import Finding, ObservationQuestion
from pipeline.domain.state import Iteration, SearchDone, SessionState, Worker
from pipeline.domain.values import Fact, Hit, Perspective, RejectedFact, ResearchConfig
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


TABLE = """# Settings

## Memory {#memory}

| Setting | Default | Range |
| work_mem | 4 MB | 64 kB to 2 GB |
| max_connections | 100 | 1 to 262143 |
"""


def _found(text: str, **finding: str) -> tuple[tuple[Fact, ...], tuple[RejectedFact, ...]]:
    view = Perspective(id="basic-facts", name="Basic facts", focus="", questions=("How?",))
    question = ObservationQuestion(query="How?", perspectives=(view,), url="corpus:a", title="Logs", text=text, limit=5)
    said = Finding(claim="It is so.", **finding)
    return facts_and_rejected((said,), question, digest_of(text.encode()))


def test_the_pages_own_words_are_stored_however_a_model_copied_them() -> None:
    facts, rejected = _found(PAGE, quote="**only then does it acknowledge the record**")
    assert not rejected
    assert facts[0].quote == "Only then does it acknowledge the record."
    assert (facts[0].anchor, PAGE.find(facts[0].quote) >= 0) == ("flushing", True)


def test_two_copies_of_the_same_words_are_one_fact() -> None:
    one, other = (_found(PAGE, quote=quote)[0][0] for quote in ("A log is written at its end.", "a log is *written* at its end"))
    assert one.id == other.id


def test_a_quoted_row_has_the_header_of_its_table() -> None:
    facts, _ = _found(TABLE, quote="work_mem 4 MB 64 kB to 2 GB")
    assert facts[0].quote == "| work_mem | 4 MB | 64 kB to 2 GB |"
    assert facts[0].lead == "| Setting | Default | Range |"
    assert facts[0].anchor == "memory"


def test_a_row_that_is_quoted_with_its_header_needs_no_other() -> None:
    facts, _ = _found(TABLE, quote="| Setting | Default | Range |\n| work_mem | 4 MB | 64 kB to 2 GB |")
    assert facts[0].lead == ""


def test_an_altered_quote_may_be_corrected_and_a_short_one_may_not() -> None:
    assert _found(PAGE, quote="A log is never written at its end.")[1][0].may_be_corrected
    assert not _found(PAGE, quote="a log")[1][0].may_be_corrected


def _first_hits(**config: Any) -> tuple[str, ...]:
    """Four pages of five queries that all find the same three pages, but each another one first."""
    state = SessionState(config=ResearchConfig(**config))
    worker = Worker("search_0", "basic-facts", 0, "", iterations=[Iteration("", tuple("abcde"))])
    for query in "abcde":
        hits = [Hit(url=f"corpus:{query}.md#top", title=query), *(Hit(url=f"corpus:{name}.md", title=name) for name in "xyz")]
        state.searches[query] = SearchDone("local", tuple(hits))
    return chosen_pages(state, worker, 1)


def test_the_first_hit_of_every_query_is_read() -> None:
    assert _first_hits() == ("corpus:x.md", "corpus:y.md", "corpus:z.md", "corpus:a.md")
    assert _first_hits(reads_first_hits=True) == tuple(f"corpus:{query}.md" for query in "abcde")
    assert _first_hits(reads_first_hits=True, pages_per_iteration=6)[0] == "corpus:x.md"


def test_of_a_query_whose_hits_lie_mostly_in_one_page_that_page_is_read() -> None:
    state = SessionState(config=ResearchConfig(reads_first_hits=True, pages_per_iteration=1))
    worker = Worker("search_0", "basic-facts", 0, "", iterations=[Iteration("", ("merge",))])
    addresses = ("corpus:policy.md#a", "corpus:merge.md#a", "corpus:merge.md#b", "corpus:merge.md#c", "corpus:other.md#a")
    state.searches["merge"] = SearchDone("local", tuple(Hit(url=address, title="x") for address in addresses))
    assert chosen_pages(state, worker, 1) == ("corpus:merge.md",)
