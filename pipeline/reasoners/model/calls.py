"""Calls of a model: role, server and pace, budget reservation before each attempt, one charge for each reply, the transcript."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from pipeline.config.services import ModelServer
from pipeline.domain.budget import CombinedBudget
from pipeline.domain.research_values import Cost
from pipeline.errors import AnswerInvalid, ServiceFailed
from pipeline.net.calls_and_replies import Again, AttemptCharges, Call, Failed, Good, Refused, Reply, Verdict, loop_time
from pipeline.net.client import HttpClient
from pipeline.reasoners.model.call_costs import Prices, answered_by, is_absurd, total
from pipeline.reasoners.model.capabilities import KnownCapabilities, Message, window_of
from pipeline.reasoners.model.completion_replies import (
    TAIL,
    BadRequest,
    Content,
    CutOff,
    Endless,
    Meaning,
    NoCapacity,
    Unparsed,
    body_of,
    may_be_billed,
    meaning_of,
    repeats,
    text_of_event,
    whole,
)
from pipeline.text.cleaning import tokens
from pipeline.text.redaction import Redaction

RoleName = Literal["plan", "read", "write", "check"]

ROLE_OF: Mapping[str, RoleName] = MappingProxyType(
    {
        "plan": "plan",
        "reading": "read",
        "report": "write",
        "check": "check",
        "stand_alone": "read",
        "talk": "write",
        "episode": "write",
    }
)
# How much a model that thinks is to think, where the settings do not say; "" leaves it to the model.
EFFORT_OF: Mapping[RoleName, str] = MappingProxyType({"plan": "high", "read": "low", "write": "", "check": "high"})

_KEPT_OF_ERROR = 2_000  # bytes kept of an error reply


_WAITS_S = 120.0  # what waits that the server asks for may add to the two tries of a call
_TIMES = 4  # the deadline: the longest time for a reply that comes in pieces
_EVENTS = (2, 500)  # times the tokens of a reply, and more: events after which a model talks without end
_PER_MESSAGE = 16  # tokens that a server adds around a message


def call_of(server: ModelServer, body: dict[str, Any]) -> Call:
    """Return the call that sends ``body``. The key is in one header only."""
    url = f"{server.base_url.rstrip('/')}/chat/completions"
    most = int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)
    deadline_s = server.timeout_s
    total_s = (_TIMES + 1) * deadline_s + _WAITS_S
    pace = partial(Pace, deadline_s, most) if body.get("stream") else None
    return Call(server.name, "POST", url, headers=server.headers, json=body, deadline_s=deadline_s, total_s=total_s, pace=pace)


class Pace:
    """Tells a slow model from a dead one, and from one that talks without end.

    While a model only thinks in silence, the next piece may take the whole deadline, later half of it. A model that sends more
    events than its reply may have tokens, or repeats itself, or does not end in four times the deadline, is stopped.
    """

    def __init__(self, deadline_s: float, most_tokens: int) -> None:
        self._deadline_s, self._until = deadline_s, loop_time() + _TIMES * deadline_s
        self._events_left = _EVENTS[0] * most_tokens + _EVENTS[1]
        self._rest, self._tail, self._talks, self._new = b"", "", False, 0

    def __call__(self, piece: bytes) -> float:
        """Return the seconds within which the next piece must come; 0 to stop the model."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._events_left -= 1
                text = text_of_event(line)
                self._talks = self._talks or bool(text)
                self._tail, self._new = (self._tail + text)[-TAIL:], self._new + len(text)
        if self._new > TAIL // 4:
            self._new = 0
            self._events_left = -1 if repeats(self._tail) else self._events_left
        if self._events_left < 0:
            return 0.0
        return min(self._deadline_s / 2 if self._talks else self._deadline_s, self._until - loop_time())


