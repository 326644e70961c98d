"""The five steps of a question in a talk: make it stand alone, find passages, observe pages, draft an answer, check it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from pipeline.domain.events import talk_events as t
from pipeline.domain.events.event_base import EventBase
from pipeline.domain.reasoner_questions import ClaimCheckQuestion, ObservationQuestion
from pipeline.domain.reasoner_questions.talk_questions import PastTurn, StandAloneQuestion, TalkQuestion
from pipeline.domain.talk.agenda import StepName, TalkStep
from pipeline.domain.talk.gate import has_near_passages
from pipeline.domain.talk.state import TalkState, Turn
from pipeline.domain.values import EXTRACTIVE, Fact, Perspective, Sentence, Value, Verdict
from pipeline.errors import AnswerInvalid
from pipeline.ports import Answer, Reasoner, StoredPage, StoredPages
from pipeline.research.claims.code_check import code_objection, objection
from pipeline.research.gathering.page_observation import near_passages
from pipeline.research.gathering.quoted_facts import facts_and_rejected
from pipeline.research.step_context import Outcome, charged_to, paid
from pipeline.text.normalise import one_line
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import word_count

A = TypeVar("A", bound=Value)

ANSWER_WORDS = 120
_PASSAGE_WORDS = 300  # of an answer without a model, which is one passage or up to three, whole
_HITS = 20  # passages that are looked for
_PAGES = 6  # pages that are observed without a model
_MODEL_PAGES = 3  # and with one, where each is a call
_FACTS = 10  # of one page
_RECENT = 5  # turns of the history that are shown as they were
_MOST_FOLDED = 20  # questions before them
_FOLLOW_UPS = 3


@dataclass(frozen=True, slots=True)
class TalkContext:
    """What a talk's steps may use. ``sessions`` are those of the scope; ``page_text`` returns a stored page by its digest,
    ``is_gone`` whether the document at an address is no longer in its folder.

    ``plain`` is the reasoner without a model, which does what the model cannot.
    """

    reasoner: Reasoner
    plain: Reasoner
    pages: StoredPages
    page_text: Callable[[str], str]
    sessions: Sequence[str]
    today: str = ""
    is_gone: Callable[[str], bool] = lambda _url: False

    def without_model(self) -> TalkContext:
        """Return the same context, in which no model answers."""
        return replace(self, reasoner=self.plain)


async def perform(step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    """Perform one step of the last question.

    Raises:
        StepError: the reasoner failed, or its answer is unusable; the pages cannot be searched.
    """
    return await _STEPS[step.name](step, state, context)


async def _resolve(_step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    turn = state.turns[-1]
    before = state.turns[:-1]
    question = StandAloneQuestion(
        query=turn.text,
        history=history_of(before[-_RECENT:]),
        folded=tuple(one.stands_alone for one in before[:-_RECENT][-_MOST_FOLDED:]),
        subject=state.subject,
    )
    answer = await context.reasoner.answer(question)
    event = t.MessageResolved(number=turn.number, stands_alone=one_line(answer.value.question, 600) or one_line(turn.text, 600))
    return _recorded(event, answer)


def history_of(turns: Sequence[Turn]) -> tuple[PastTurn, ...]:
    """Return turns as a reasoner sees them."""
    return tuple(PastTurn(question=turn.stands_alone or turn.text, answer=_said(turn)) for turn in turns)


def _said(turn: Turn) -> str:
    return " ".join(sentence.text for sentence in turn.answer.sentences) if turn.answer else ""


async def _find(_step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    turn = state.turns[-1]
    found = await context.pages.find(turn.stands_alone, context.sessions, _HITS)
    most = _PAGES if state.reasoner == EXTRACTIVE else _MODEL_PAGES
    pages = tuple(_read_page(one, context) for one in found.pages[:most])
    event = t.PassagesFound(
        number=turn.number,
        hits=found.hits,
        pages=pages,
        sessions=len(context.sessions),
        statistics=_of_question(found.statistics, turn.stands_alone),
        languages=found.languages,
        failed=found.failed,
        cost=found.cost,
    )
    return Outcome((event,))


def _read_page(page: StoredPage, context: TalkContext) -> t.ReadPage:
    gone = context.is_gone(page.url)
    return t.ReadPage(
        url=page.url,
        title=page.title,
        digest=page.digest,
        session=page.session,
        gone=gone,
        read_at=page.at if gone else "",
    )


def _of_question(known: TermStatistics, question: str) -> TermStatistics:
    """Return the statistics of the question's own words alone: nothing else is ranked by them."""
    stems = {stem for term in parse_question(question, known.language).terms for stem in (term.stem, *term.parts)}
    return known.model_copy(update={"counts": {stem: count for stem, count in known.counts.items() if stem in stems}})


