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

from pipeline.config.queue_schema import ModelChoice, Price
from pipeline.config.services import ModelServer
from pipeline.domain import reasoner_questions as q
from pipeline.domain.budget import Budget
from pipeline.domain.reasoner_questions import EpisodeQuestion, PastTurn, Reply, StandAloneQuestion, TalkQuestion
from pipeline.domain.research_values import Fact, Hit, Perspective
from pipeline.net.client import SERVICES, HttpClient
from pipeline.ports import Answer
from pipeline.reasoners.model.call_costs import Prices
from pipeline.reasoners.model.prompts import PromptTemplates
from pipeline.reasoners.model.reasoner import OpenAIReasoner
from pipeline.text.redaction import Secret

A = TypeVar("A", bound=Reply)

TEMPLATES = Path(__file__).resolve().parents[3] / "templates" / "prompts"
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
    fallbacks: tuple[str, ...] = (),
    roles: tuple[tuple[str, str], ...] = (),
    budgets: Sequence[Budget] = (),
    prices: Prices | None = None,
    templates: Path = TEMPLATES,
) -> OpenAIReasoner:
    choice = ModelChoice(MODEL, fallback=fallbacks, roles=roles, max_tokens=1_000)
    server = ModelServer("acme", "https://models.acme-models.com/v1/", Secret(KEY, "ACME_API_KEY"), MODEL, choice)
    prices = prices or Prices(Price(1.0, 4.0))
    return OpenAIReasoner(http_for(script), server, PromptTemplates(templates), prices, budgets, entropy=lambda n: b"\x07" * n)


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
    return script, reasoner_for(script, fallbacks=fallbacks)


# ---- questions -------------------------------------------------------------------------------------------------

VIEW = Perspective(id="basic-facts", name="Basic facts", focus="What it is.", questions=("What is a WAL?", "What survives?"))
FACT_A = Fact(id="fact-a", claim="c", quote="The log holds 45 records.", url=URL_A, digest="d" * 64, heading="Log", relevance=0.9)
FACT_B = Fact(id="fact-b", claim="c", quote="The log holds 54 records.", url=URL_B, digest="d" * 64, relevance=0.5)
FACTS = {"E1": FACT_A, "E2": FACT_B}
QUERY = "How does a log survive?"
TODAY = "2026-11-21"
SENTENCES = {
    "T1": q.CheckedSentence(text="The log holds 45 records.", keys=("E1",)),
    "T2": q.CheckedSentence(text="It may hold more.", keys=("E2",), warning="no quote names Moon"),
}
READING = q.ReadingQuestion(
    query=QUERY,
    perspective=VIEW,
    questions={"Q1": "What is a WAL?", "Q2": "What survives?"},
    pages={"S1": q.ShownPage(url=URL_A, title="WAL", text="# WAL\n\nThe log holds 45 records.")},
    asked=("wal",),
    known=("A log is a file.",),
    today=TODAY,
)
QUESTIONS: dict[str, q.Question[Any]] = {
    "plan": q.PlanQuestion(query=QUERY, hits=(Hit(url=URL_A, title="WAL", snippet="A log."),), count=3, questions=2, today=TODAY),
    "reading": READING,
    "report": q.ReportQuestion(query=QUERY, facts=FACTS, unknown=("How large?",), today=TODAY),
    "check": q.CheckQuestion(query=QUERY, facts=FACTS, sentences=SENTENCES, today=TODAY),
    "stand_alone": StandAloneQuestion(
        query=QUERY, history=(PastTurn(question="What is a WAL?", answer="A log."),), folded=("Why?",), subject="logs"
    ),
    "talk": TalkQuestion(query=QUERY, facts=FACTS, words=20, history=(PastTurn(question="What is a WAL?"),), today=TODAY),
    "episode": EpisodeQuestion(query=QUERY, facts=FACTS, open=("How large?",), today=TODAY),
}
REPORT = "- What it holds\n\n# Logs\n\nIt holds 45 records [E1].\n\n## The log\n\nAnother says 54 [E2].\n\nanswered"
GOOD: dict[str, Any] = {
    "plan": {
        "kind": "explanation",
        "perspectives": [
            {"name": "Facts", "focus": "f", "questions": ["What?", "How?"], "queries": ["wal"]},
            {"name": "Doubts", "focus": "f", "questions": ["Why not?"], "queries": []},
        ],
    },
    "reading": {
        "findings": [{"source": "S1", "quote": "The log holds 45 records.", "claim": "", "question": "Q1"}],
        "open_questions": ["Q2"],
        "queries": ["wal fsync", "wal torn write"],
    },
    "report": REPORT,
    "check": {
        "faults": [{"sentence": "T2", "reason": "r", "text": "It holds 54 [E2]."}],
        "claimless": [],
        "unfound": [],
        "missing": [],
        "contradictions": [{"first": "E1", "second": "E2", "subject": "records", "kind": "number", "explanation": "45 or 54"}],
        "overstated": [],
        "outcome": "answered",
    },
    "stand_alone": {"question": "How does a write-ahead log survive?"},
    "talk": {"answer": "It holds 45 records [E1].", "follow_ups": ["How large is it?"]},
    "episode": {"episode": "It holds 45 records [E1]."},
}
