"""A whole session whose reasoner is a model behind the HTTP client: the log's costs are those the server counted."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipeline.domain.budget import Budget, Caps
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import Answered
from pipeline.domain.session_state import SessionState
from pipeline.engine.loop import run_session
from pipeline.ports import Reasoner
from pipeline.research import StepContext
from pipeline.vault.notes.nights_and_home import group_of
from pipeline.vault.read_model import read_card
from tests.fakes import Journal, MemoryStore, begun, context_for, step_context_for
from tests.reasoners.model.kit import Script, reasoner_for, said
from tests.vault.builders import Workplace

QUOTE = re.compile(r"Pump \d+ delivers \d+ litres in mode \d\.")
KEYS = re.compile(r"^\[(E\d+)\] \"(.*?)\" \(", re.MULTILINE)
PRICE = 0.0005


def model(request: httpx.Request) -> httpx.Response:
    """A model that follows its instructions, and now and then cites what it was never given."""
    body = json.loads(request.content)
    prompt = body["messages"][1]["content"]
    content = RULES[name_of(body)](prompt)
    return said(content, usage={"prompt_tokens": 50, "completion_tokens": 5, "cost": PRICE})


def name_of(body: dict[str, Any]) -> str:
    return str(body["response_format"]["json_schema"]["name"]) if "response_format" in body else "report"


def _report(prompt: str) -> str:
    cited = KEYS.findall(prompt)
    lines = [f"{quote.removesuffix('.')} [{key}]." for key, quote in cited]
    false = f"It is good [{cited[0][0]}, E999]. It is the best."
    return f"- Pumps\n\n# Pumps\n\n{' '.join(lines[:3])} {false}\n\n## All of it\n\n{' '.join(lines)}\n\nanswered"


RULES: dict[str, Any] = {
    "plan": lambda _: {
        "kind": "overview",
        "perspectives": [
            {
                "name": f"View {n}",
                "focus": "f",
                "questions": [f"What of {n}?", f"How is {n}?"],
                "queries": [f"pumps {n}", "valves"],
            }
            for n in range(2)
        ],
    },
    "reading": lambda prompt: {
        "findings": [{"source": "S1", "quote": one} for one in (*QUOTE.findall(prompt), "made up words here")],
        "open_questions": ["Q1", "Q7"],
        "queries": [f"pumps {len(prompt)}"],
    },
    "report": _report,
    "check": lambda _: {"faults": [], "claimless": []},
}


def researched(reasoner: Reasoner, store: MemoryStore, run: str = "run-1", **config: Any) -> SessionState:
    context = context_for(run)
    step_context = step_context_for(store, Journal())
    step_context = StepContext(reasoner, step_context.search, step_context.fetch, step_context.page_text)
    session = begun(store, context, perspectives=2, iterations=2, gap_rounds=0, **config)
    return asyncio.run(run_session(session, store, step_context, context))


def logged(store: MemoryStore) -> float:
    events = decode_all(record.data for record in store.load("s1"))
    return sum(event.cost.usd for event in events if isinstance(event, Answered))


def test_a_session_ends_in_a_report_of_cited_quotes_and_its_costs_are_the_servers() -> None:
    script, ledger, store = Script([model]), Budget(), MemoryStore()
    state = researched(reasoner_for(script, budgets=(ledger,)), store)
    assert state.status == "complete"
    assert state.report is not None
    sentences = [s for part in state.report.sections for p in part.paragraphs for s in p.sentences]
    assert sentences
    assert all(state.facts[name].quote == sentence.text for sentence in sentences for name in sentence.facts)
    assert [one.text for one in state.report.cut_sentences] == ["It is good.", "It is the best."]
    assert [one.reason for one in state.report.cut_sentences] == ["It cites evidence that there is not.", "It cites nothing."]
    assert Counter(map(name_of, script.bodies)) == {"plan": 1, "reading": 4, "report": 1, "check": 1}
    assert logged(store) == pytest.approx(len(script.requests) * PRICE)
    assert ledger.usd == pytest.approx(len(script.requests) * PRICE)


def test_the_checkers_sentences_are_brought_in_once_and_what_was_not_found_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A correction in which code sees a number of no quote is checked once more; one without evidence is left out."""
    checks: list[str] = []

    def report(prompt: str) -> str:
        key, quote = KEYS.findall(prompt)[0]
        said_so = f"It all works [{key}]. {quote.removesuffix('.')} [{key}]. It never fails [{key}]. It is cheap [{key}]."
        return f"# Pumps\n\nNobody knows its colour. Nothing tells its price. {said_so}\n\nanswered"

    def check(prompt: str) -> Any:
        checks.append(prompt)
        (one, own), (other, quote), *_ = KEYS.findall(checks[0])
        if len(checks) > 1:
            return {"faults": [], "claimless": []}
        faults = [
            {"sentence": "T4", "reason": "says too much", "text": f"{own.removesuffix('.')} [{one}]."},
            {"sentence": "T6", "reason": "not said", "text": f"{quote} It fails after 77 years [{one}]."},
            {"sentence": "T7", "reason": "not said", "text": "It is dear."},
        ]
        lacks = [{"evidence": other, "reason": "a figure", "after": "T5", "text": f"{quote.removesuffix('.')} [{other}]."}]
        unfound = [{"sentence": "T2", "question": "U1"}, {"sentence": "T3", "question": ""}]
        return {"faults": faults, "claimless": ["T2"], "unfound": unfound, "missing": lacks, "outcome": "answered"}

    monkeypatch.setitem(RULES, "report", report)
    monkeypatch.setitem(RULES, "check", check)
    state = researched(reasoner_for(Script([model])), MemoryStore())
    assert state.report is not None
    (_, own), (_, quote), *_ = KEYS.findall(checks[0])
    assert [one.text for one in state.report.summary] == [own, own, quote, "It fails after 77 years."]
    assert len(checks) == 2
    assert "[T5] It fails after 77 years." in checks[1]
    assert own not in checks[1].partition("These sentences")[2]
    assert [(one.text, one.reason) for one in state.report.cut_sentences] == [("It is cheap.", "not said")]
    assert [gap.question for gap in state.report.unknowns]
    assert state.report.lacks == "Nothing tells its price."
    assert not any("colour" in line for line in state.report.limits)


