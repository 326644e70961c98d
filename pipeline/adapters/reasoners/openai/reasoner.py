"""The port ``Reasoner`` for language models: question → prompt → calls → checked answer, with re-asks and fallbacks."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pipeline.adapters.http.client import HttpClient
from pipeline.adapters.reasoners.openai.answer_conversion import answer_of
from pipeline.adapters.reasoners.openai.capabilities import KnownCapabilities
from pipeline.adapters.reasoners.openai.completion_reply import Content, CutOff, Meaning, NoCapacity, NoModel, Withheld
from pipeline.adapters.reasoners.openai.flagged_source import without_flagged_source
from pipeline.adapters.reasoners.openai.json_reply import UnusableReply, parse_reply
from pipeline.adapters.reasoners.openai.model_call import AnswerCalls, ModelClient, ModelRequest, Server
from pipeline.adapters.reasoners.openai.model_roles import ROLE_OF, Role, Roles
from pipeline.adapters.reasoners.openai.pricing import Prices
from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys, SessionKeys
from pipeline.adapters.reasoners.openai.prompting.delimiters import Delimiters, harmless
from pipeline.adapters.reasoners.openai.prompting.prompt_context import PromptParts, view_of
from pipeline.adapters.reasoners.openai.prompting.prompt_templates import PromptTemplates
from pipeline.adapters.reasoners.openai.schemas import WIRES, schema_of
from pipeline.domain.budget import Budget, CombinedBudget
from pipeline.domain.reasoner_questions import Question
from pipeline.domain.values import Value
from pipeline.errors import AnswerInvalid, AnswerWithheld, ServiceFailed, ServiceUnavailable, StepError
from pipeline.ports import Answer

A = TypeVar("A", bound=Value)

MAX_REASKS = 2
_ECHOED = 8_000  # characters of an unusable reply that a re-ask contains

_log = logging.getLogger("pipeline.adapters.reasoners.openai")


class OpenAIReasoner:
    """Answers every question of ``pipeline.domain.reasoner_questions`` by asking the model that ``roles`` names for it.

    Every call is charged to all ``budgets``. ``entropy`` returns random bytes: the secret of the delimiters around fetched text.
    """

    def __init__(
        self,
        http: HttpClient,
        server: Server,
        roles: Roles,
        prompts: PromptTemplates,
        prices: Prices,
        budgets: Sequence[Budget] = (),
        *,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self.name = server.name
        self._roles, self._prompts, self._entropy = roles, prompts, entropy
        self._delimiters, self._keys = Delimiters(entropy(32)), SessionKeys()
        self._client = ModelClient(http, server, prices, CombinedBudget(tuple(budgets)), KnownCapabilities())

    def for_query(self, budgets: Sequence[Budget], roles: Roles | None = None, keys: SessionKeys | None = None) -> OpenAIReasoner:
        """Return a reasoner for one session: with its budgets, perhaps other models, citation keys and delimiters of its own.

        It shares the known capabilities of the server.
        """
        other = OpenAIReasoner.__new__(OpenAIReasoner)
        other.name, other._roles, other._prompts, other._entropy = self.name, roles or self._roles, self._prompts, self._entropy
        other._delimiters, other._keys = Delimiters(self._entropy(32)), keys or SessionKeys()
        other._client = self._client.with_budget(CombinedBudget(tuple(budgets)))
        return other

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question. A raised error has the ``cost`` and ``exchange`` of the calls made before it.

        Raises:
            AnswerInvalid: no reply fits the question, even after re-asking and from the fallbacks.
            AnswerWithheld: the model or provider refuses to answer on this material.
            ServiceUnavailable, ServiceFailed: the server cannot be reached, or rejects the request.
            ProviderRefused: key, quota or credit.
            BudgetSpent: the next call's worst case would exceed a cap.
            TemplateInvalid: the prompt's template has an error.
        """
        if question.name not in ROLE_OF:
            raise AnswerInvalid(f"there is no prompt for a question of type {type(question).__name__}")
        role, calls = self._roles.for_question(question.name), self._client.calls()
        try:
            value = await self._answered(question, role, calls)
        except StepError as error:
            error.cost = calls.cost(role.model) if calls.costs else None
            error.exchange = calls.transcript.data()
            raise
        cost = calls.cost(role.model)
        if cost.model != role.model:
            _log.info("%s: %s was asked, %s answered", question.name, role.model, cost.model)
        return Answer(cast(A, value), cost, calls.transcript.data())

    async def _answered(self, question: Question[Any], role: Role, calls: AnswerCalls) -> Value:
        """Ask one model after another; a final refusal, a spent budget and a content filter end this at once."""
        failed: StepError | None = None
        for model in role.models:
            last = model == role.models[-1]
            try:
                attempt = _ModelAttempt(self._prompts, self._delimiters, self._keys, role, model, question, last)
                return await self._one_model(attempt, calls)
            except (AnswerInvalid, ServiceUnavailable, ServiceFailed) as error:
                _log.warning("%s could not answer a question of %s: %s", model, question.name, error)
                failed = error
        raise failed or AnswerInvalid("no model is named for this role", hint="set `reasoner:` in queries.yaml")

    async def _one_model(self, effort: _ModelAttempt, calls: AnswerCalls) -> Value:
        while True:
            found = await self._client.ask(effort.wanted(), calls)
            if isinstance(found, Content):
                try:
                    value = effort.value(found)
                except UnusableReply as fault:
                    effort.ask_again(found, str(fault))
                    continue
                calls.transcript.removed += effort.keys.removed
                return value
            effort.meet(found)


