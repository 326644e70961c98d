"""The port ``Reasoner`` over a language model: question → prompt → calls → checked answer, or a typed failure."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pipeline.adapters.http.client import HttpClient
from pipeline.adapters.reasoners.openai.answer_checks import answer_of
from pipeline.adapters.reasoners.openai.capabilities import KnownCapabilities
from pipeline.adapters.reasoners.openai.completion_reply import Content, CutOff, Meaning, NoCapacity, NoModel, Withheld
from pipeline.adapters.reasoners.openai.content_filter import without_offender
from pipeline.adapters.reasoners.openai.json_reply import Unfit, read
from pipeline.adapters.reasoners.openai.model_call import AnswerCalls, ModelClient, Server, Wanted
from pipeline.adapters.reasoners.openai.model_roles import ROLE_OF, Role, Roles
from pipeline.adapters.reasoners.openai.pricing import Prices
from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys
from pipeline.adapters.reasoners.openai.prompting.delimiters import Delimiters, harmless
from pipeline.adapters.reasoners.openai.prompting.prompt_context import Tools, view_of
from pipeline.adapters.reasoners.openai.prompting.prompt_templates import PromptTemplates
from pipeline.adapters.reasoners.openai.schemas import WIRES, schema_of
from pipeline.domain.budget import Budget, CombinedBudget
from pipeline.domain.questions import Question
from pipeline.domain.values import Value
from pipeline.errors import AnswerInvalid, AnswerWithheld, ServiceFailed, ServiceUnavailable, StepError
from pipeline.ports import Answer

A = TypeVar("A", bound=Value)

MAX_REASKS = 2
_ECHOED = 8_000  # characters of an unusable reply that the model is shown again

_log = logging.getLogger("pipeline.adapters.reasoners.openai")


class OpenAIReasoner:
    """Answers every question of ``pipeline.domain.questions`` by asking a model; ``roles`` says which.

    Every call is charged to all ``ledgers``. ``entropy`` gives random bytes: the delimiters around fetched text derive from them.
    """

    def __init__(
        self,
        http: HttpClient,
        server: Server,
        roles: Roles,
        prompts: PromptTemplates,
        prices: Prices,
        ledgers: Sequence[Budget] = (),
        *,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self.name = server.name
        self._roles, self._prompts, self._entropy = roles, prompts, entropy
        self._caller = ModelClient(http, server, prices, CombinedBudget(tuple(ledgers)), KnownCapabilities())

    def for_query(self, ledgers: Sequence[Budget], roles: Roles | None = None) -> OpenAIReasoner:
        """Return a reasoner that charges other ledgers (and asks other models), sharing what was learnt of the server."""
        made = OpenAIReasoner.__new__(OpenAIReasoner)
        made.name, made._roles, made._prompts, made._entropy = self.name, roles or self._roles, self._prompts, self._entropy
        made._caller = self._caller.charged_to(CombinedBudget(tuple(ledgers)))
        return made

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question. An error that was paid for carries ``cost`` and ``exchange``.

        Raises:
            AnswerInvalid: no reply fits the question, also after re-asking and from the fallbacks.
            AnswerWithheld: model or provider refuse to answer on this material.
            ServiceUnavailable, ServiceFailed: the server cannot be reached, or does not take the request.
            ProviderRefused: key, quota or credit.
            BudgetSpent: the next call's worst case does not fit under a cap.
            TemplateInvalid: the prompt's template is faulty.
        """
        if question.name not in ROLE_OF:
            raise AnswerInvalid(f"there is no prompt for a question of type {type(question).__name__}")
        role, talk = self._roles.for_question(question.name), self._caller.talk()
        try:
            value = await self._answered(question, role, talk)
        except StepError as error:
            error.cost = talk.cost(role.model) if talk.costs else None
            error.exchange = talk.transcript.data()
            raise
        cost = talk.cost(role.model)
        if cost.model != role.model:
            _log.info("%s: %s was asked, %s answered", question.name, role.model, cost.model)
        return Answer(cast(A, value), cost, talk.transcript.data())

    async def _answered(self, question: Question[Any], role: Role, talk: AnswerCalls) -> Value:
        """Ask one model after the other; a refusal for good, a spent budget and a filter end it at once."""
        failed: StepError | None = None
        for model in role.models:
            effort = _Effort(self._prompts, Delimiters(self._entropy(16)), role, model, question, last=model == role.models[-1])
            try:
                return await self._one_model(effort, talk)
            except (AnswerInvalid, ServiceUnavailable, ServiceFailed) as error:
                _log.warning("%s could not answer a question of %s: %s", model, question.name, error)
                failed = error
        raise failed or AnswerInvalid("no model is named for this role", hint="set `reasoner:` in queries.yaml")

    async def _one_model(self, effort: _Effort, talk: AnswerCalls) -> Value:
        while True:
            found = await self._caller.ask(effort.wanted(), talk)
            if isinstance(found, Content):
                try:
                    value = effort.value(found)
                except Unfit as fault:
                    effort.ask_again(found, str(fault))
                    continue
                talk.transcript.removed += effort.keys.removed
                return value
            effort.meet(found)


@dataclass
class _Effort:
    """One model's efforts on one question: what it is asked now, and what was tried already."""

    prompts: PromptTemplates
    marks: Delimiters
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
        self.question, self.keys = question, CitationKeys()
        view = view_of(question, Tools(self.keys, self.marks, self.role.material))
        self.messages = self.prompts.messages(question.name, view, schema_of(WIRES[question.name]))

    def wanted(self) -> Wanted:
        """Return the next call."""
        name = self.question.name
        return Wanted(self.model, name, self.messages, schema_of(WIRES[name]), self.max_tokens, self.last)

    def value(self, found: Content) -> Value:
        """Return the answer that the reply holds. Raises ``Unfit`` when it holds none."""
        if found.unusable:
            raise Unfit(found.unusable)
        return answer_of(self.question, read(found.text, WIRES[self.question.name]), self.keys)

    def ask_again(self, found: Content, why: str) -> None:
        """Prepare a re-ask with the validator's words; the reply stays in view, the prompt as it was."""
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
        """Prepare the next call after a reply that holds no content, or raise."""
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
        """The same prompt with twice the room, once. A cut reply is never parsed."""
        larger = min(2 * self.max_tokens, self.role.cap)
        if self.enlarged or larger <= self.max_tokens:
            raise AnswerInvalid(
                f"{self.model}'s reply was cut off at {self.max_tokens:,} tokens",
                hint="a model that thinks less, or a larger cap, may fit",
            )
        self.enlarged, self.max_tokens = True, larger

    def _reduce(self, found: Withheld) -> None:
        """The question without the source that was objected to, once."""
        smaller = None if self.reduced else without_offender(self.question, found.flagged)
        if smaller is None:
            raise AnswerWithheld(
                f"{self.model} was not allowed to answer: {found.why}", hint="another model or provider may judge otherwise"
            )
        self.reduced = True
        self._put(smaller)
