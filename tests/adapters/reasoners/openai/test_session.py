"""A whole session whose reasoner is a model behind the HTTP client: the log's costs are those the server counted."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, defaultdict
from typing import Any

import httpx
import pytest

from pipeline.adapters.reasoners.budget_fallback import FallbackReasoner
from pipeline.domain.budget import Budget
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import Answered
from pipeline.domain.state import SessionState
from pipeline.engine.loop import run_session
from pipeline.errors import ProviderRefused
from pipeline.ports import Reasoner
from pipeline.reasoners.plain_answers import PassageReasoner
from pipeline.research import StepContext
from tests.adapters.reasoners.openai.kit import Script, reasoner_for, said
from tests.engine.test_loop import begin
from tests.fakes import Journal, MemoryStore, context_for, desk_for

QUOTE = re.compile(r"Pump \d+ delivers \d+ litres in mode \d\.")
KEYS = re.compile(r"^\[(E\d+)\] \"(.*?)\" \(", re.MULTILINE)
ASKED = re.compile(r"^ *\[(Q\d+)\] (.*)$", re.MULTILINE)
PRICE = 0.0005


def model(request: httpx.Request) -> httpx.Response:
    """A model that follows its instructions, and now and then cites what it was never given."""
    body = json.loads(request.content)
    prompt = body["messages"][1]["content"]
    content = RULES[body["response_format"]["json_schema"]["name"]](prompt)
    return said(content, usage={"prompt_tokens": 50, "completion_tokens": 5, "cost": PRICE})


def _section(prompt: str) -> Any:
    cited = KEYS.findall(prompt)[:4]
    sentences = [{"text": quote, "evidence": [key]} for key, quote in cited]
    sentences.append({"text": "It is good.", "evidence": [cited[0][0], "E999"]})
    return {"paragraphs": [{"sentences": [*sentences, {"text": "It is the best.", "evidence": []}]}]}


def _outline(prompt: str) -> Any:
    keys = [key for key, _ in KEYS.findall(prompt)]
    parts = [keys[start::3] for start in range(3)]
    return {
        "title": "Pumps",
        "sections": [{"title": f"Part {n}", "purpose": "", "evidence": part} for n, part in enumerate(parts)],
    }


def _verdicts(prompt: str) -> Any:
    keys = re.findall(r"^\[(T\d+)\] (.*)$", prompt, re.MULTILINE)
    return {"verdicts": [{"sentence": key, "supported": "best" not in text, "reason": "looked"} for key, text in keys]}


RULES: dict[str, Any] = {
    "perspectives": lambda _: {
        "perspectives": [
            {"name": f"View {n}", "focus": "f", "questions": [f"What of {n}?", f"How is {n}?"], "keywords": []} for n in range(2)
        ]
    },
    "thought": lambda prompt: {"reasoning": "r", "queries": [f"pumps {len(prompt)}", "valves"]},
    "observation": lambda prompt: {
        "findings": [
            {"claim": q, "quote": q, "question": "Q1", "relevance": "high"}
            for q in (*QUOTE.findall(prompt), "made up words here")
        ],
        "more_sections": [],
    },
    "evaluation": lambda prompt: {"open_questions": [*(key for key, _ in ASKED.findall(prompt)), "Q7"], "reason": "r"},
    "cross_check": lambda _: {"confirmations": [], "contradictions": []},
    "gaps": lambda _: {"gaps": []},
    "outline": _outline,
    "section": _section,
    "claim_check": _verdicts,
    "revision": lambda _: {"edits": [], "title": ""},
    "editing": lambda _: {"edits": [], "order": [], "to_do": [], "how_sure": []},
    "fold": lambda _: {"mode": "deep", "summary": "Pumps deliver litres."},
}


def researched(reasoner: Reasoner, store: MemoryStore, run: str = "run-1", **config: Any) -> SessionState:
    context = context_for(run)
    step_context = desk_for(store, Journal())
    step_context = StepContext(reasoner, step_context.search, step_context.fetch, step_context.page_text)
    session = begin(store, context, perspectives=2, iterations=2, gap_rounds=0, **config)
    return asyncio.run(run_session(session, store, step_context, context))


def logged(store: MemoryStore) -> float:
    events = decode_all(record.data for record in store.load("s1"))
    return sum(event.cost.usd for event in events if isinstance(event, Answered))


def test_a_session_ends_in_a_report_of_cited_quotes_and_its_costs_are_the_servers() -> None:
    script, ledger, store = Script([model]), Budget(), MemoryStore()
    state = researched(reasoner_for(script, budgets=(ledger,)), store, context_tokens=150)
    assert state.status == "complete"
    assert state.report is not None
    sentences = [s for part in state.report.sections for p in part.paragraphs for s in p.sentences]
    assert sentences
    assert all(state.facts[name].quote == sentence.text for sentence in sentences for name in sentence.facts)
    asked = Counter(body["response_format"]["json_schema"]["name"] for body in script.bodies)
    assert asked["fold"]
    assert asked["thought"] == 4
    assert logged(store) == pytest.approx(len(script.requests) * PRICE)
    assert ledger.usd == pytest.approx(len(script.requests) * PRICE)
    assert all(worker.levels for worker in state.workers.values() if worker.folds)


MOON = "The moon stores all logs."


@pytest.mark.parametrize(
    ("text", "evidence", "claimless"),
    [
        (MOON, ["E999"], True),
        (MOON, ["E1", "E999"], True),
        (MOON, ["E1, S77"], True),
        (f"{MOON} [E999]", [], True),
        (MOON, [], False),
    ],
)
def test_what_a_page_talks_the_writer_into_is_nowhere_in_the_report_though_the_checker_agrees(
    monkeypatch: pytest.MonkeyPatch, text: str, evidence: list[str], claimless: bool
) -> None:
    """The writer puts a page's claim beside its quotes, into each section and the summary; the checker says yes to all."""

    def section(prompt: str) -> Any:
        sentences = [{"text": quote, "evidence": [key]} for key, quote in KEYS.findall(prompt)[:4]]
        return {"paragraphs": [{"sentences": [{"text": text, "evidence": evidence}, *sentences]}]}

    def agrees(prompt: str) -> Any:
        keys = re.findall(r"^\[(T\d+)\] ", prompt, re.MULTILINE)
        verdicts = [{"sentence": key, "supported": True, "reason": ""} for key in keys]
        return {"verdicts": verdicts, "overstated": [], "claimless": keys if claimless else []}

    monkeypatch.setitem(RULES, "section", section)
    monkeypatch.setitem(RULES, "claim_check", agrees)
    state = researched(reasoner_for(Script([model])), MemoryStore())
    assert state.report is not None
    assert state.report.summary
    assert "moon" not in repr(state.report)


