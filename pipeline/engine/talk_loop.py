"""Talks: the steps of a question, and their loop: make it stand alone, find pages, take passages; with a model, draft and check.

A talk is resumed like a session: what was recorded is never asked for again. Steps follow each other, one at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pipeline.domain.budget import announce
from pipeline.domain.events import talk_events as t
from pipeline.domain.events.session_events import Answered, CallSent, EventBase
from pipeline.domain.events.talk_events import MessageAsked
from pipeline.domain.page_choice_and_findings import without_fragment
from pipeline.domain.reasoner_questions import CheckQuestion, PastTurn, Reply, StandAloneQuestion, TalkQuestion, key_of
from pipeline.domain.research_values import EXTRACTIVE, Cost, Fact, Sentence, total
from pipeline.domain.talk import TalkScope, TalkState, TalkStep, Turn, apply, next_step, read_talk
from pipeline.engine.recorder import StreamLog, failed
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import BudgetSpent, CorpusUnusable, ProviderRefused, ReadFailed, SearchFailed, StepError
from pipeline.ports import Documents, EventStore, FoundPassages, Reasoner, StoredPage, StoredPages
from pipeline.reasoners.passages import choose, with_texts
from pipeline.research.report_parsing import read_sentences
from pipeline.research.step_context import StepResult, paid
from pipeline.research.writing import checked
from pipeline.text.cleaning import clean, digest_of, one_line
from pipeline.text.questions import parse_in, parse_question
from pipeline.text.words import word_count

A = TypeVar("A", bound=Reply)

ANSWER_WORDS = 120
_HITS = 20  # passages that are looked for
_PAGES = 6  # pages of which passages are taken
_PLACES, _MODEL_PLACES = 7, 20  # further passages, without a model and for one
_RECENT = 5  # turns of the history that are shown as they were
_MOST_FOLDED = 20  # questions before them
_FOLLOW_UPS = 3


@dataclass(frozen=True, slots=True)
class TalkContext:
    """What a talk's steps may use. ``sessions`` are those of the scope; ``page_text`` returns a stored page by its digest,
    ``is_gone`` whether the document at an address is no longer in its folder.

    ``documents`` are the folders, which a talk about everything searches too. ``reasoner``: None without a model.
    """

    reasoner: Reasoner | None
    pages: StoredPages
    page_text: Callable[[str], str]
    sessions: Sequence[str]
    today: str = ""
    is_gone: Callable[[str], bool] = lambda _url: False
    documents: Documents | None = None

    def without_model(self) -> TalkContext:
        """Return the same context, in which no model answers."""
        return replace(self, reasoner=None)


async def perform(step: TalkStep, state: TalkState, context: TalkContext) -> StepResult:
    """Perform one step of the last question.

    Raises:
        StepError: the reasoner failed, or its answer is unusable; the pages cannot be searched.
    """
    turn, model = state.turns[-1], context.reasoner
    match step.name:
        case "resolve":
            return await _resolve(turn, state, model)
        case "find":
            return await _find(turn, state, context)
        case "take":
            return _take(turn, state, context)
        case "draft" if model:
            return await _draft(turn, state, context, model)
        case "check" if model:
            return await _check(turn, context, model)
    near = _nearest(turn)
    shown = t.MessageAnswered(number=turn.number, found=bool(near), sentences=near, facts=_cited(near))
    return StepResult((shown.model_copy(update={"outcome": "passages" if near else "not-found"}),))


async def _resolve(turn: Turn, state: TalkState, model: Reasoner | None) -> StepResult:
    before = state.turns[:-1]
    if model is None:
        text = one_line(turn.text, 600)
        text = f"{text} ({before[-1].stands_alone or before[-1].text})" if before else text
        return StepResult((t.MessageResolved(number=turn.number, stands_alone=text),))
    question = StandAloneQuestion(
        query=turn.text,
        history=history_of(before[-_RECENT:]),
        folded=tuple(one.stands_alone for one in before[:-_RECENT][-_MOST_FOLDED:]),
        subject=state.subject,
    )
    answer = await model.answer(question)
    text = one_line(answer.value.question, 600) or one_line(turn.text, 600)
    return paid(answer, t.MessageResolved(number=turn.number, stands_alone=text))


def history_of(turns: Sequence[Turn]) -> tuple[PastTurn, ...]:
    """Return turns as a reasoner sees them."""
    said = (" ".join(one.text for one in turn.answer.sentences) if turn.answer else "" for turn in turns)
    return tuple(PastTurn(question=turn.stands_alone or turn.text, answer=text) for turn, text in zip(turns, said, strict=True))


async def _find(turn: Turn, state: TalkState, context: TalkContext) -> StepResult:
    asked = turn.stands_alone
    found = await context.pages.find(asked, context.sessions, _HITS)
    objects: tuple[bytes, ...] = ()
    if state.scope == "vault" and context.documents is not None:
        found, objects = await _with_documents(found, asked, context.documents)
    pages = []
    for page in found.pages[:_PAGES]:
        gone = context.is_gone(page.url)
        read = {"url": page.url, "title": page.title, "digest": page.digest, "session": page.session}
        pages.append(t.ScopePage(**read, gone=gone, read_at=page.at if gone else ""))
    known = found.statistics  # of the question's own words alone: nothing else is ranked by them
    stems = {stem for term in parse_question(asked, known.language).terms for stem in (term.stem, *term.parts)}
    counts = {stem: count for stem, count in known.counts.items() if stem in stems}
    event = t.PassagesFound(
        number=turn.number,
        hits=found.hits,
        pages=tuple(pages),
        sessions=len(context.sessions),
        statistics=known.model_copy(update={"counts": counts}),
        languages=found.languages,
        failed=found.failed,
        cost=found.cost,
    )
    return StepResult((event,), objects)


async def _with_documents(found: FoundPassages, question: str, documents: Documents) -> tuple[FoundPassages, tuple[bytes, ...]]:
    """Return what was found together with passages of the folders, and the texts of documents that no session has read.

    A document that was read is found as it was stored then.
    """
    try:
        own = await documents.search(question, _HITS)
    except (CorpusUnusable, SearchFailed):
        return found, ()
    stored = {one.url for one in found.pages}
    new = [hit for hit in own.hits if without_fragment(hit.url) not in stored]
    hits = sorted((*found.hits, *new), key=lambda hit: -hit.score)[:_HITS]
    pages = {one.url: one for one in found.pages}
    texts: dict[str, bytes] = {}
    for url in list(dict.fromkeys(without_fragment(hit.url) for hit in hits))[:_PAGES]:
        if url not in pages:
            try:
                page = await documents.read(url)
            except ReadFailed:
                continue
            texts[url] = clean(page.text).strip().encode()
            pages[url] = StoredPage(url, one_line(page.title), digest_of(texts[url]), "")
    order = [pages[url] for url in dict.fromkeys(without_fragment(hit.url) for hit in hits) if url in pages]
    known = own if own.statistics.passages > found.statistics.passages else found
    both = replace(found, hits=tuple(hits), pages=tuple(order), statistics=known.statistics, languages=known.languages)
    return replace(both, cost=total((found.cost, own.cost)), failed=found.failed or own.failed), tuple(texts.values())


def _take(turn: Turn, state: TalkState, context: TalkContext) -> StepResult:
    """Take the passages of the found pages that come nearest; for a model, which judges them, from a longer list."""
    assert turn.found is not None  # noqa: S101 - the agenda takes only from what was found
    known, pages = turn.found.statistics, with_texts(turn.found.pages, turn.found.hits, context.page_text)
    judged = state.reasoner != EXTRACTIVE
    query = parse_in(turn.stands_alone, turn.found.languages)
    choice = choose(query, pages, known, more=_MODEL_PLACES if judged else _PLACES, judged=judged)
    return StepResult((t.PassagesTaken(number=turn.number, passages=choice.passages, more=choice.more),))


async def _draft(turn: Turn, state: TalkState, context: TalkContext, model: Reasoner) -> StepResult:
    facts = _keyed(turn)
    question = TalkQuestion(
        query=turn.stands_alone,
        facts=facts,
        words=ANSWER_WORDS,
        history=history_of(state.turns[:-1][-_RECENT:]),
        today=context.today,
    )
    answer = await model.answer(question)
    asked = tuple(filter(None, (one_line(text, 300) for text in answer.value.follow_ups)))[:_FOLLOW_UPS]
    sentences = tuple(read_sentences(" ".join(answer.value.answer.split()), facts))
    return paid(answer, t.AnswerDrafted(number=turn.number, sentences=sentences, follow_ups=asked))


def _keyed(turn: Turn) -> dict[str, Fact]:
    return {f"E{number}": fact for number, fact in enumerate(turn.facts(), start=1)}


async def _check(turn: Turn, context: TalkContext, model: Reasoner) -> StepResult:
    """Check the draft; keep at most 120 words of what is supported. If that is nothing, the nearest passages are shown."""
    drafted = turn.draft.sentences if turn.draft else ()
    near = _nearest(turn)
    cut = {"number": turn.number, "found": False, "outcome": "not-found", "cut": len(drafted)}
    refusal = t.MessageAnswered(**cut, nearest=near, facts=_cited(near))
    facts = _keyed(turn)
    keys, known = {fact.id: key for key, fact in facts.items()}, {fact.id: fact for fact in facts.values()}
    sound = {f"T{number}": one for number, one in enumerate(drafted, start=1) if one.facts and not one.unknown}
    if not sound:
        return StepResult((refusal,))
    question = CheckQuestion(
        query=turn.stands_alone,
        facts=facts,
        sentences={key: checked(one, known, turn.stands_alone, context.today, keys) for key, one in sound.items()},
        whole=False,
        today=context.today,
    )
    answer = await model.answer(question)
    wrong = {key_of(fault.sentence) for fault in answer.value.faults}
    kept = within_words([one for key, one in sound.items() if key not in wrong], ANSWER_WORDS)
    if not kept:
        return paid(answer, refusal)
    event = t.MessageAnswered(
        number=turn.number,
        found=True,
        outcome="answered",
        sentences=kept,
        facts=_cited(kept),
        follow_ups=turn.draft.follow_ups if turn.draft else (),
        cut=len(drafted) - len(kept),
    )
    return paid(answer, event)


def within_words(sentences: Sequence[Sentence], words: int) -> tuple[Sentence, ...]:
    """Return the first sentences that have at most ``words`` words together."""
    kept: list[Sentence] = []
    for one in sentences:
        words -= word_count(one.text)
        if words < 0:
            break
        kept.append(one)
    return tuple(kept)


def _nearest(turn: Turn) -> tuple[Sentence, ...]:
    taken = turn.taken.passages if turn.taken else ()
    return tuple(Sentence(text=fact.quote, facts=(fact.id,)) for fact in taken)


def _cited(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for one in sentences for name in one.facts))


class TalkLog(StreamLog):
    """The stream of one talk with its state, which is made of what is recorded."""

    def __init__(self, store: EventStore, context: RunContext, state: TalkState) -> None:
        super().__init__(store, context, state.id, state.version)
        self.state = state

    @classmethod
    def open(cls, store: EventStore, context: RunContext, talk_id: str) -> TalkLog:
        """Return the talk as the store holds it, or an empty one.

        Raises:
            LogError: the log is damaged, forked, or written by a newer major version.
        """
        return cls(store, context, read_talk(store, talk_id))

    def record(self, *drafts: EventBase, objects: Sequence[bytes] = ()) -> tuple[EventBase, ...]:
        """Store objects, then the events that name them; then add the events to the state.

        Raises:
            LogError: it could not be stored.
        """
        events = super().record(*drafts, objects=objects)
        for event in events:
            apply(self.state, event)
        return events


async def answer_question(log: TalkLog, context: TalkContext, text: str, by: str = "person") -> Turn:
    """Record a question, work on it, and return its turn with the answer.

    Raises:
        ProviderRefused: key, quota or credit; what was answered by then is recorded.
        StepError: a service is down (with an ``outage``), or the pages cannot be searched; the talk can be continued.
        LogError: the log cannot be written or trusted.
    """
    number = len(log.state.turns) + 1
    log.record(MessageAsked(number=number, text=one_line(text, 2_000), by="note" if by == "note" else "person"))
    return await finish_question(log, context)


async def answer_unrecorded(text: str, scope: TalkScope, context: TalkContext) -> Turn:
    """Return the turn of a question that is answered without a model and not recorded. Raises as ``perform``."""
    state = TalkState(id="talk")
    apply(state, t.TalkOpened(scope=scope.scope, ids=scope.ids, subject=scope.subject, reasoner=EXTRACTIVE))
    apply(state, MessageAsked(number=1, text=text, by="person"))
    while step := next_step(state):
        for draft in (await perform(step, state, context)).drafts:
            apply(state, draft)
    return state.turns[-1]


async def finish_question(log: TalkLog, context: TalkContext) -> Turn:
    """Work on the last question until it is answered; return its turn. Raises as ``answer_question``."""
    while step := next_step(log.state):
        await _do(step, log, context)
    return log.state.turns[-1]


async def _do(step: TalkStep, log: TalkLog, context: TalkContext) -> None:
    """Perform one step and record it. What a model fails to do is done without it, unless it refused or is down."""

    async def record_call(worst: Cost) -> None:
        log.record(CallSent(step=step.key, worst=worst))

    has_failed = step.key in log.state.turns[-1].failed
    clock = asyncio.get_running_loop().time
    began = clock()
    announce.set(record_call)
    try:
        result = await perform(step, log.state, context.without_model() if has_failed else context)
    except StepError as error:
        is_up = isinstance(error, BudgetSpent) or error.outage is None
        goes_on = is_up and not has_failed and not isinstance(error, ProviderRefused)
        log.record(failed(step.key, error, recoverable=not goes_on), objects=(error.exchange,) if error.exchange else ())
        if not goes_on:
            raise
        return
    update = {"step": step.key, "seconds": round(clock() - began, 3)}
    drafts = (draft.model_copy(update=update) if isinstance(draft, Answered) else draft for draft in result.drafts)
    log.record(*drafts, objects=result.objects)
