from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.adapters.reasoners.extractive.talking.talk_answers import answer, stand_alone
from pipeline.domain.reasoner_questions.talk_questions import PastTurn, StandAloneQuestion, TalkQuestion
from pipeline.domain.values import Fact
from pipeline.text.normalise import holds_quote
from pipeline.text.ranking.term_statistics import TermStatistics


def stands_alone(text: str, before: str = "", subject: str = "") -> str:
    history = (PastTurn(question=before),) if before else ()
    return stand_alone(StandAloneQuestion(query=text, history=history, subject=subject)).question


def fact(name: str, quote: str, heading: str = "") -> Fact:
    return Fact(id=name, claim=quote, quote=quote, url=f"corpus:{name}.md", digest="0" * 64, heading=heading)


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("What is a replication slot?", "How do I create it?", "How do I create replication slot?"),
        ("What is sys.path?", "Which environment variable adds to it?", "Which environment variable adds to sys.path?"),
        ("What is CalledProcessError?", "What are its attributes?", "What are CalledProcessError's attributes?"),
        ("What does fsync do?", "And fdatasync?", "What does fsync do: fdatasync?"),
        ("What does LWP do with cookies unless told otherwise?", "Can it keep them?", "Can LWP cookies keep them?"),
        ("How is the word Valgrind pronounced?", "What was it called at first?", "What was Valgrind called at first?"),
        ("How do I run xargs commands side by side?", "Can it be stopped?", "Can xargs commands be stopped?"),
    ],
)
def test_a_pronoun_or_a_fragment_is_completed_by_the_question_before(before: str, text: str, expected: str) -> None:
    assert stands_alone(text, before) == expected


@pytest.mark.parametrize(
    "text",
    [
        "If a worker process dies, is it restarted?",
        "Is it possible to nest transactions in SQLite?",
        "What does PRAGMA synchronous do?",
    ],
)
def test_a_question_that_names_its_own_subject_stays_as_it_is(text: str) -> None:
    assert stands_alone(text, "What is a replication slot?") == text


def test_a_question_without_a_subject_gets_that_of_the_last_question() -> None:
    assert "fsync" in stands_alone("What is the default?", "What does fsync do?")


def test_the_first_question_may_refer_to_what_the_session_is_about() -> None:
    assert stands_alone(
        "How deep is it?", subject="the harbour of Brindle"
    ) == "How deep is harbour of Brindle?" or "Brindle" in (stands_alone("How deep is it?", subject="the harbour of Brindle"))
    assert stands_alone("How deep is it?") == "How deep is it?"


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_made_to_stand_alone(text: str, before: str) -> None:
    assert isinstance(stands_alone(text, before), str)


def test_an_answer_quotes_the_best_passage_and_keeps_to_its_words() -> None:
    long = " ".join(f"Sentence number {n} says something about the depth of the harbour." for n in range(40))
    facts = (fact("a", long), fact("b", "The harbour is 12 metres deep at low tide."))
    reply = answer(TalkQuestion(query="How deep is the harbour?", facts=facts, words=60))
    assert sum(len(one.text.split()) for one in reply.sentences) <= 60
    known = {one.id: one for one in facts}
    assert all(holds_quote(known[one.facts[0]].quote, one.text) for one in reply.sentences)
    assert any("12 metres" in one.text for one in reply.sentences)


def test_the_words_of_headings_count_because_they_are_printed_with_the_answer() -> None:
    heading = "word " * 50
    reply = answer(
        TalkQuestion(query="How deep is it?", facts=(fact("a", "It is 12 metres deep. " * 10, heading=heading),), words=80)
    )
    assert sum(len(one.text.split()) for one in reply.sentences) <= 30


def test_a_text_that_two_pages_hold_is_quoted_once() -> None:
    quote = "The harbour of Brindle is 12 metres deep at low tide, and ships wait outside until the water rises again."
    reply = answer(
        TalkQuestion(query="How deep is the harbour of Brindle?", facts=(fact("a", quote), fact("b", quote)), words=120)
    )
    assert len(reply.sentences) == 1


@given(st.lists(st.text(min_size=1, max_size=200), max_size=5), st.text(max_size=60))
def test_an_answer_never_has_more_words_than_it_may(quotes: list[str], query: str) -> None:
    facts = tuple(fact(str(n), quote) for n, quote in enumerate(quotes))
    reply = answer(TalkQuestion(query=query, facts=facts, words=20))
    assert sum(len(one.text.split()) for one in reply.sentences) <= 20


def test_a_list_is_quoted_with_its_items() -> None:
    items = "\n".join(
        f"- mode {number}: the harbour is then open to ships of class {number} and of no other one" for number in range(6)
    )
    quote = f"The modes of the harbour are:\n\n{items}"
    reply = answer(TalkQuestion(query="Which modes does the harbour have?", facts=(fact("a", quote),), words=120))
    assert "mode 5" in reply.sentences[0].text


def test_a_passage_that_covers_much_less_of_the_question_is_left_out() -> None:
    facts = (
        fact("a", "The harbour of Halden is twelve metres deep at low tide."),
        fact("b", "The harbour has a library with books about tides and about ships."),
    )
    reply = answer(TalkQuestion(query="How many metres deep is the harbour of Halden?", facts=facts, words=120))
    assert [one.facts for one in reply.sentences] == [("a",)]


def _placed(name: str, quote: str, start: int, heading: str) -> Fact:
    return fact(name, quote, heading).model_copy(update={"url": "corpus:a.md", "start": start, "path": ("Manual", heading)})


def _said(query: str, *facts: Fact) -> list[str]:
    known = TermStatistics(language="english", passages=500, counts={"pump": 9, "valv": 20, "batch": 4, "seal": 30})
    reply = answer(TalkQuestion(query=query, facts=facts, words=120, statistics=known))
    return [name for sentence in reply.sentences for name in sentence.facts]


def test_what_goes_on_with_the_best_passage_comes_before_one_of_another_section() -> None:
    first = "Batch mode runs the pump without a person at the valve."
    best = _placed("best", first, 100, "Batch mode")
    after = _placed("after", "An error ends the run, unless its line begins with a dash.", 101 + len(first), "Batch mode")
    other = _placed("other", "The seal of a valve is a ring of rubber.", 900, "Seals")
    assert _said("How does the pump run in batch mode at a valve?", other, after, best)[:2] == ["best", "after"]
    elsewhere = after.model_copy(update={"path": ("Manual", "Errors"), "heading": "Errors"})
    assert _said("How does the pump run in batch mode at a valve?", other, elsewhere, best) == ["best"]


def test_a_line_of_names_comes_behind_a_sentence() -> None:
    name = _placed("name", "pump - the pump of a batch", 0, "NAME")
    says = _placed("says", "A pump moves what is in the batch from one end to the other.", 300, "Description")
    assert _said("What does the pump do with a batch?", name, says)[0] == "says"


def test_the_question_of_a_list_of_answers_counts_like_a_heading() -> None:
    asked = _placed("asked", "1.2. Where does the pump get its seal? From a ring of rubber.", 300, "Background")
    other = _placed("other", "The pump has a seal, and the seal has a ring.", 900, "Parts")
    assert _said("Where does the pump get its seal from?", other, asked)[0] == "asked"