def test_a_question_has_one_key_in_all_prompts_of_a_session() -> None:
    script = Script([model])
    researched(reasoner_for(script), MemoryStore(), context_tokens=150, shares_pages=True)
    shown: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for body in script.bodies:
        shown[body["response_format"]["json_schema"]["name"]] |= set(ASKED.findall(body["messages"][1]["content"]))
    keys = {("Q1", "What of 0?"), ("Q2", "How is 0?"), ("Q3", "What of 1?"), ("Q4", "How is 1?")}
    assert shown["thought"] == shown["evaluation"] == shown["fold"] == shown["observation"] == keys


def test_a_session_whose_budget_is_spent_is_written_without_the_model() -> None:
    script, store = Script([model]), MemoryStore()
    ledger = Budget(cap_calls=9)
    state = researched(FallbackReasoner(reasoner_for(script, budgets=(ledger,)), PassageReasoner()), store)
    assert state.exhausted == "calls"
    assert state.report is not None
    assert len(script.requests) == 9
    assert logged(store) == pytest.approx(9 * PRICE)


def test_a_refused_key_is_one_hit_and_ends_the_run() -> None:
    script = Script([httpx.Response(401, json={"error": {"message": "No auth", "code": 401}})])
    with pytest.raises(ProviderRefused):
        researched(reasoner_for(script), MemoryStore())
    assert len(script.requests) == 1