@dataclass
class AnswerCalls:
    """All calls of one answer: requests with their replies, costs, and the model that answered last."""

    sent: list[dict[str, Any]] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    model: str = ""

    def replied(self, reply: Reply, *, whole: bool) -> None:
        """Add a reply to the latest request; if not ``whole``, only its beginning is kept."""
        data = reply.body if whole else reply.body[:_KEPT_OF_ERROR]
        kept: dict[str, Any] = {"status": reply.status, "body": data.decode("utf-8", "backslashreplace")}
        if len(data) < len(reply.body):
            kept["bytes"] = len(reply.body)
        self.sent[-1]["replies"].append(kept)

    @property
    def paid(self) -> int:
        """The number of calls that were charged, or may have been."""
        return sum(cost.total_tokens > 0 for cost in self.costs)

    def cost(self, asked: str) -> Cost:
        """Return the total cost of the calls; ``asked`` is the requested model."""
        return total(self.costs, asked, self.model or asked)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model, for the question ``name``. ``schema``: {} for a reply that is a text.

    ``last``: there is no further fallback if the model has no capacity. ``plain``: without a response format, whatever the model
    accepts.
    """

    model: str
    name: str
    messages: Sequence[Message]
    schema: dict[str, Any]
    max_tokens: int
    last: bool = True
    plain: bool = False


class ModelClient:
    """Calls one server's models, with request options that they accept."""

    def __init__(
        self, http: HttpClient, server: ModelServer, prices: Prices, budget: CombinedBudget, capabilities: KnownCapabilities
    ) -> None:
        self._http, self._server, self._prices = http, server, prices
        self._budget, self.capabilities = budget, capabilities
        self._redaction = Redaction((server.key,) if server.key else ())

    def with_budget(self, budget: CombinedBudget) -> ModelClient:
        """Return a client that charges another budget and shares the known capabilities of the server."""
        return ModelClient(self._http, self._server, self._prices, budget, self.capabilities)

    def exchange(self, calls: AnswerCalls) -> bytes:
        """Return an answer's calls as canonical JSON without the key, in case a server echoes it; b"" if nothing was sent."""
        if not calls.sent:
            return b""
        text = json.dumps({"calls": calls.sent}, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return self._redaction.data(text.encode("utf-8", "replace"))

    async def window(self, model: str) -> int:
        """Return the model's context in tokens, 0 if neither the settings nor its server say it; it is asked once a run."""
        known, server = self.capabilities.windows, self._server
        async with self.capabilities.asking:
            if model not in known:
                said = server.choice.context
                known[model] = said or await window_of(self._http, server.name, server.base_url, server.key, model)
        return known[model]

    async def ask(self, wanted: ModelRequest, calls: AnswerCalls) -> Meaning:
        """Return the meaning of the model's reply; a rejected request is sent again with other options.

        Raises:
            ServiceUnavailable, ServiceFailed: there is no usable reply.
            ProviderRefused: key, quota or credit.
            BudgetSpent: the call's worst case would exceed a cap.
            AnswerInvalid: the model talked without end.
        """
        effort = self._server.choice.effort or EFFORT_OF.get(ROLE_OF.get(wanted.name, "write"), "")
        while True:
            dialect = self.capabilities.of(wanted.model, plain=wanted.plain)
            body = dialect.body(wanted.model, wanted.messages, wanted.max_tokens, wanted.name, wanted.schema, effort)
            found = await self._sent(body, wanted, calls)
            if isinstance(found, Endless):
                raise AnswerInvalid(
                    f"{wanted.model} talked without end and was stopped",
                    hint="the exchange is kept with the event; name a larger model in queries.yaml (`reasoner:`)",
                )
            if not isinstance(found, BadRequest):
                known, model = self.capabilities, wanted.model
                if isinstance(found, Content):
                    if self._server.key is None and known.windows.get(model) == 0 and not known.of(model).proven:
                        known.windows.pop(model)  # Ollama lists the context of loaded models, so of this one only now
                        await self.window(model)
                    if not wanted.plain:
                        known.prove(model)
                return found
            other = dialect.after(found.why, about_format=found.about_format)
            if other is None:
                raise ServiceFailed(f"{self._server.name} rejects the request: {found.why}")
            self.capabilities.learn(wanted.model, other)

    async def _sent(self, body: dict[str, Any], wanted: ModelRequest, calls: AnswerCalls) -> Meaning:
        worst = self._worst(wanted)
        meter = AttemptCharges(self._budget, worst, calls.costs)
        calls.sent.append({"request": body, "replies": []})
        found: list[Meaning] = []
        judge = self._judge(wanted, worst, calls, meter, found)
        try:
            await meter.charged(self._http.send(call_of(self._server, body), judge, meter.before))
        finally:
            calls.sent[-1] |= {"lost": meter.lost} if meter.lost else {}  # attempts without a complete reply
        return found[-1]

    def _judge(
        self, wanted: ModelRequest, worst: Cost, calls: AnswerCalls, meter: AttemptCharges, found: list[Meaning]
    ) -> Callable[[Reply], Verdict]:
        def judge(reply: Reply) -> Verdict:
            reply = whole(reply)
            said: Meaning = meaning_of(reply, self._redaction.text)
            body = body_of(reply)
            model = answered_by(body) or wanted.model
            if isinstance(body.get("usage"), dict):
                cost = self._prices.billed(body, wanted.model, worst)
            elif may_be_billed(reply):
                cost = worst.model_copy(update={"model": model})
            else:
                cost = Cost(calls=1, model_requested=wanted.model, model=model)
            if is_absurd(cost, worst):
                claimed = f"a reply states {cost.usd:,.2f} USD and {cost.total_tokens:,} tokens for one call, which can cost"
                most = f"{worst.usd:.4f} USD and {worst.total_tokens:,} tokens at most"
                hint = "look at the account's bill before the next run; the reply is kept with the event"
                said, cost = Refused(f"{claimed} {most}", hint, "states an absurd cost"), worst
            meter.replied(cost)
            calls.replied(reply, whole=isinstance(said, Content | CutOff | Endless | Unparsed))
            calls.model = cost.model if isinstance(said, Content) else calls.model
            found.append(said)
            if isinstance(said, NoCapacity) and wanted.last:
                return Again(said.why, said.after_s, down=True)
            return said if isinstance(said, Again | Refused | Failed) else Good()  # the reasoner itself handles the others

        return judge

    def _worst(self, wanted: ModelRequest) -> Cost:
        sent = sum(tokens("".join(message["content"])) + _PER_MESSAGE for message in wanted.messages)
        return self._prices.worst(wanted.model, sent + tokens(str(wanted.schema or "")), wanted.max_tokens)