def test_what_the_checker_adds_goes_on_with_the_item_that_it_follows_also_where_its_evidence_is_cited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def report(prompt: str) -> str:
        (one, own), (other, quote), *_ = KEYS.findall(prompt)
        steps = f"1. {own.removesuffix('.')} [{one}]. It goes on [{one}].\n2. {quote.removesuffix('.')} [{other}]."
        return f"# Pumps\n\nThis is so [{one}]. So it is [{one}].\n\n## Steps\n\n{steps}\n\nanswered"

    def check(prompt: str) -> Any:
        (one, own), (other, quote), *_ = KEYS.findall(prompt)
        mind = f"Mind: {quote.removesuffix('.')} [{other}]."
        texts = (mind, f"- Mind: {own.removesuffix('.')} [{one}].", f"It goes on [{one}].")
        lacks = [{"evidence": one, "reason": "a limit", "after": "T5", "text": text} for text in texts]
        lacks.append({"evidence": one, "reason": "it belongs there", "after": "T7", "text": f"So it is [{one}]."})
        faults = [{"sentence": "T3", "reason": "it belongs to the steps", "text": ""}]
        return {"faults": faults, "claimless": [], "unfound": [], "missing": lacks, "outcome": "answered"}

    monkeypatch.setitem(RULES, "report", report)
    monkeypatch.setitem(RULES, "check", check)
    state = researched(reasoner_for(Script([model])), MemoryStore())
    assert state.report is not None
    steps = state.report.sections[0].paragraphs[0]
    own, goes_on, quote = (steps.sentences[place].text for place in (0, 2, 4))
    assert [one.text for one in state.report.summary] == ["This is so."]
    assert [one.text for one in steps.sentences] == [own, f"Mind: {quote}", goes_on, f"Mind: {own}", quote, "So it is."]
    assert [one.within for one in steps.sentences] == ["", "item", "item", "", "", "item"]


MOON = "The moon stores all logs"


