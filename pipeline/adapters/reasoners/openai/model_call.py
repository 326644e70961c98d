"""One call of a model: its worst case set aside before each attempt, every reply charged once, all of it noted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Refused, Reply, Verdict
from pipeline.adapters.http.client import HttpClient
from pipeline.adapters.reasoners.openai.capabilities import KnownCapabilities
from pipeline.adapters.reasoners.openai.completion_reply import (
    BadRequest,
    Content,
    CutOff,
    Meaning,
    NoCapacity,
    body_of,
    may_be_billed,
    meaning,
)
from pipeline.adapters.reasoners.openai.pricing import Prices, answered_by, states_usage, total
from pipeline.adapters.reasoners.openai.transcript import Transcript
from pipeline.domain.budget import CombinedBudget, Reservation
from pipeline.domain.values import Cost
from pipeline.errors import ServiceFailed, ServiceUnavailable
from pipeline.text.normalise import tokens
from pipeline.text.redaction import Redaction, Secret

_PER_MESSAGE = 16  # tokens that a server adds around a message


@dataclass(frozen=True, slots=True)
class Server:
    """A chat-completions server. ``name`` is its circuit's, ``base_url`` ends before ``/chat/completions``.

    ``deadline_s`` is the wall-clock time of one exchange, in seconds.
    """

    name: str
    base_url: str
    key: Secret | None = None
    deadline_s: float = 240.0

    @property
    def redaction(self) -> Redaction:
        """What takes the key out of a text."""
        return Redaction((self.key,) if self.key else ())

    def call(self, body: dict[str, Any]) -> Call:
        """Return the call that sends ``body``. The key stands in one header, and nowhere else."""
        headers = {"authorization": f"Bearer {self.key.reveal()}"} if self.key else {}
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        return Call(self.name, "POST", url, headers=headers, json=body, deadline_s=self.deadline_s)


@dataclass
class AnswerCalls:
    """All calls of one answer: what they cost, what was said, and the model that spoke last."""

    transcript: Transcript
    costs: list[Cost] = field(default_factory=list)
    model: str = ""

    def cost(self, asked: str) -> Cost:
        """Return what the whole talk cost; ``asked`` is the model that was to answer."""
        return total(self.costs, asked, self.model or asked)


class Meter:
    """The attempts of one call: each has its worst case set aside until its reply is charged, or known to have been lost."""

    def __init__(self, purse: CombinedBudget, worst: Cost, costs: list[Cost]) -> None:
        self._purse, self._worst, self._costs = purse, worst, costs
        self._open: list[tuple[Reservation, ...]] = []

    async def before(self) -> None:
        """Set the worst case of the next attempt aside.

        Raises:
            BudgetSpent: it does not fit.
        """
        self._open.append(await self._purse.reserve(self._worst))

    def replied(self, cost: Cost) -> None:
        """Charge the latest attempt."""
        self._purse.settle(self._open.pop(), cost)
        self._costs.append(cost)

    def ended(self, lost: int | None) -> None:
        """Charge the worst case for ``lost`` attempts (None: all that brought no reply); the others never reached the server."""
        unanswered = len(self._open)
        for number, reservations in enumerate(self._open):
            if number < (unanswered if lost is None else lost):
                self._purse.settle(reservations, self._worst)
                self._costs.append(self._worst)
            else:
                self._purse.release(reservations)
        self._open.clear()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a model. ``last``: there is no other model to turn to when this one has no capacity."""

    model: str
    name: str
    messages: list[dict[str, str]]
    schema: dict[str, Any]
    max_tokens: int
    last: bool = True


class ModelClient:
    """Asks one server's models, in the dialect that they understand."""

    def __init__(
        self, http: HttpClient, server: Server, prices: Prices, purse: CombinedBudget, dialects: KnownCapabilities
    ) -> None:
        self._http, self._server, self._prices = http, server, prices
        self._purse, self._dialects = purse, dialects
        self._redaction = server.redaction

    def charged_to(self, purse: CombinedBudget) -> ModelClient:
        """Return a caller that charges other ledgers, and shares all that was learnt of the server."""
        return ModelClient(self._http, self._server, self._prices, purse, self._dialects)

    def talk(self) -> AnswerCalls:
        """Begin an answer."""
        return AnswerCalls(Transcript(self._redaction))

    async def ask(self, wanted: Wanted, talk: AnswerCalls) -> Meaning:
        """Return what the model's reply means; requests that the server does not take are put in another way.

        Raises:
            ServiceUnavailable, ServiceFailed: there is no reply that could be used.
            ProviderRefused: key, quota or credit.
            BudgetSpent: the call's worst case does not fit.
        """
        while True:
            dialect = self._dialects.of(wanted.model)
            body = dialect.body(wanted.model, wanted.messages, wanted.max_tokens, wanted.name, wanted.schema)
            found = await self._sent(body, wanted, talk)
            if not isinstance(found, BadRequest):
                if isinstance(found, Content):
                    self._dialects.prove(wanted.model)
                return found
            other = dialect.after(found.why, about_format=found.about_format)
            if other is None:
                raise ServiceFailed(f"{self._server.name} does not take the request: {found.why}")
            self._dialects.learn(wanted.model, other)

    async def _sent(self, body: dict[str, Any], wanted: Wanted, talk: AnswerCalls) -> Meaning:
        worst = self._worst(wanted)
        meter = Meter(self._purse, worst, talk.costs)
        talk.transcript.asked(body)
        found: list[Meaning] = []
        lost: int | None = None
        try:
            judge = self._judge(wanted, worst, talk, meter, found)
            lost = (await self._http.send(self._server.call(body), judge, meter.before)).lost
        except (ServiceUnavailable, ServiceFailed) as error:
            lost = error.lost
            raise
        finally:
            talk.transcript.lost(lost or 0)
            meter.ended(lost)
        return found[-1]

    def _judge(
        self, wanted: Wanted, worst: Cost, talk: AnswerCalls, meter: Meter, found: list[Meaning]
    ) -> Callable[[Reply], Verdict]:
        def judge(reply: Reply) -> Verdict:
            said = meaning(reply, self._redaction.text)
            cost = self._billed(reply, wanted, worst)
            meter.replied(cost)
            talk.transcript.replied(reply, whole=isinstance(said, Content | CutOff))
            talk.model = cost.model if isinstance(said, Content) else talk.model
            found.append(said)
            return _verdict(said, last=wanted.last)

        return judge

    def _billed(self, reply: Reply, wanted: Wanted, worst: Cost) -> Cost:
        body = body_of(reply)
        if states_usage(body):
            return self._prices.billed(body, wanted.model, worst)
        model = answered_by(body) or wanted.model
        if may_be_billed(reply):
            return worst.model_copy(update={"model": model})
        return Cost(calls=1, model_requested=wanted.model, model=model)

    def _worst(self, wanted: Wanted) -> Cost:
        sent = sum(tokens(message["content"]) + _PER_MESSAGE for message in wanted.messages)
        return self._prices.worst(wanted.model, sent + tokens(str(wanted.schema)), wanted.max_tokens)


def _verdict(said: Meaning, *, last: bool) -> Verdict:
    """What the failure policy should do: what the reasoner deals with itself counts as good."""
    if isinstance(said, NoCapacity) and last:
        return Again(said.why, said.after_s)
    return said if isinstance(said, Again | Refused | Failed) else Good()
