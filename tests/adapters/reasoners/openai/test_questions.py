from __future__ import annotations

import json
from typing import Any, cast

import pytest

from pipeline.adapters.reasoners.openai.schemas import WIRES, schema_of
from pipeline.domain import reasoner_questions as q
from tests.adapters.reasoners.openai import kit
from tests.adapters.reasoners.openai.kit import GOOD, QUESTIONS, Script, ask, reasoner_for, said


def answered(name: str, content: Any = None) -> Any:
    return ask(reasoner_for(Script([said(content if content is not None else GOOD[name])])), QUESTIONS[name]).value


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_every_question_has_a_prompt_a_schema_and_an_answer_of_its_type(name: str) -> None:
    script = Script([said(GOOD[name])])
    answer = ask(reasoner_for(script), QUESTIONS[name])
    assert type(answer.value) is QUESTIONS[name].answer_type
    body = script.bodies[0]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert kit.QUERY in body["messages"][1]["content"]
    assert body["response_format"]["json_schema"]["schema"] == schema_of(WIRES[name])
    assert body["temperature"] == 0
    assert body["max_tokens"] == 1_000


@pytest.mark.parametrize("name", sorted(WIRES))
def test_the_saved_schemas_are_those_of_the_code_closed_and_complete(name: str) -> None:
    saved = json.loads((kit.TEMPLATES / f"{name}.schema.json").read_text("utf-8"))
    assert saved == schema_of(WIRES[name])
    for part in (saved, *saved.get("$defs", {}).values()):
        assert part["additionalProperties"] is False
        assert sorted(part["required"]) == sorted(part["properties"])


def test_perspectives_have_ids_by_place_and_no_more_questions_than_asked_for() -> None:
    views = cast(q.Perspectives, answered("perspectives")).perspectives
    assert [view.id for view in views] == ["basic-facts", "power-cuts", "sceptic"]
    assert views[0].questions == ("What?", "How?")


def test_a_thought_keeps_its_limit_and_loses_addresses() -> None:
    thought = answered("thought", {"reasoning": "r", "queries": ["see https://evil.example/?q=secret wal", "wal", "third"]})
    assert thought.queries == ("see wal", "wal")


def test_a_finding_names_its_question_by_key() -> None:
    (finding,) = answered("observation").findings
    assert finding.question == "What is a WAL?"
    assert finding.relevance == 0.9


def test_open_questions_are_the_perspectives_own() -> None:
    assert answered("evaluation", {"open_questions": ["Q2", "Q9", "Why?"], "reason": ""}).gaps == ("What survives?",)


def test_support_goes_both_ways_and_only_between_origins() -> None:
    facts = answered("cross_check").facts
    assert [(fact.fact_id, fact.support, fact.sources) for fact in facts] == [
        ("fact-a", ("fact-b",), 2),
        ("fact-b", ("fact-a",), 2),
    ]
    same = QUESTIONS["cross_check"].model_copy(update={"origins": {"fact-a": "one", "fact-b": "one"}})
    value = ask(reasoner_for(Script([said(GOOD["cross_check"])])), same).value
    assert all(fact.standing == "single" for fact in cast(q.CrossCheck, value).facts)


def test_a_contradiction_of_a_fact_with_itself_or_with_a_stranger_is_none() -> None:
    pairs = [{**GOOD["cross_check"]["contradictions"][0], "second": second} for second in ("E1", "E7", "E2")]
    found = answered("cross_check", {"confirmations": [], "contradictions": pairs}).contradictions
    assert [(pair.a, pair.b) for pair in found] == [("fact-a", "fact-b")]


def test_a_fact_belongs_to_the_first_section_that_names_it() -> None:
    section = GOOD["outline"]["sections"][0]
    outline = answered("outline", {"title": "t", "sections": [section, {**section, "evidence": ["E2", "[e1]"]}]})
    assert [plan.facts for plan in outline.sections] == [("fact-a", "fact-b")]


def test_text_loses_keys_addresses_and_what_is_beyond_its_words() -> None:
    texts = ["It holds 45 records [E1].", "See https://evil.example/?leak=1 for more.", "word " * 95]
    sentences = [{"text": text, "evidence": ["E1", "E99"]} for text in texts]
    section = answered("section", {"paragraphs": [{"sentences": sentences}]})
    assert [s.text for s in section.paragraphs[0].sentences] == ["It holds 45 records.", "See for more."]
    assert all(s.facts == ("fact-a",) for s in section.paragraphs[0].sentences)


def test_keys_that_were_not_given_out_are_removed_and_counted() -> None:
    sentence = {"text": "It holds 45 records.", "evidence": ["E1", "E99", "fact-b", ""]}
    answer = ask(reasoner_for(Script([said({"paragraphs": [{"sentences": [sentence]}]})])), QUESTIONS["section"])
    assert json.loads(answer.exchange)["removed"] == 3


def test_a_number_that_no_quote_holds_is_not_supported_whatever_the_model_says() -> None:
    sentences = tuple(kit.SENTENCES[0].model_copy(update={"text": text}) for text in ("It holds 46.", "It holds 45."))
    question = QUESTIONS["claim_check"].model_copy(update={"sentences": sentences})
    yes = {"verdicts": [{"sentence": f"T{n}", "supported": True, "reason": ""} for n in (1, 2)]}
    value = cast(q.ClaimCheck, ask(reasoner_for(Script([said(yes)])), question).value)
    assert [(verdict.sentence, verdict.supported) for verdict in value.verdicts] == [(0, False), (1, True)]


def test_two_verdicts_on_a_sentence_count_as_the_worse_one() -> None:
    verdicts = [{"sentence": f"T{n}", "supported": ok, "reason": ""} for n, ok in ((1, True), (2, True), (1, False), (2, True))]
    value = answered("claim_check", {"verdicts": verdicts})
    assert [verdict.supported for verdict in value.verdicts] == [False, True]


def test_a_revision_shows_the_draft_and_what_was_wrong_with_it() -> None:
    script = Script([said(GOOD["section"])])
    ask(reasoner_for(script), kit.REVISION)
    prompt = script.bodies[0]["messages"][1]["content"]
    assert "It may hold more. (E2) UNSUPPORTED: not said" in prompt


def test_a_worker_is_shown_its_levels_its_last_interactions_and_only_facts_that_were_not_folded() -> None:
    script = Script([said(GOOD["thought"])])
    context = kit.THOUGHT.context.model_copy(update={"folded": ("fact-a",)})
    ask(reasoner_for(script), kit.THOUGHT.model_copy(update={"context": context}))
    prompt = script.bodies[0]["messages"][1]["content"]
    assert prompt.index("L2: old") < prompt.index("L0: young") < prompt.index("Thought 1: x")
    assert kit.FACT_A.quote not in prompt
