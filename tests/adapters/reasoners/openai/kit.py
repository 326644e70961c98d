"""A scripted server behind the real HTTP client, and one question of each kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import httpx

from pipeline.adapters.http.client import HttpClient
from pipeline.adapters.http.retry_policy import SERVICES
from pipeline.adapters.reasoners.openai.model_call import Server
from pipeline.adapters.reasoners.openai.model_roles import Role, Roles
from pipeline.adapters.reasoners.openai.pricing import Price, Prices
from pipeline.adapters.reasoners.openai.prompting.prompt_templates import PromptTemplates
from pipeline.adapters.reasoners.openai.reasoner import OpenAIReasoner
from pipeline.domain import reasoner_questions as q
from pipeline.domain.budget import Budget
from pipeline.domain.reasoner_questions.memory_questions import EpisodeQuestion
from pipeline.domain.reasoner_questions.talk_questions import PastTurn, StandAloneQuestion, TalkQuestion
from pipeline.domain.values import Contradiction, Fact, Hit, Paragraph, Perspective, ReportSection, SectionPlan, Sentence, Value
from pipeline.ports import Answer
from pipeline.text.redaction import Secret

A = TypeVar("A", bound=Value)

TEMPLATES = Path(__file__).resolve().parents[4] / "templates" / "prompts"
KEY = "sk-canary-0123456789"
MODEL = "acme/one"
URL_A, URL_B = "https://a.example/wal", "https://b.example/wal"

Scripted = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


@dataclass
class Script:
    """Plays its replies in order, the last one for ever; keeps the requests."""

    replies: list[Scripted]
    requests: list[httpx.Request] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/models"):
            return httpx.Response(404)
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            return reply(request)
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]


async def _no_sleep(_seconds: float) -> None:
    return None


def http_for(script: Script) -> HttpClient:
    return HttpClient(SERVICES, transport=httpx.MockTransport(script), sleep=_no_sleep, random=Random(1))


def reasoner_for(
    script: Script,
    *,
    roles: Roles | None = None,
    budgets: Sequence[Budget] = (),
    prices: Prices | None = None,
    templates: Path = TEMPLATES,
) -> OpenAIReasoner:
    server = Server("acme", "https://models.acme-models.com/v1/", Secret(KEY, "ACME_API_KEY"))
    roles = roles or Roles.of(Role(MODEL, max_tokens=1_000))
    prices = prices or Prices(Price(1.0, 4.0))
    return OpenAIReasoner(
        http_for(script), server, roles, PromptTemplates(templates), prices, budgets, entropy=lambda n: b"\x07" * n
    )


def ask(reasoner: Any, question: q.Question[A]) -> Answer[A]:
    answer: Answer[A] = asyncio.run(reasoner.answer(question))
    return answer


def said(content: Any, **more: Any) -> httpx.Response:
    """A good reply; ``more`` replaces parts of the body, ``None`` drops ``usage``."""
    text = content if isinstance(content, str) else json.dumps(content)
    body: dict[str, Any] = {
        "id": "gen-1",
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, "cost": 0.001},
    }
    return httpx.Response(200, json=body | more)


def finished(reason: str, content: str | None = "", **more: Any) -> httpx.Response:
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **more}}
    return said("", choices=[choice])


def streamed(*pieces: str, end: str | None = "stop") -> httpx.Response:
    """The answer as a stream of events, its end and its usage last; without an end it breaks off."""
    told = [{"model": MODEL, "choices": [{"delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    last: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": end}], "usage": {"cost": 0.001, "prompt_tokens": 9}}
    events = "".join(f"data: {json.dumps(event)}\n\n" for event in [*told, last])
    return httpx.Response(200, content=f": ping\n\n{events}{'data: [DONE]' if end else ''}\n\n".encode())


def reply(status: int, body: Any, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def thinking(*replies: Scripted, fallbacks: tuple[str, ...] = ()) -> tuple[Script, Any]:
    script = Script(list(replies))
    roles = Roles.of(Role(MODEL, fallbacks, max_tokens=1_000))
    return script, reasoner_for(script, roles=roles)


# ---- questions -------------------------------------------------------------------------------------------------

VIEW = Perspective(id="basic-facts", name="Basic facts", focus="What it is.", questions=("What is a WAL?", "What survives?"))
FACT_A = Fact(id="fact-a", claim="c", quote="The log holds 45 records.", url=URL_A, digest="d" * 64, heading="Log", relevance=0.9)
FACT_B = Fact(id="fact-b", claim="c", quote="The log holds 54 records.", url=URL_B, digest="d" * 64, relevance=0.5)
ORIGINS = {"fact-a": "a.example", "fact-b": "b.example"}
QUERY = "How does a log survive?"
CLASH = Contradiction(id="c", subject="records", kind="number", a="fact-a", b="fact-b", explanation="45 or 54")

THOUGHT = q.ThoughtQuestion(
    query=QUERY,
    perspective=VIEW,
    iteration=2,
    facts=(FACT_A,),
    gaps=("What survives?",),
    asked=("wal",),
    summary="",
    limit=2,
    context=q.WorkerContext(levels=("young", "", "old"), folded=(), recent=("Thought 1: x",), queries=("wal",), pages=("WAL",)),
)
OBSERVATION = q.ObservationQuestion(
    query=QUERY,
    perspectives=(VIEW,),
    url=URL_A,
    title="WAL",
    text="# WAL\n\nThe log holds 45 records.",
    limit=3,
)
EVALUATION = q.EvaluationQuestion(query=QUERY, perspective=VIEW, iteration=1, facts=(FACT_A,), summary="")
SECTION = q.SectionQuestion(
    query=QUERY,
    section=SectionPlan(id="section_1", title="The log", facts=("fact-a", "fact-b"), purpose="Says what it holds."),
    facts=(FACT_A, FACT_B),
    validated=(),
    contradictions=(CLASH,),
    other_sections=("Recovery",),
    written=(),
    words=100,
)
SENTENCES = (Sentence(text="The log holds 45 records.", facts=("fact-a",)), Sentence(text="It may hold more.", facts=("fact-b",)))
QUESTIONS: dict[str, q.Question[Any]] = {
    "perspectives": q.PerspectivesQuestion(
        query=QUERY, hits=(Hit(url=URL_A, title="WAL", snippet="A log."),), count=3, questions=2
    ),
    "thought": THOUGHT,
    "observation": OBSERVATION,
    "evaluation": EVALUATION,
    "cross_check": q.CrossCheckQuestion(query=QUERY, groups=((FACT_A, FACT_B),), origins=ORIGINS),
    "gaps": q.GapsQuestion(
        query=QUERY, perspectives=(VIEW,), facts=(FACT_A, FACT_B), validated=(), contradictions=(CLASH,), open_questions=("Why?",)
    ),
    "outline": q.OutlineQuestion(
        query=QUERY,
        perspectives=(VIEW,),
        facts=(FACT_A, FACT_B),
        validated=(),
        contradictions=(CLASH,),
        min_sections=2,
        max_sections=3,
        words=600,
    ),
    "section": SECTION,
    "claim_check": q.ClaimCheckQuestion(query=QUERY, sentences=SENTENCES, facts=(FACT_A, FACT_B)),
    "revision": q.RevisionQuestion(
        query=QUERY,
        section=SECTION.section,
        sentences=SENTENCES[1:],
        reasons=("not said",),
        facts=(FACT_A, FACT_B),
        today="2026-11-21",
    ),
    "editing": q.EditingQuestion(
        query=QUERY,
        title="Logs",
        sections=(
            ReportSection(id="summary", title="Summary", paragraphs=(Paragraph(sentences=SENTENCES[:1]),)),
            ReportSection(id="section_1", title="The log", paragraphs=(Paragraph(sentences=SENTENCES),)),
        ),
        facts=(FACT_A, FACT_B),
        validated=(),
        contradictions=(CLASH,),
        gaps=(),
        words=20,
        today="2026-11-21",
    ),
    "fold": q.FoldQuestion(
        query=QUERY, perspective=VIEW, facts=(FACT_A,), searches=("wal",), summary="", limit_tokens=100, context=THOUGHT.context
    ),
    "stand_alone": StandAloneQuestion(
        query=QUERY, history=(PastTurn(question="What is a WAL?", answer="A log."),), folded=("Why?",), subject="logs"
    ),
    "talk": TalkQuestion(
        query=QUERY, facts=(FACT_A, FACT_B), words=20, history=(PastTurn(question="What is a WAL?"),), today="2026-11-21"
    ),
    "episode": EpisodeQuestion(query=QUERY, facts=(FACT_A, FACT_B), open=("How large?",), today="2026-11-21"),
}
GOOD: dict[str, dict[str, Any]] = {
    "perspectives": {
        "perspectives": [
            {"name": "Facts", "focus": "f", "questions": ["What?", "How?", "Too many?"], "keywords": ["wal"]},
            {"name": "Power cuts", "focus": "f", "questions": ["When?"], "keywords": []},
            {"name": "Doubts", "focus": "f", "questions": ["Why not?"], "keywords": []},
        ]
    },
    "thought": {"reasoning": "More is needed.", "queries": ["wal fsync", "wal fsync", "wal torn write", "one too many"]},
    "observation": {
        "findings": [{"claim": "45.", "quote": "The log holds 45 records.", "question": "Q1", "relevance": "high"}],
        "more_sections": [],
    },
    "evaluation": {"open_questions": ["Q2"], "reason": "Nothing on it."},
    "cross_check": {
        "confirmations": [{"evidence": "E1", "confirmed_by": ["E2"], "confidence": "high"}],
        "contradictions": [{"first": "E1", "second": "E2", "subject": "records", "kind": "number", "explanation": "45 or 54"}],
    },
    "gaps": {"gaps": [{"question": "Why 45?", "importance": "high", "reason": "one source", "perspective": "P1"}]},
    "outline": {"title": "Logs", "sections": [{"title": "The log", "purpose": "p", "evidence": ["E1", "E2"]}]},
    "section": {"paragraphs": [{"sentences": [{"text": "The log holds 45 records.", "evidence": ["E1"]}]}]},
    "claim_check": {
        "verdicts": [{"sentence": "T1", "supported": True, "reason": "r"}, {"sentence": "T2", "supported": False, "reason": "r"}]
    },
    "revision": {
        "edits": [{"sentence": "T1", "drop": False, "text": "It holds 54.", "evidence": ["E2"], "basis": "quoted", "cells": []}],
        "title": "",
    },
    "editing": {
        "edits": [{"sentence": "T3", "drop": True, "text": "", "evidence": [], "basis": "quoted", "cells": []}],
        "order": ["R1"],
        "to_do": [{"text": "Count the records.", "evidence": ["E1", "E2"], "basis": "derived", "cells": []}],
        "how_sure": [],
    },
    "fold": {"mode": "deep", "summary": "The log holds 45 records."},
    "stand_alone": {"question": "How does a write-ahead log survive?"},
    "talk": {
        "sentences": [{"text": "It holds 45 records.", "evidence": ["E1"], "basis": "quoted", "cells": []}],
        "follow_ups": ["How large is it?"],
    },
    "episode": {"episode": [{"text": "It holds 45 records.", "evidence": ["E1"], "basis": "quoted", "cells": []}]},
}
