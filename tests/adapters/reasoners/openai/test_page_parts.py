"""What a model is shown of a page: parts of a large one, sections that it asked for, passages beside wrong quotes."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipeline.adapters.reasoners.openai.flagged_source import without_flagged_source
from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys
from pipeline.adapters.reasoners.openai.prompting.delimiters import Delimiters
from pipeline.adapters.reasoners.openai.prompting.page_excerpt import OMITTED, PAGE_TOKENS, excerpt
from pipeline.adapters.reasoners.openai.prompting.prompt_context import view_of
from pipeline.adapters.reasoners.openai.prompting.prompt_parts import PromptParts
from pipeline.domain.reasoner_questions import ObservationQuestion, OthersWork, Question, ThoughtQuestion, WrongQuote
from pipeline.domain.values import Fact, Perspective
from pipeline.text.normalise import tokens
from tests.adapters.reasoners.openai.kit import (
    EVALUATION,
    FACT_A,
    FACT_B,
    GOOD,
    OBSERVATION,
    THOUGHT,
    VIEW,
    Script,
    ask,
    reasoner_for,
    said,
)

FILLER = "It goes on, in general words, about the care of machines and their users. "
LONG = "# A long manual\n\n" + "\n\n".join(
    f"## Chapter {n} {{#c{n}}}\n\n{FILLER * 20}" + (f"\n\nThe WAL of engine {n} survives a cut." if n % 20 == 7 else "")
    for n in range(60)
)
OTHER = Perspective(id="costs", name="Costs", focus="", questions=("What does it cost?",))
ASKED = OBSERVATION.model_copy(update={"perspectives": (VIEW, OTHER), "text": LONG})


def _prompt(question: ObservationQuestion, **reply: object) -> str:
    script = Script([said({**GOOD["observation"], **reply})])
    ask(reasoner_for(script), question)
    prompt: str = script.bodies[0]["messages"][1]["content"]
    return prompt


def test_the_questions_of_all_perspectives_are_asked_at_once() -> None:
    prompt = _prompt(ASKED)
    assert [f"[Q{n}] {text}" in prompt for n, text in enumerate((*VIEW.questions, *OTHER.questions), start=1)] == [True] * 3


def test_of_a_large_page_the_parts_on_the_questions_are_sent_and_the_other_headings() -> None:
    assert tokens(LONG) > 4 * PAGE_TOKENS
    prompt = _prompt(ASKED)
    assert tokens(prompt) < PAGE_TOKENS + 2_000
    assert all(f"The WAL of engine {n} survives a cut." in prompt for n in (7, 27, 47))
    assert OMITTED in prompt
    assert "\nChapter 33\n" in prompt
    assert "\nChapter 27\n" not in prompt


def test_a_large_page_on_something_else_takes_half_the_room_and_is_never_left_out() -> None:
    pages = ["# M\n\n" + "\n\n".join(f"## Part {n}\n\n{words * 30}" for n in range(60)) for words in ("The WAL lasts. ", FILLER)]
    shown = [excerpt(page, VIEW.questions, PAGE_TOKENS) for page in pages]
    assert 0.7 * PAGE_TOKENS < tokens(shown[0].text) <= PAGE_TOKENS + 8
    assert 0.2 * PAGE_TOKENS < tokens(shown[1].text) <= PAGE_TOKENS // 2 + 8
    assert "Part 59" in shown[1].left_out


def test_sections_are_asked_for_by_name_and_sent() -> None:
    script = Script([said({**GOOD["observation"], "more_sections": ["Chapter 33"]})])
    answer = ask(reasoner_for(script), ASKED)
    assert answer.value.more == ("Chapter 33",)
    rest = ASKED.model_copy(update={"part": "rest", "sections": ("## chapter 33",)})
    prompt = _prompt(rest)
    assert "## Chapter 33 {#c33}" in prompt
    assert "Chapter 34" not in prompt
    assert tokens(prompt) < 2_500


def test_a_wrong_quote_goes_back_with_the_nearest_passage_and_without_the_page() -> None:
    wrong = WrongQuote(claim="It survives.", quote="The WAL survived", nearest="The WAL of engine 7 survives a cut.")
    prompt = _prompt(ASKED.model_copy(update={"part": "rest", "wrong_quotes": (wrong,)}))
    assert wrong.nearest in prompt
    assert wrong.quote in prompt
    assert FILLER not in prompt


def test_a_gap_is_asked_with_the_passages_on_it_alone() -> None:
    view = Perspective(id="gap", name="An open question", focus="", questions=("Does the WAL of engine 47 survive a cut?",))
    prompt = _prompt(ASKED.model_copy(update={"part": "gap", "perspectives": (view,)}))
    assert "The WAL of engine 47 survives a cut." in prompt
    assert tokens(prompt) < 2_500


@given(st.lists(st.text(max_size=60), max_size=40), st.integers(50, 400))
def test_what_is_shown_is_of_the_page_and_within_the_limit(blocks: list[str], limit: int) -> None:
    text = "\n\n".join(blocks)
    shown = excerpt(text, ("What of it?",), limit).text
    assert shown == text or tokens(shown) <= limit + 8
    assert shown == text or all(line in text or line == OMITTED for line in shown.split("\n"))


def test_a_page_that_is_one_table_or_one_line_is_cut_too() -> None:
    table = "# T\n\n" + "\n".join(f"| row {n} | {FILLER} |" for n in range(2_000))
    line = "word " * 40_000
    for text in (table, line):
        shown = excerpt(text, ("What of row 1200?",), PAGE_TOKENS)
        assert 1_000 < tokens(shown.text) <= PAGE_TOKENS + 8
    assert "| row 1200 |" in excerpt(table, ("What of row 1200?",), PAGE_TOKENS).text


def test_a_template_from_before_pages_were_shared_still_finds_its_names() -> None:
    view = view_of(ASKED, PromptParts(CitationKeys(), Delimiters(b"s"), 8_000))
    assert [question["key"] for question in view["perspective"]["questions"]] == ["Q1", "Q2", "Q3"]
    assert view["searches"] == []


def test_a_flagged_source_is_left_out_of_what_others_found_too() -> None:
    question = THOUGHT.model_copy(update={"others": OthersWork(facts=(FACT_B,))})
    smaller = without_flagged_source(question, [FACT_B.quote])
    assert isinstance(smaller, ThoughtQuestion)
    assert (smaller.facts, smaller.others.facts) == ((FACT_A,), ())


def test_what_others_did_is_told_shortly_and_is_no_evidence() -> None:
    others = OthersWork(queries=("wal torn pages",), pages=("The WAL",), facts=(FACT_B,), failed=("reading Page 9",))
    script = Script([said(GOOD["thought"])])
    ask(reasoner_for(script), THOUGHT.model_copy(update={"others": others}))
    prompt = script.bodies[0]["messages"][1]["content"]
    assert all(part in prompt for part in ("- wal torn pages", "The WAL", f"- {FACT_B.claim} (", "reading Page 9"))
    assert FACT_B.quote not in prompt


def _facts(pages: int, each: int) -> tuple[Fact, ...]:
    text = "Fact {} of page {} says what a WAL is and why it is written before the data."
    made = (
        {"id": f"f{page}-{n}", "url": f"https://a.example/{page}", "quote": text.format(n, page), "relevance": n / each}
        for page in range(pages)
        for n in range(each)
    )
    return tuple(FACT_A.model_copy(update={**one, "question": VIEW.questions[0]}) for one in made)


def _messages(question: Question[Any]) -> str:
    script = Script([said(GOOD[question.name])])
    ask(reasoner_for(script), question)
    return str(script.bodies[0]["messages"][1]["content"])


def test_the_evidence_of_a_later_evaluation_begins_with_that_of_the_one_before() -> None:
    facts = _facts(pages=40, each=6)
    early, late = (_messages(EVALUATION.model_copy(update={"facts": facts[:count]})) for count in (120, 240))
    shown = re.findall(r"^\[E\d+\] .*$", early, re.M)
    assert len(shown) == 2 * 20
    assert re.findall(r"^\[E\d+\] .*$", late, re.M)[: len(shown)] == shown
    assert "Fact 5 of page 0" in early


def test_an_evaluation_also_says_what_to_search_for_next() -> None:
    question = EVALUATION.model_copy(update={"limit": 2, "asked": ("wal torn pages",)})
    reply = {**GOOD["evaluation"], "queries": ["wal fsync (E1)", "power cut", "a third"]}
    script = Script([said(reply)])
    answer = ask(reasoner_for(script), question)
    assert answer.value.queries == ("wal fsync", "power cut")
    prompt = script.bodies[0]["messages"][1]["content"]
    assert "- wal torn pages" in prompt
    assert "at most 2 search queries" in prompt


def test_an_evaluation_without_queries_leaves_them_to_a_thought() -> None:
    reply = {name: value for name, value in GOOD["evaluation"].items() if name != "queries"}
    asked = EVALUATION.model_copy(update={"limit": 2})
    assert ask(reasoner_for(Script([said(reply)])), asked).value.queries is None
    assert ask(reasoner_for(Script([said({**reply, "queries": ["x y"]})])), EVALUATION).value.queries is None


def test_facts_on_other_questions_are_shown_as_claims() -> None:
    other = FACT_B.model_copy(update={"question": "What does it cost?", "claim": "It costs nothing."})
    script = Script([said(GOOD["evaluation"])])
    ask(reasoner_for(script), EVALUATION.model_copy(update={"facts": (FACT_A, other)}))
    prompt = script.bodies[0]["messages"][1]["content"]
    assert FACT_A.quote in prompt
    assert "- It costs nothing." in prompt
    assert other.quote not in prompt
