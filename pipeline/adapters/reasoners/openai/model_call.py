"""Calls of a model: budget reservation before each attempt, one charge for each reply, and the transcript."""

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
    Unparsed,
    body_of,
    may_be_billed,
    meaning_of,
)
from pipeline.adapters.reasoners.openai.pricing import Prices, answered_by, is_absurd, states_usage, total
from pipeline.adapters.reasoners.openai.transcript import Transcript
from pipeline.domain.budget import CombinedBudget, Reservation
from pipeline.domain.values import Cost
from pipeline.errors import ServiceFailed, ServiceUnavailable
from pipeline.text.normalise import tokens
from pipeline.text.redaction import Redaction, Secret

MODEL_TIMEOUT_S = 240.0
_WAITS_S = 120.0  # what waits that the server asks for may add to the two tries of a call
_PER_MESSAGE = 16  # tokens that a server adds around a message


@dataclass(frozen=True, slots=True)
class Server:
    """A chat-completions server. ``name`` is that of its circuit breaker; ``base_url`` ends before ``/chat/completions``.

    ``deadline_s`` is the most wall-clock time for one exchange, in seconds. ``effort``: how much its models are to think.
    """

    name: str
    base_url: str
    key: Secret | None = None
    deadline_s: float = MODEL_TIMEOUT_S
    effort: str = ""

    @property
    def redaction(self) -> Redaction:
        """The redaction that removes the server's key from texts."""
        return Redaction((self.key,) if self.key else ())

    def call(self, body: dict[str, Any]) -> Call:
        """Return the call that sends ``body``. The key is in one header only."""
        headers = {"authorization": f"Bearer {self.key.reveal()}"} if self.key else {}
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        total_s = 2 * self.deadline_s + _WAITS_S
        return Call(self.name, "POST", url, headers=headers, json=body, deadline_s=self.deadline_s, total_s=total_s)


@dataclass
class AnswerCalls:
    """All calls of one answer: transcript, costs, and the model that answered last."""

    transcript: Transcript
    costs: list[Cost] = field(default_factory=list)
    model: str = ""

    @property
    def paid(self) -> int:
        """The number of calls that were charged, or may have been."""
        return sum(cost.total_tokens > 0 for cost in self.costs)

    def cost(self, asked: str) -> Cost:
        """Return the total cost of the calls; ``asked`` is the requested model."""
        return total(self.costs, asked, self.model or asked)


