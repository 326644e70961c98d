"""The judged sentences: true and false ones over quotes of two texts, the verdicts recorded for them, and the program's check.

``judged.json`` holds ``quotes`` by key (page, title, claim, quote), ``sentences`` (text, cites, basis, kind, whether it is true)
and ``verdicts``: what a reader who saw only the prompt said of each sentence.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any, cast

from pipeline.domain import reasoner_questions as q
from pipeline.domain.events import session_events as e
from pipeline.domain.state import Section, SessionState
from pipeline.domain.steps import CheckSection
from pipeline.domain.values import Fact, Paragraph, SectionPlan, Sentence, Verdict
from pipeline.ports import Answer
from pipeline.research.claims.checking import check_section
from pipeline.research.claims.text import valid_paragraphs
from pipeline.research.step_context import StepContext

PARTS = ("first", "second", "third")  # the third: what an honest limit, advice or a sum could smuggle in
QUERY = "What do checkpoints, autovacuum and log shipping cost, and what did the field reports measure?"
SET: dict[str, Any] = json.loads((Path(__file__).parent / "judged.json").read_text("utf-8"))
IN_A_SECTION = 17
FACTS = {
    key: Fact(
        id=f"fact-{key}",
        claim=said["claim"],
        quote=said["quote"],
        url=f"file:///{said['page']}",
        digest="d" * 64,
        path=(said["title"],),
        heading=said["title"],
    )
    for key, said in SET["quotes"].items()
}


def sentence_of(case: dict[str, Any]) -> Sentence:
    return Sentence(text=case["text"], facts=tuple(FACTS[key].id for key in case["cites"]), basis=case["basis"])


def sections(half: str) -> list[Paragraph]:
    """Return a part of the set by its name: its sentences in an order of chance, as the program would keep what a model wrote."""
    cases = [case for case in SET["sentences"] if case["half"] == half]
    Random(half).shuffle(cases)
    parts = [cases[at : at + IN_A_SECTION] for at in range(0, len(cases), IN_A_SECTION)]
    known = [fact.id for fact in FACTS.values()]
    return [valid_paragraphs((Paragraph(sentences=tuple(map(sentence_of, part))),), known)[0] for part in parts]


class Recorded:
    """Answers a check with the recorded verdicts; a ``trusting`` one supports everything."""

    def __init__(self, *, trusting: bool = False) -> None:
        self.trusting = trusting
        self.asked: list[q.ClaimCheckQuestion] = []

    async def answer(self, question: q.Question[Any]) -> Answer[Any]:
        self.asked.append(cast("q.ClaimCheckQuestion", question))
        asked = self.asked[-1].sentences
        said = (self.trusting or SET["verdicts"][sentence.text] for sentence in asked)
        verdicts = (Verdict(sentence=place, supported=supported) for place, supported in enumerate(said))
        heading = Verdict(sentence=len(asked), supported=True)
        return Answer(q.ClaimCheck(verdicts=(*verdicts, heading)))


def checked(paragraph: Paragraph, reasoner: Any) -> dict[str, str]:
    """Return the sentences that the program's check refuses, each with the reason, by text."""
    state = SessionState(query=QUERY, started_at="2026-11-21T02:00:00.000Z", facts={fact.id: fact for fact in FACTS.values()})
    state.sections["part"] = Section(SectionPlan(id="part", title="Costs and limits", facts=tuple(state.facts)), (paragraph,))
    none = cast("Any", None)
    context = StepContext(reasoner, none, none, lambda _: "")
    (event,) = asyncio.run(check_section(CheckSection("part", 0), state, context)).drafts
    assert isinstance(event, e.ClaimsChecked)
    return {paragraph.sentences[one.sentence].text: one.reason or "judged" for one in event.verdicts if not one.supported}