@dataclass
class _ModelAttempt:
    """One model's attempt at one question: the current prompt, and which remedies were tried."""

    prompts: PromptTemplates
    delimiters: Delimiters
    session_keys: SessionKeys
    role: Role
    model: str
    question: Question[Any]
    last: bool
    keys: CitationKeys = field(init=False)
    messages: list[dict[str, str]] = field(init=False)
    max_tokens: int = field(init=False)
    reasked: int = 0
    enlarged: bool = False
    reduced: bool = False

    def __post_init__(self) -> None:
        self.max_tokens = self.role.max_tokens
        self._put(self.question)

    def _put(self, question: Question[Any]) -> None:
        self.question, self.keys = question, CitationKeys(self.session_keys)
        view = view_of(question, PromptParts(self.keys, self.delimiters, self.role.material))
        self.messages = self.prompts.messages(question.name, view)

    def wanted(self) -> ModelRequest:
        """Return the next call."""
        name = self.question.name
        return ModelRequest(self.model, name, self.messages, schema_of(WIRES[name]), self.max_tokens, self.last)

    def value(self, found: Content) -> Value:
        """Return the answer in the reply. Raises ``UnusableReply`` if there is none."""
        if found.unusable:
            raise UnusableReply(found.unusable)
        return answer_of(self.question, parse_reply(found.text, WIRES[self.question.name]), self.keys)

    def ask_again(self, found: Content, why: str) -> None:
        """Prepare a re-ask: the same prompt, the unusable reply, and the reason ``why``."""
        if self.reasked == MAX_REASKS:
            raise AnswerInvalid(
                f"{self.model} gave no usable answer in {MAX_REASKS + 1} tries: {why[:500]}",
                hint="the exchange is kept with the event; another model may follow the format better",
            )
        self.reasked += 1
        said = harmless(found.text[:_ECHOED]) or "(no text)"
        again = f"That reply cannot be used. {harmless(why)} Reply again, with one JSON object of the schema and nothing else."
        self.messages = [*self.messages[:2], {"role": "assistant", "content": said}, {"role": "user", "content": again}]

    def meet(self, found: Meaning) -> None:
        """Prepare the next call after a reply without content, or raise a ``StepError``."""
        if isinstance(found, CutOff):
            self._enlarge()
        elif isinstance(found, Withheld):
            self._reduce(found)
        elif isinstance(found, NoModel):
            raise ServiceFailed(f"the model {self.model} cannot be asked: {found.why}", hint=found.hint)
        elif isinstance(found, NoCapacity):
            raise ServiceUnavailable(f"the model {self.model} has no capacity now: {found.why}")
        else:
            raise AnswerInvalid(f"{self.model} gave no answer")

    def _enlarge(self) -> None:
        """Prepare the same prompt with twice the tokens for the reply, once."""
        larger = min(2 * self.max_tokens, self.role.cap)
        if self.enlarged or larger <= self.max_tokens:
            raise AnswerInvalid(
                f"{self.model}'s reply was cut off at {self.max_tokens:,} tokens",
                hint="a model that thinks less, or a larger cap, may fit",
            )
        self.enlarged, self.max_tokens = True, larger

    def _reduce(self, found: Withheld) -> None:
        """Prepare the question without the flagged source, once."""
        smaller = None if self.reduced else without_flagged_source(self.question, found.flagged)
        if smaller is None:
            raise AnswerWithheld(
                f"{self.model} was not allowed to answer: {found.why}", hint="another model or provider may judge otherwise"
            )
        self.reduced = True
        self._put(smaller)