class AttemptCharges:
    """The reservations of one call's attempts; each lasts until the reply is charged or the attempt has ended without one."""

    def __init__(self, budget: CombinedBudget, worst: Cost, costs: list[Cost]) -> None:
        self._budget, self._worst, self._costs = budget, worst, costs
        self._open: list[tuple[Reservation, ...]] = []

    async def before(self) -> None:
        """Reserve the worst case of the next attempt.

        Raises:
            BudgetSpent: it would exceed a cap.
        """
        self._open.append(await self._budget.reserve(self._worst))

    def replied(self, cost: Cost) -> None:
        """Charge ``cost`` for the latest attempt."""
        self._budget.settle(self._open.pop(), cost)
        self._costs.append(cost)

    def ended(self, lost: int | None) -> None:
        """Charge the worst case for ``lost`` attempts (None: all without a reply); release those that were not sent."""
        unanswered = len(self._open)
        for number, reservations in enumerate(self._open):
            if number < (unanswered if lost is None else lost):
                self._budget.settle(reservations, self._worst)
                self._costs.append(self._worst)
            else:
                self._budget.release(reservations)
        self._open.clear()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model. ``last``: there is no further fallback if the model has no capacity.

    ``plain``: without a response format, whatever the model accepts.
    """

    model: str
    name: str
    messages: list[dict[str, str]]
    schema: dict[str, Any]
    max_tokens: int
    last: bool = True
    plain: bool = False


class ModelClient:
    """Calls one server's models, with request options that they accept."""

    def __init__(
        self, http: HttpClient, server: Server, prices: Prices, budget: CombinedBudget, capabilities: KnownCapabilities
    ) -> None:
        self._http, self._server, self._prices = http, server, prices
        self._budget, self.capabilities = budget, capabilities
        self._redaction = server.redaction

    def with_budget(self, budget: CombinedBudget) -> ModelClient:
        """Return a client that charges another budget and shares the known capabilities of the server."""
        return ModelClient(self._http, self._server, self._prices, budget, self.capabilities)

    def calls(self) -> AnswerCalls:
        """Return an empty record for the calls of a new answer."""
        return AnswerCalls(Transcript(self._redaction))

    async def ask(self, wanted: ModelRequest, calls: AnswerCalls) -> Meaning:
        """Return the meaning of the model's reply; a rejected request is sent again with other options.

        Raises:
            ServiceUnavailable, ServiceFailed: there is no usable reply.
            ProviderRefused: key, quota or credit.
            BudgetSpent: the call's worst case would exceed a cap.
        """
        while True:
            dialect = self.capabilities.of(wanted.model, plain=wanted.plain)
            body = dialect.body(wanted.model, wanted.messages, wanted.max_tokens, wanted.name, wanted.schema)
            found = await self._sent(body, wanted, calls)
            if not isinstance(found, BadRequest):
                if isinstance(found, Content) and not wanted.plain:
                    self.capabilities.prove(wanted.model)
                return found
            other = dialect.after(found.why, about_format=found.about_format)
            if other is None:
                raise ServiceFailed(f"{self._server.name} rejects the request: {found.why}")
            self.capabilities.learn(wanted.model, other)

    async def _sent(self, body: dict[str, Any], wanted: ModelRequest, calls: AnswerCalls) -> Meaning:
        worst = self._worst(wanted)
        meter = AttemptCharges(self._budget, worst, calls.costs)
        calls.transcript.asked(body)
        found: list[Meaning] = []
        lost: int | None = None
        try:
            judge = self._judge(wanted, worst, calls, meter, found)
            lost = (await self._http.send(self._server.call(body), judge, meter.before)).lost
        except (ServiceUnavailable, ServiceFailed) as error:
            lost = error.lost
            raise
        finally:
            calls.transcript.lost(lost or 0)
            meter.ended(lost)
        return found[-1]

    def _judge(
        self, wanted: ModelRequest, worst: Cost, calls: AnswerCalls, meter: AttemptCharges, found: list[Meaning]
    ) -> Callable[[Reply], Verdict]:
        def judge(reply: Reply) -> Verdict:
            said: Meaning = meaning_of(reply, self._redaction.text)
            cost = self._billed(reply, wanted, worst)
            if is_absurd(cost, worst):
                said, cost = _absurd(cost, worst), worst
            meter.replied(cost)
            calls.transcript.replied(reply, whole=isinstance(said, Content | CutOff | Unparsed))
            calls.model = cost.model if isinstance(said, Content) else calls.model
            found.append(said)
            return _verdict(said, last=wanted.last)

        return judge

    def _billed(self, reply: Reply, wanted: ModelRequest, worst: Cost) -> Cost:
        body = body_of(reply)
        if states_usage(body):
            return self._prices.billed(body, wanted.model, worst)
        model = answered_by(body) or wanted.model
        if may_be_billed(reply):
            return worst.model_copy(update={"model": model})
        return Cost(calls=1, model_requested=wanted.model, model=model)

    def _worst(self, wanted: ModelRequest) -> Cost:
        sent = sum(tokens(message["content"]) + _PER_MESSAGE for message in wanted.messages)
        return self._prices.worst(wanted.model, sent + tokens(str(wanted.schema)), wanted.max_tokens)


def _absurd(stated: Cost, worst: Cost) -> Refused:
    """Return the end of the night for a bill that cannot be true; it is charged at the call's worst case."""
    claimed = f"{stated.usd:,.2f} USD and {stated.total_tokens:,} tokens"
    why = f"a reply states {claimed} for one call, which can cost {worst.usd:.4f} USD and {worst.total_tokens:,} tokens at most"
    return Refused(
        why, "look at the account's bill before the next run; the reply is kept with the event", "states an absurd cost"
    )


def _verdict(said: Meaning, *, last: bool) -> Verdict:
    """Return what the retry policy should do; meanings that the reasoner handles itself count as good."""
    if isinstance(said, NoCapacity) and last:
        return Again(said.why, said.after_s, down=True)
    return said if isinstance(said, Again | Refused | Failed) else Good()
