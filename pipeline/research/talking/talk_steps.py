"""The steps of a question in a talk: make it stand alone, find pages, take passages; with a model, draft an answer, check it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from pipeline.domain.events import stream_events as t
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.findings import page_of
from pipeline.domain.reasoner_questions import (
    CheckedSentence,
    CheckQuestion,
    PastTurn,
    Reply,
    StandAloneQuestion,
    TalkQuestion,
    key_of,
)
from pipeline.domain.talk import StepName, TalkState, TalkStep, Turn
from pipeline.domain.values import EXTRACTIVE, Fact, Sentence
from pipeline.domain.values import Outcome as SessionOutcome
from pipeline.errors import CorpusUnusable, ReadFailed, SearchFailed
from pipeline.ports import Answer, Documents, FoundPassages, Reasoner, StoredPage, StoredPages
from pipeline.reasoners.passages import ReadPage, choose, cosines_by_page
from pipeline.research.code_warnings import warning_of
from pipeline.research.report_text import read_sentences
from pipeline.research.step_context import Outcome, paid
from pipeline.text.normalise import clean, digest_of, one_line
from pipeline.text.ranking.query_terms import parse_in, parse_question
from pipeline.text.ranking.term_statistics import TermStatistics
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

    ``documents`` are the folders, which a talk about everything searches too. ``plain`` is the reasoner without a model, which
    does what the model cannot.
    """

    reasoner: Reasoner
    plain: Reasoner
    pages: StoredPages
    page_text: Callable[[str], str]
    sessions: Sequence[str]
    today: str = ""
    is_gone: Callable[[str], bool] = lambda _url: False
    documents: Documents | None = None

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
    if context.reasoner.name == EXTRACTIVE:
        text = one_line(turn.text, 600)
        text = f"{text} ({before[-1].stands_alone or before[-1].text})" if before else text
        return Outcome((t.MessageResolved(number=turn.number, stands_alone=text),))
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
    objects: tuple[bytes, ...] = ()
    if state.scope == "vault" and context.documents is not None:
        found, objects = await _with_documents(found, turn.stands_alone, context.documents)
    pages = tuple(_read_page(one, context) for one in found.pages[:_PAGES])
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
    return Outcome((event,), objects)


async def _with_documents(found: FoundPassages, question: str, documents: Documents) -> tuple[FoundPassages, tuple[bytes, ...]]:
    """Return what was found together with passages of the folders, and the texts of documents that no session has read.

    A document that was read is found as it was stored then.
    """
    try:
        own = await documents.search(question, _HITS)
    except (CorpusUnusable, SearchFailed):
        return found, ()
    stored = {one.url for one in found.pages}
    new = [hit for hit in own.hits if page_of(hit.url) not in stored]
    hits = sorted((*found.hits, *new), key=lambda hit: -hit.score)[:_HITS]
    pages = {one.url: one for one in found.pages}
    texts: dict[str, bytes] = {}
    for url in list(dict.fromkeys(page_of(hit.url) for hit in hits))[:_PAGES]:
        if url not in pages:
            try:
                page = await documents.read(url)
            except ReadFailed:
                continue
            texts[url] = clean(page.text).strip().encode()
            pages[url] = StoredPage(url, one_line(page.title), digest_of(texts[url]), "")
    order = [pages[url] for url in dict.fromkeys(page_of(hit.url) for hit in hits) if url in pages]
    known = own if own.statistics.passages > found.statistics.passages else found
    both = replace(found, hits=tuple(hits), pages=tuple(order), statistics=known.statistics, languages=known.languages)
    return both, tuple(texts.values())


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


