"""The doors of simulated sessions: the scripted world, with latencies, faults and a bill of its own."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeVar

from pipeline.domain import reasoner_questions as q
from pipeline.domain.budget import CombinedBudget
from pipeline.domain.reasoner_questions import Reply
from pipeline.domain.research_values import Cost
from pipeline.errors import (
    AnswerInvalid,
    AnswerWithheld,
    ProviderRefused,
    ReadFailed,
    SearchFailed,
    ServiceUnavailable,
    StepError,
)
from pipeline.ports import Answer, Page, SearchResult
from tests.fakes import FakeFetch, FakeReasoner, FakeSearch, Journal

A = TypeVar("A", bound=Reply)
PRICE, WORST = 1_000_000, 3_000_000  # nano-dollars: what a call costs, and what it may cost at most


@dataclass
class Weather:
    """How likely it is that a call goes wrong, and how slow calls are. All chances are drawn from one seeded source."""

    chance: random.Random
    fault: float = 0.0
    refusal: float = 0.0
    slowest_s: float = 2.0

    def latency(self) -> float:
        return self.chance.random() * self.slowest_s

    def strikes(self, rate: float) -> bool:
        return rate > 0 and self.chance.random() < rate


@dataclass
class Provider:
    """Who sends the bill: nano-dollars billed, by session. ``unheard`` counts the calls whose reply never arrived."""

    billed: Counter[str] = field(default_factory=Counter)
    unheard: Counter[str] = field(default_factory=Counter)


@dataclass
class Asked:
    """Every call of one night by name, for one session."""

    journal: Journal
    weather: Weather
    provider: Provider
    session: str
    purse: CombinedBudget

    async def search(self, query: str, limit: int) -> SearchResult:
        await self._reach(SearchFailed("the search service is down"))
        return await FakeSearch(self.journal).search(query, limit)

    async def read(self, url: str) -> Page:
        await self._reach(ReadFailed("the page is gone"))
        return await FakeFetch(self.journal).read(url)

    async def _reach(self, failure: StepError) -> None:
        await asyncio.sleep(self.weather.latency())
        if self.weather.strikes(self.weather.fault):
            raise failure

    async def answer(self, question: q.Question[A]) -> Answer[A]:
        reserved = await self.purse.reserve(Cost(total_tokens=30, usd=WORST / 1e9))
        heard = False
        try:
            await asyncio.sleep(self.weather.latency() / 2)
            if self.weather.strikes(self.weather.refusal):
                raise ProviderRefused("402 Payment Required", hint="top up")
            if self.weather.strikes(self.weather.fault):
                raise ServiceUnavailable("the connection was refused")
            self.provider.billed[self.session] += PRICE
            await asyncio.sleep(self.weather.latency() / 2)
            heard = True
        except asyncio.CancelledError:
            self.provider.unheard[self.session] += 1
            raise
        finally:
            if not heard:
                self.purse.settle(reserved, None)
        answer = await FakeReasoner(self.journal).answer(question)
        self.purse.settle(reserved, answer.cost)
        if self.weather.strikes(self.weather.fault):
            error = self.weather.chance.choice([AnswerInvalid, AnswerWithheld])("not what was asked for")
            error.cost, error.exchange = answer.cost, answer.exchange
            raise error
        return answer
