"""The port ``Reasoner`` for language models: question → prompt → calls → checked answer, with re-asks and fallbacks."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pipeline.config.services import ModelServer
from pipeline.domain.budget import Budget, CombinedBudget
from pipeline.domain.reasoner_questions import Question, Reply
from pipeline.errors import AnswerInvalid, AnswerWithheld, ModelUnknown, Outage, ServiceFailed, ServiceUnavailable, StepError
from pipeline.net.client import HttpClient
from pipeline.ports import Answer
from pipeline.reasoners.model.call_costs import Prices
from pipeline.reasoners.model.calls import ROLE_OF, AnswerCalls, ModelClient, ModelRequest
from pipeline.reasoners.model.capabilities import UNUSABLE_AT_MOST, KnownCapabilities, Message
from pipeline.reasoners.model.completion_replies import Content, CutOff, Meaning, NoCapacity, NoModel, TooLong, Unparsed, Withheld
from pipeline.reasoners.model.json_reply import UnusableReply, parse_reply, parse_text
from pipeline.reasoners.model.prompts import Delimiters, PromptTemplates, harmless, schema_of, view_of
from pipeline.text.cleaning import tokens

A = TypeVar("A", bound=Reply)

MOST_PAID = 3  # calls of one answer that may be charged, those of the fallbacks included
_ROOM = 8_000  # tokens of a reply, thoughts included, where the settings do not say
_MATERIAL = 40_000  # tokens of fetched text in a prompt
_SPARE = 1.25  # of the tokens that a reply needed, what the next replies of the model are allowed
_PROMPT = 1_500  # tokens of a prompt without fetched text, at most
_LEAST_MATERIAL = 500
_ECHOED = 8_000  # characters of an unusable reply that a re-ask contains

_log = logging.getLogger("pipeline.reasoners.model")


class OpenAIReasoner:
    """Answers every question of ``pipeline.domain.reasoner_questions`` by asking the model that plays its role at the server.

    Every call is charged to all ``budgets``. ``entropy`` returns random bytes: the secret of the delimiters around fetched text.
    """

    def __init__(
        self,
        http: HttpClient,
        server: ModelServer,
        prompts: PromptTemplates,
        prices: Prices,
        budgets: Sequence[Budget] = (),
        *,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._server, self._prompts, self._entropy = server, prompts, entropy
        self._delimiters = Delimiters(entropy(32))
        self._client = ModelClient(http, server, prices, CombinedBudget(tuple(budgets)), KnownCapabilities())

    def for_query(self, budgets: Sequence[Budget]) -> OpenAIReasoner:
        """Return a reasoner for one session: with its budgets and own delimiters; what is known of the server is shared."""
        other = copy(self)
        other._delimiters = Delimiters(self._entropy(32))
        other._client = self._client.with_budget(CombinedBudget(tuple(budgets)))
        return other

    @property
    def context_window(self) -> int:
        """The context of the models asked so far in tokens, the smallest of them; 0 if it is not known."""
        return min(filter(None, self._client.capabilities.windows.values()), default=0)

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question. A raised error has the ``cost`` and ``exchange`` of the calls made before it.

        Raises:
            AnswerInvalid: no reply fits the question, even after a changed retry and from the fallbacks. With an ``outage``: the
                model is not asked any more, because too many of its answers in this role were of no use.
            AnswerWithheld: the model or provider refuses to answer on this material.
            ServiceUnavailable, ServiceFailed: the server cannot be reached, or rejects the request.
            ProviderRefused: key, quota or credit; or the server has none of the models.
            BudgetSpent: the next call's worst case would exceed a cap.
            TemplateInvalid: the prompt's template has an error.
        """
        usual, choice = self._server.model, self._server.choice
        asked = dict(choice.roles).get(ROLE_OF[question.name], usual)
        calls = AnswerCalls()
        try:
            value = await self._answered(question, tuple(dict.fromkeys((asked, usual, *choice.fallback))), calls)
        except StepError as error:
            error.cost = calls.cost(asked) if calls.costs else None
            error.exchange = self._client.exchange(calls)
            raise
        cost = calls.cost(asked)
        if cost.model != asked:
            _log.info("%s: %s was asked, %s answered", question.name, asked, cost.model)
        return Answer(cast(A, value), cost, self._client.exchange(calls))

    async def _answered(self, question: Question[Any], models: tuple[str, ...], calls: AnswerCalls) -> Reply:
        """Ask one model after another; a final refusal, a spent budget and a content filter end this at once."""
        failed: StepError | None = None
        usual, choice = self._server.model, self._server.choice
        for model in models:
            if failed is not None and calls.paid >= MOST_PAID:
                break
            if isinstance(failed, ModelUnknown) and model == usual and usual not in choice.fallback:
                continue  # a wrong name under `roles` is said, unless the user named who takes its place
            try:
                return await self._one_model(model, question, calls, last=model == models[-1])
            except (AnswerInvalid, ServiceUnavailable, ServiceFailed, ModelUnknown) as error:
                _log.info("%s could not answer a question of %s: %s", model, question.name, error)
                failed = failed if failed and isinstance(error, ModelUnknown) else error
        assert failed is not None  # noqa: S101 - there is a model
        raise failed

    async def _one_model(self, model: str, question: Question[Any], calls: AnswerCalls, *, last: bool) -> Reply:
        """Ask one model, and count whether its answers in this role are of use."""
        known, name = self._client.capabilities, ROLE_OF[question.name]
        if known.unusable[name, model] >= UNUSABLE_AT_MOST:
            error = AnswerInvalid(
                f"{model} is not asked any more in this run: {UNUSABLE_AT_MOST} of its answers in a row were of no use "
                f"(role {name})",
                hint=f"name another model in queries.yaml (`reasoner: {{roles: {{{name}: …}}}}`); the next run goes on",
            )
            error.outage = Outage(model)
            raise error
        await self._client.window(model)
        room = self._server.choice.max_tokens or _ROOM
        attempt = _ModelAttempt(self._prompts, known, self._delimiters, room, model, question, last)
        try:
            while True:
                attempt.retried = attempt.retried or calls.paid >= MOST_PAID - 1
                found = await self._client.ask(attempt.wanted(), calls)
                if not isinstance(found, Content):
                    attempt.meet(found)
                    continue
                try:
                    value = attempt.value(found)
                except UnusableReply as fault:
                    attempt.ask_again(found, str(fault))
                else:
                    attempt.learn(calls.costs[-1].output_tokens)
                    known.unusable[name, model] = 0
                    return value
        except AnswerInvalid:
            known.unusable[name, model] += 1
            raise