async def _take(_step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    """Take the passages of the found pages that come nearest; for a model, which judges them, from a longer list."""
    turn = state.turns[-1]
    assert turn.found is not None  # noqa: S101 - the agenda takes only from what was found
    known, near = turn.found.statistics, cosines_by_page(turn.found.hits)
    pages = [
        ReadPage(page.url, page.title, page.digest, context.page_text(page.digest), near.get(page.url, {}))
        for page in turn.found.pages
    ]
    query = parse_in(turn.stands_alone, turn.found.languages)
    judged = state.reasoner != EXTRACTIVE
    choice = choose(query, pages, known, more=_MODEL_PLACES if judged else _PLACES, judged=judged)
    return Outcome((t.PassagesTaken(number=turn.number, passages=choice.passages, more=choice.more),))


async def _draft(_step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    turn = state.turns[-1]
    if context.reasoner.name == EXTRACTIVE:
        return Outcome((_passages(turn),))
    facts = _keyed(turn)
    question = TalkQuestion(
        query=turn.stands_alone,
        facts=facts,
        words=ANSWER_WORDS,
        history=history_of(state.turns[:-1][-_RECENT:]),
        today=context.today,
    )
    answer = await context.reasoner.answer(question)
    asked = tuple(filter(None, (one_line(text, 300) for text in answer.value.follow_ups)))[:_FOLLOW_UPS]
    sentences = tuple(read_sentences(" ".join(answer.value.answer.split()), facts))
    return _recorded(t.AnswerDrafted(number=turn.number, sentences=sentences, follow_ups=asked), answer)


def _keyed(turn: Turn) -> dict[str, Fact]:
    return {f"E{number}": fact for number, fact in enumerate(turn.facts(), start=1)}


async def _check(_step: TalkStep, state: TalkState, context: TalkContext) -> Outcome:
    """Check the draft; keep at most 120 words of what is supported."""
    turn = state.turns[-1]
    assert turn.draft is not None  # noqa: S101 - the agenda checks only a draft
    if context.reasoner.name == EXTRACTIVE:
        return Outcome((_passages(turn),))
    facts = _keyed(turn)
    keys = {fact.id: key for key, fact in facts.items()}
    sound = [one for one in turn.draft.sentences if one.facts and not one.unknown]
    if not sound:
        return Outcome((_refusal(turn),))
    asked: dict[str, CheckedSentence] = {}
    for number, one in enumerate(sound, start=1):
        cited = [fact for fact in facts.values() if fact.id in one.facts]
        derived = one.basis == "derived"
        asked[f"T{number}"] = CheckedSentence(
            text=one.text,
            keys=tuple(keys[name] for name in one.facts),
            cites="derived" if derived else "quoted",
            warning=warning_of(one.text, cited, turn.stands_alone, context.today, derived=derived),
        )
    question = CheckQuestion(query=turn.stands_alone, facts=facts, sentences=asked, whole=False, today=context.today)
    answer = await context.reasoner.answer(question)
    wrong = {key_of(fault.sentence) for fault in answer.value.faults}
    kept = within_words([one for key, one in zip(asked, sound, strict=True) if key not in wrong], ANSWER_WORDS)
    return _recorded(_answered(turn, kept) if kept else _refusal(turn), answer)


def within_words(sentences: Sequence[Sentence], words: int) -> tuple[Sentence, ...]:
    """Return the first sentences that have at most ``words`` words together."""
    kept: list[Sentence] = []
    for one in sentences:
        words -= word_count(one.text)
        if words < 0:
            break
        kept.append(one)
    return tuple(kept)


async def _answer(_step: TalkStep, state: TalkState, _context: TalkContext) -> Outcome:
    return Outcome((_passages(state.turns[-1]),))


def _passages(turn: Turn) -> t.MessageAnswered:
    """Return the nearest passages as the answer, which nobody has judged; or that there are none."""
    near = _nearest(turn)
    outcome: SessionOutcome = "passages" if near else "not-found"
    return t.MessageAnswered(number=turn.number, found=bool(near), outcome=outcome, sentences=near, facts=_cited(near))


def _refusal(turn: Turn) -> t.MessageAnswered:
    """Return that a model finds no answer in the pages, and the passages that come nearest."""
    near = _nearest(turn)
    cut = len(turn.draft.sentences) if turn.draft else 0
    return t.MessageAnswered(number=turn.number, found=False, outcome="not-found", facts=_cited(near), nearest=near, cut=cut)


def _nearest(turn: Turn) -> tuple[Sentence, ...]:
    taken = turn.taken.passages if turn.taken else ()
    return tuple(Sentence(text=fact.quote, facts=(fact.id,)) for fact in taken)


def _cited(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for one in sentences for name in one.facts))


def _answered(turn: Turn, sentences: Sequence[Sentence]) -> t.MessageAnswered:
    drafted = turn.draft.sentences if turn.draft else ()
    return t.MessageAnswered(
        number=turn.number,
        found=True,
        outcome="answered",
        sentences=tuple(sentences),
        facts=_cited(sentences),
        follow_ups=turn.draft.follow_ups if turn.draft else (),
        cut=len(drafted) - len(sentences),
    )


def _recorded(event: EventBase, answer: Answer[A]) -> Outcome:
    cost = paid(answer)
    return Outcome((event.model_copy(update={"cost": cost.cost, "exchange": cost.exchange}),), cost.objects)


_STEPS: Mapping[StepName, Callable[[TalkStep, TalkState, TalkContext], Awaitable[Outcome]]] = MappingProxyType(
    {"resolve": _resolve, "find": _find, "take": _take, "draft": _draft, "check": _check, "answer": _answer}
)