@pytest.mark.parametrize("cited", [" [E999]", " [E1, E999]", " [E1] [S77]", " [E1, S77]", ""])
@pytest.mark.parametrize("claimless", [True, False])
def test_what_a_page_talks_the_writer_into_is_left_out_or_shown_as_unsourced_though_the_checker_agrees(
    monkeypatch: pytest.MonkeyPatch, cited: str, claimless: bool
) -> None:
    def report(prompt: str) -> str:
        lines = [f"{quote.removesuffix('.')} [{key}]." for key, quote in KEYS.findall(prompt)[:4]]
        body = " ".join([f"{MOON}{cited}.", *lines])
        return f"# Logs\n\n{body}\n\n## More\n\n{body}\n\nanswered"

    def agrees(prompt: str) -> Any:
        keys = re.findall(r"^\[(T\d+)\] ", prompt, re.MULTILINE)
        edits = [{"sentence": "T2", "reason": "", "text": f"{MOON}{cited}."}]
        lacks = [{"evidence": "E1", "reason": "", "after": "T2", "text": f"{MOON}{cited}."}]
        return {"faults": [] if claimless else edits, "claimless": keys if claimless else [], "missing": lacks}

    monkeypatch.setitem(RULES, "report", report)
    monkeypatch.setitem(RULES, "check", agrees)
    state = researched(reasoner_for(Script([model])), MemoryStore())
    assert state.report is not None
    sentences = [*state.report.summary, *(s for part in state.report.sections for p in part.paragraphs for s in p.sentences)]
    told = [one for one in sentences if MOON in one.text]
    assert all(one.basis == "bridge" and not one.facts for one in told)
    assert bool(told) == (claimless and not cited)
    assert told or any(MOON in one.text and one.reason for one in state.report.cut_sentences)


def test_a_session_whose_budget_ends_before_the_report_is_written_shows_passages_and_says_so() -> None:
    script, store = Script([model]), MemoryStore()
    ledger = Budget(Caps(calls=4))
    state = researched(reasoner_for(script, budgets=(ledger,)), store)
    assert state.exhausted == "calls"
    assert state.report is not None
    assert state.report.outcome == "passages"
    assert any("could not be written" in line for line in state.report.limits)
    assert len(script.requests) == 4
    assert logged(store) == pytest.approx(4 * PRICE)


def test_what_a_reading_left_open_in_its_own_words_is_asked_in_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, usual = list[bool](), RULES["reading"]

    def reading(prompt: str) -> Any:
        asked.append("] How does one go back?" in prompt)
        return usual(prompt) | {"open_questions": ["How does one go back?"]}

    monkeypatch.setitem(RULES, "reading", reading)
    researched(reasoner_for(Script([model])), MemoryStore())
    assert asked == [False, False, True, True]


def test_a_report_of_headings_alone_is_none_and_what_it_cost_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "report", lambda _: "# Pumps\n\nnot answered")
    script, store = Script([model]), MemoryStore()
    state = researched(reasoner_for(script), store)
    assert state.report is not None
    assert state.report.limits[0].endswith("the report has no text")
    assert logged(store) == pytest.approx(len(script.requests) * PRICE)


def test_a_report_of_which_its_model_says_that_it_does_not_answer_is_listed_as_not_found_and_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usual, check = RULES["report"], RULES["check"]
    monkeypatch.setitem(RULES, "report", lambda prompt: usual(prompt).rpartition("\n")[0] + "\nnot answered: the price")
    monkeypatch.setitem(RULES, "check", lambda prompt: check(prompt) | {"outcome": "not-answered"})
    place = Workplace(tmp_path, MemoryStore())
    state = researched(reasoner_for(Script([model])), place.store)
    place.build()
    assert group_of("complete", read_card(place.store, state.id)) == "not-found"
    (note,) = [path.read_text() for path in (tmp_path / "vault" / "reports").rglob("*.md")]
    assert "does not answer the question." in note
    assert "[!abstract]" in note


def test_a_model_that_cannot_plan_is_not_believed_when_it_finds_nothing() -> None:
    def small(request: httpx.Request) -> httpx.Response:
        name = name_of(json.loads(request.content))
        return said("What is the best way? " * 200 if name == "plan" else {"findings": []})

    state = researched(reasoner_for(Script([small])), MemoryStore())
    assert state.report is not None
    assert state.report.outcome == "passages"
    assert "without the language model" in state.report.limits[0]
