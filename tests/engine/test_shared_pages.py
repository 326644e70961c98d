"""Sessions whose workers share pages and know of each other, with scripted fakes at the real doors."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain import reasoner_questions as q
from pipeline.domain.session_state import SessionState
from pipeline.engine.loop import run_session
from pipeline.ports import Answer
from pipeline.reasoners.model.prompts import Delimiters, PromptTemplates, view_of
from pipeline.text.cleaning import tokens
from tests.fakes import FakeReasoner, Journal, MemoryStore, begun, context_for, report_bytes, seeded_latency, step_context_for
from tests.seeds import FULL, SEED

TEMPLATES = Path(__file__).parents[2] / "templates" / "prompts"


class Asked(FakeReasoner):
    """Keeps each question as text."""

    questions: list[str]

    async def answer(self, question: q.Question[Any]) -> Answer[Any]:
        self.questions = [*getattr(self, "questions", ()), f"{question.name} {question.model_dump_json()}"]
        return await super().answer(question)

    def of(self, name: str) -> list[str]:
        return sorted(text for text in self.questions if text.startswith(f"{name} "))


def research(asked: Asked, **config: Any) -> SessionState:
    store, context = MemoryStore(), context_for()
    session = begun(store, context, **config)
    step_context = replace(step_context_for(store, asked.journal), reasoner=asked)
    return asyncio.run(run_session(session, store, step_context, context))


@pytest.fixture(scope="module")
def readings() -> list[q.ReadingQuestion]:
    asked = Asked(Journal())
    research(asked)
    return [q.ReadingQuestion.model_validate_json(text.partition(" ")[2]) for text in asked.of("reading")]


@pytest.mark.parametrize("seed", range(SEED, SEED + (25 if FULL else 3)))
@pytest.mark.parametrize("workers", [5, 2])
def test_neither_report_nor_questions_depend_on_which_step_ends_first(seed: int, workers: int) -> None:
    first, other = Asked(Journal()), Asked(Journal(latency=seeded_latency(seed)))
    reports = [report_bytes(research(asked, max_workers=workers)) for asked in (first, other)]
    assert reports[0] == reports[1]
    for name in ("plan", "reading", "report", "check"):
        assert other.of(name) == first.of(name)


def test_a_page_is_read_once_by_one_worker_for_the_questions_of_all_perspectives(readings: list[q.ReadingQuestion]) -> None:
    first = [one for one in readings if not one.perspective.id.startswith("gap-")]
    read = [page.url for one in first for page in one.pages.values()]
    assert len(read) == len(set(read))
    assert {len(one.questions) for one in first} == {10, 11}, "five perspectives with two questions each, and what one left open"


def test_a_worker_knows_what_was_searched_for_and_found_before(readings: list[q.ReadingQuestion]) -> None:
    for one in readings:
        assert "common 1" in one.asked
        assert bool(one.known) == (one.iteration > 1 or one.perspective.id.startswith("gap-"))
    first = [one for one in readings if not one.perspective.id.startswith("gap-")]
    assert {one.iteration for one in first if "How loud is it then?" in one.questions.values()} == {2, 3}  # what one left open


@pytest.mark.parametrize("window", [6_000, 8_000, 32_000, 200_000])
def test_in_every_window_all_facts_are_shown_to_some_writing_and_the_question_is_answered(window: int) -> None:
    asked = Asked(Journal())
    state = research(asked, context_tokens=window)
    written = [q.ReportQuestion.model_validate_json(text.partition(" ")[2]) for text in asked.of("report")]
    shown = {fact.id for one in written if one.part for fact in one.facts.values()}
    assert shown == set(state.facts)
    assert len({one.parts for one in written}) == 1
    assert (written[0].parts > 1) == (window < 32_000)
    assert all(one.on for one in written if one.part and one.parts > 1)
    checked = [q.CheckQuestion.model_validate_json(text.partition(" ")[2]) for text in asked.of("check")]
    cited = [{key for sentence in one.sentences.values() for key in sentence.keys} for one in checked]
    assert all(keys <= one.facts.keys() for keys, one in zip(cited, checked, strict=True))
    assert state.report is not None
    assert state.report.outcome == "answered"
    assert not state.report.cut_sentences
    views = Delimiters(b"0" * 16)
    prompts = [PromptTemplates(TEMPLATES).messages("report", view_of(one, views, 10**6)) for one in written]
    assert all(tokens(str(prompt)) < window * 3 // 4 for prompt in prompts)  # the rest is the reply's
