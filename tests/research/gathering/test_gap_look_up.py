"""Gaps are looked up in the pages that the session has read before they are researched or printed."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from pipeline.adapters.reasoners.openai.prompting.page_excerpt import excerpt
from pipeline.domain import fold
from pipeline.domain.agenda.analysis_agenda import look_ups
from pipeline.domain.events import session_events as e
from pipeline.domain.findings import all_facts, open_gaps
from pipeline.domain.reasoner_questions import Finding, Observation, ObservationQuestion
from pipeline.domain.state import Analysis, PageDone, SessionState
from pipeline.domain.values import Cost, Gap
from pipeline.ports import Answer, Reasoner
from pipeline.reasoners.plain_answers import PassageReasoner
from pipeline.research import StepContext
from pipeline.research.performing import perform
from pipeline.text.normalise import digest_of, tokens
from tests.research.gathering.planted_gaps import PLANTED, UNANSWERED, pages

TEXTS = pages()


class ScriptedModel:
    """Answers a question if the planted sentence is in the excerpt that it is shown, in its own marks; else says nothing."""

    name = "scripted"

    def __init__(self) -> None:
        self.shown: list[int] = []

    async def answer(self, question: Any) -> Answer[Any]:
        assert isinstance(question, ObservationQuestion)
        assert question.part == "gap"
        asked = question.perspectives[0].questions[0]
        text = excerpt(question.text, [asked], 1_500).text
        self.shown.append(tokens(text))
        told = dict(PLANTED).get(asked, "")
        findings = (Finding(claim=told, quote=f"**{told}**", question=asked),) if told and told in text else ()
        return Answer(Observation(findings=findings), Cost(calls=1))


def _state(questions: list[str], texts: dict[str, str]) -> SessionState:
    state = SessionState(id="s", query="How does the pump behave?", status="analyzing")
    for url, text in texts.items():
        state.pages[url] = PageDone(url, text.split("\n")[0].strip("# "), digest_of(text.encode()), len(text), "")
    gaps = tuple(Gap(question=question, importance=0.9, reason="no fact") for question in questions)
    state.analyses.append(Analysis(0, validated=(), contradictions=(), gaps=gaps))
    return state


def _looked_up(state: SessionState, reasoner: Reasoner, texts: dict[str, str]) -> None:
    by_digest = {digest_of(text.encode()): text for text in texts.values()}
    context = StepContext(reasoner, cast(Any, None), cast(Any, None), by_digest.__getitem__)
    while steps := look_ups(state, state.analyses[0]):
        for step in steps:
            draft = asyncio.run(perform(step, state, context)).drafts[0]
            assert isinstance(draft, e.GapLookedUp)
            fold.apply(state, draft)


def test_no_gap_is_printed_that_a_stored_page_answers() -> None:
    assert len(PLANTED) >= 30
    state, model = _state([*(question for question, _ in PLANTED), *UNANSWERED], TEXTS), ScriptedModel()
    _looked_up(state, model, TEXTS)
    assert [gap.question for gap in open_gaps(state)] == list(UNANSWERED)
    assert {fact.quote for fact in all_facts(state)} == {told for _, told in PLANTED}
    assert max(model.shown) <= 1_600
    assert len(model.shown) <= 3 * (len(PLANTED) + len(UNANSWERED))


def test_without_a_model_a_passage_that_holds_all_names_of_the_gap_answers_it() -> None:
    state = _state([PLANTED[7][0], UNANSWERED[0]], TEXTS)
    _looked_up(state, PassageReasoner(), TEXTS)
    assert [gap.question for gap in open_gaps(state)] == [UNANSWERED[0]]
    assert any("Error code 17 means" in fact.quote for fact in all_facts(state))


def test_a_session_without_a_page_about_a_gap_asks_nobody() -> None:
    model = ScriptedModel()
    state = _state(["Which colour sells best in Peru?"], {"corpus:a.md": "# Logs\n\nA log is written at its end.\n"})
    _looked_up(state, model, {"corpus:a.md": "# Logs\n\nA log is written at its end.\n"})
    assert not model.shown
    assert [search.url for search in state.analyses[0].looked_up] == [""]