@dataclass
class _ModelAttempt:
    """One model's attempt at one question: the current prompt, and which remedies were tried.

    What was paid for is tried again once, and never in the same way: with more room, or with the error in the prompt. ``plain``:
    the next call names no response format.
    """

    prompts: PromptTemplates
    known: KnownCapabilities
    delimiters: Delimiters
    usual_room: int
    model: str
    question: Question[Any]
    last: bool
    messages: list[Message] = field(init=False)
    max_tokens: int = field(init=False)
    retried: bool = False
    plain: bool = False
    cut_off: bool = False
    shortened: bool = False

    def __post_init__(self) -> None:
        self.max_tokens = self.known.room(self.model, self.usual_room)
        self._put(self.question)

    def _put(self, question: Question[Any]) -> None:
        self.question = question
        view = view_of(question, self.delimiters, self.known.material(self.model, _MATERIAL))
        self.messages = self.prompts.messages(question.name, view)

    def wanted(self) -> ModelRequest:
        """Return the next call."""
        name, is_text = self.question.name, self.question.is_text
        schema = {} if is_text else schema_of(self.question.answer_type)
        return ModelRequest(self.model, name, self.messages, schema, self.max_tokens, self.last, self.plain or is_text)

    def value(self, found: Content) -> Reply:
        """Return the answer in the reply. Raises ``UnusableReply`` if there is none."""
        parse = parse_text if self.question.is_text else parse_reply
        try:
            answer: Reply = parse(found.text, self.question.answer_type)
            if fault := self.question.fault(answer):
                raise UnusableReply(fault)
        except UnusableReply as error:
            raise UnusableReply(found.unusable or str(error)) from None
        return answer

    def ask_again(self, found: Content, why: str) -> None:
        """Prepare a re-ask: the same prompt, the unusable reply, and the reason ``why``."""
        if self.retried:
            raise AnswerInvalid(
                f"{self.model} gave no usable answer: {why[:500]}",
                hint="the exchange is kept with the event; another model may follow the format better",
            )
        self.retried = True
        said = harmless(found.text[:_ECHOED]) or "(no text)"
        form = "the text that was asked for" if self.question.is_text else "one JSON object of the schema"
        again = f"That reply cannot be used. {harmless(why)} Reply again, with {form} and nothing else."
        self.messages = [*self.messages[:2], {"role": "assistant", "content": said}, {"role": "user", "content": again}]

    def meet(self, found: Meaning) -> None:
        """Prepare the next call after a reply without content, or raise a ``StepError``."""
        match found:
            case CutOff():  # the same prompt with all the room that a reply may have, once
                if self.retried or self._most_room <= self.max_tokens:
                    self.known.learn_room(self.model, self.max_tokens)
                    raise AnswerInvalid(
                        f"{self.model}'s reply was cut off at {self.max_tokens:,} tokens",
                        hint="give it more room or less thought in queries.yaml: `reasoner: {max_tokens: 32000, effort: low}`",
                    )
                self.retried, self.cut_off, self.max_tokens = True, True, self._most_room
            case Unparsed():
                # Without a response format and with all room: the server does not say which of the two was at fault.
                self.ask_again(Content(found.text), f"The server could not parse it: {found.why}")
                self.plain, self.max_tokens = True, max(self.max_tokens, self._most_room)
            case Withheld():
                raise AnswerWithheld(
                    f"{self.model} was not allowed to answer: {found.why}", hint="another model or provider may judge otherwise"
                )
            case TooLong():  # the question with less fetched text, once; a limit that the prompt seems to keep says nothing
                now = min(self.known.material(self.model, _MATERIAL), tokens("".join(self.messages[1]["content"])))
                fits = (found.limit - self.max_tokens - _PROMPT) * 3 // 4
                fits = fits if found.limit and fits < now else now // 4
                if self.shortened or fits < _LEAST_MATERIAL:
                    raise ServiceFailed(
                        f"the prompt is too long for {self.model}: {found.why}",
                        hint="give the model a larger context at its server, or name one that has it in queries.yaml",
                    )
                self.shortened = True
                self.known.materials[self.model] = fits
                self._put(self.question)
            case NoModel():
                raise ModelUnknown(f"the model {self.model} cannot be asked: {found.why}", hint=found.hint)
            case NoCapacity():
                error = ServiceUnavailable(f"the model {self.model} has no capacity now: {found.why}")
                error.outage = Outage(self.model, found.after_s or 0.0, busy=True)
                raise error
            case _:
                raise AnswerInvalid(f"{self.model} gave no answer")

    @property
    def _most_room(self) -> int:
        return self.known.most_room(self.model, self.usual_room)

    def learn(self, used: int) -> None:
        """Remember the room that the reply needed, if an earlier one was cut off, and that a plain request got it."""
        if self.plain:
            self.known.prove(self.model, plain=True)
        if self.cut_off:
            self.known.learn_room(self.model, min(self.max_tokens, round(used * _SPARE)))
