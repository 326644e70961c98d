"""Where in its page a fact stands."""

from __future__ import annotations

from pipeline.page import blocks
from pipeline.questions import Finding, ObservationQuestion
from pipeline.research.gathering import _judged
from pipeline.text import digest_of
from pipeline.values import Fact, Perspective

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
    question = ObservationQuestion(
        query="How?", perspective=view, searches=(), url="corpus:a", title="Logs", text=PAGE, focus=(), limit=5
    )
    facts, rejected = _judged((Finding(claim=quote, quote=quote),), question, digest_of(PAGE.encode()))
    assert not rejected
    return facts[0]


def test_a_quote_inside_one_block_has_that_blocks_anchor_and_heading() -> None:
    found = _fact_of("The writer calls for nothing here.")
    assert (found.anchor, found.heading) == ("reading", "Reading")


def test_a_quote_over_two_blocks_has_anchor_and_heading_of_the_one_that_it_begins_in() -> None:
    found = _fact_of("It waits until the disk has answered. Only then does it acknowledge the record.")
    assert (found.anchor, found.heading) == ("flushing", "Flushing")
    assert not any(found.quote in block.text for block in blocks(PAGE))