async def _observe(step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    turn = state.turns[-1]
    assert turn.found is not None  # noqa: S101 - the agenda names a page that was found
    page = next(page for page in turn.found.pages if page.url == step.url)
    asked = Perspective(id="asked", name="The question", focus=turn.stands_alone, questions=(turn.stands_alone,))
    question = ObservationQuestion(
        query=turn.stands_alone,
        perspectives=(asked,),
        url=page.url,
        title=page.title,
        text=context.page_text(page.digest),
        limit=_FACTS,
        part="page" if state.reasoner == EXTRACTIVE else "gap",
        near=near_passages(page.url, turn.found.hits),
        statistics=turn.found.statistics,
    )
    answer = await context.reasoner.answer(question)
    facts, rejected = facts_and_rejected(answer.value.findings, question, page.digest)
    event = t.PassagesObserved(number=turn.number, url=page.url, digest=page.digest, facts=facts, rejected=rejected)
    return _recorded(event, answer)


async def _draft(_step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    turn = state.turns[-1]
    assert turn.found is not None  # noqa: S101 - the agenda drafts only what was found
    question = TalkQuestion(
        query=turn.stands_alone,
        facts=turn.facts(),
        words=_PASSAGE_WORDS if context.reasoner.name == EXTRACTIVE else ANSWER_WORDS,
        history=history_of(state.turns[:-1][-_RECENT:]),
        statistics=turn.found.statistics,
        today=context.today,
    )
    answer = await context.reasoner.answer(question)
    asked = tuple(filter(None, (one_line(text, 300) for text in answer.value.follow_ups)))[:_FOLLOW_UPS]
    event = t.AnswerDrafted(number=turn.number, sentences=answer.value.sentences, follow_ups=asked)
    return _recorded(event, answer)


async def _check(_step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    """Check the draft by code, then by the reasoner; keep at most 120 words of what is supported. Quotes need no check."""
    turn = state.turns[-1]
    assert turn.draft is not None  # noqa: S101 - the agenda checks only a draft
    if context.reasoner.name == EXTRACTIVE and state.reasoner == EXTRACTIVE:
        return Outcome((_answered(turn, turn.draft.sentences),))
    known = {fact.id: fact for fact in turn.facts()}
    sound = [one for one in turn.draft.sentences if not _objection(one, known, turn, context)]
    if not sound:
        return Outcome((await _refusal(turn, context),))
    facts = tuple(known[name] for name in sorted({name for one in sound for name in one.facts}))
    question = ClaimCheckQuestion(query=turn.stands_alone, sentences=tuple(sound), facts=facts, today=context.today)
    answer = await context.reasoner.answer(question)
    with charged_to(answer):
        kept = _supported(sound, answer.value.verdicts)
    return _recorded(_answered(turn, kept) if _cited(kept) else await _refusal(turn, context), answer)


def _supported(sentences: Sequence[Sentence], verdicts: Sequence[Verdict]) -> tuple[Sentence, ...]:
    if len(verdicts) < len(sentences):
        raise AnswerInvalid("the verdicts do not match the sentences of the answer")
    good = {verdict.sentence for verdict in verdicts if verdict.supported}
    return within_words([one for place, one in enumerate(sentences) if place in good], ANSWER_WORDS)


def within_words(sentences: Sequence[Sentence], words: int) -> tuple[Sentence, ...]:
    """Return the first sentences that have at most ``words`` words together."""
    kept: list[Sentence] = []
    for one in sentences:
        words -= word_count(one.text)
        if words < 0:
            break
        kept.append(one)
    return tuple(kept)


def _objection(sentence: Sentence, known: dict[str, Fact], turn: Turn, context: TalkContext) -> str:
    facts = [known[name] for name in sentence.facts if name in known]
    if sentence.unknown or len(facts) < len(sentence.facts):
        return "It cites what was not found."
    if "\n" in sentence.text:  # a passage with items, rows or code, as the extractive reasoner quotes it
        return code_objection(sentence.text, facts)
    return objection(sentence, facts, turn.stands_alone, context.today)


async def _refuse(_step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    return Outcome((await _refusal(state.turns[-1], context),))


async def _refusal(turn: Turn, context: TalkContext) -> t.MessageAnswered:
    """Return that the pages do not say, and the passages that come nearest."""
    near = await _nearest(turn, context) if turn.facts() and has_near_passages(turn) else ()
    return t.MessageAnswered(
        number=turn.number,
        found=False,
        facts=_cited(near),
        nearest=near,
        cut=len(turn.draft.sentences) if turn.draft else 0,
    )


async def _nearest(turn: Turn, context: TalkContext) -> tuple[Sentence, ...]:
    assert turn.found is not None  # noqa: S101 - what is near was found
    known = turn.found.statistics
    question = TalkQuestion(
        query=turn.stands_alone, facts=turn.facts(), words=_PASSAGE_WORDS, statistics=known, today=context.today
    )
    return (await context.plain.answer(question)).value.sentences


def _cited(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for one in sentences for name in one.facts))


def _answered(turn: Turn, sentences: Sequence[Sentence]) -> t.MessageAnswered:
    drafted = turn.draft.sentences if turn.draft else ()
    return t.MessageAnswered(
        number=turn.number,
        found=True,
        sentences=tuple(sentences),
        facts=_cited(sentences),
        follow_ups=turn.draft.follow_ups if turn.draft else (),
        cut=len(drafted) - len(sentences),
    )


def _recorded(event: EventBase, answer: Answer[A]) -> Outcome:
    cost = paid(answer)
    return Outcome((event.model_copy(update={"cost": cost.cost, "exchange": cost.exchange}),), cost.objects)


_STEPS: Mapping[StepName, Callable[[TalkStep, TalkState, TalkContext], Awaitable[Outcome]]] = MappingProxyType(
    {"resolve": _resolve, "find": _find, "observe": _observe, "draft": _draft, "check": _check, "refuse": _refuse}
)
