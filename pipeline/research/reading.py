"""The reading of a worker's pages in one answer: facts, what is still open, what to search for next.

The page with most hits comes first, whole if it fits; of others that are long, the sections that were hit, whole, then those
around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pipeline.domain.agenda import pages_to_read
from pipeline.domain.events import session_events as e
from pipeline.domain.findings import page_of
from pipeline.domain.not_found import survey_statistics
from pipeline.domain.reasoner_questions import ReadingQuestion, ShownPage, key_of
from pipeline.domain.report_parts import INSTRUCTIONS, USUAL_WINDOW, window_of
from pipeline.domain.state import SessionState, Worker, workers_in_order
from pipeline.domain.steps import PlainReading, ReadPages
from pipeline.domain.values import Fact, Perspective, RejectedFact, ResearchConfig
from pipeline.errors import AnswerInvalid
from pipeline.reasoners.passages import ReadPage, choose
from pipeline.research.page_parts import AROUND, LEAST, shown_parts
from pipeline.research.planning import new_queries, today_of
from pipeline.research.quoted_facts import Found, SourceText, facts_and_rejected
from pipeline.research.step_context import StepContext, StepResult, charged_to, paid
from pipeline.text.normalise import counted, one_line, tokens
from pipeline.text.questions import parse_question
from pipeline.text.quotes import Span
from pipeline.text.words import DEFAULT_LANGUAGE, word_count

_FIRST_TOKENS, _BESIDE_TOKENS = 16_500, 8_000  # of pages in the first readings: of the plan's first worker, and of the others
_LARGE_TOKENS = 24_000  # of the plan's first worker, if a sixth of the window is that much
_LATER_TOKENS = 6_000  # in a later one; in that of the gaps 5,000 for each iteration; a good half of the window if that is less
_GAP_TOKENS = 5_000
_BEST_PAGE = 7 / 8  # of the room may be taken by the best page: in a how-to it held 17 of 17 facts that matter
_SPREAD = 3  # sections
_PROMPT_TOKENS = 1_500  # of a prompt beside pages and facts
_FACTS_TOKENS, _FACTS_MOST = 2_000, 15_000  # of the facts of one reading, and of all
OMITTED = "[…]"
_KNOWN, _KNOWN_CHARACTERS = 3, 140  # quotes found before that are shown, of each question


async def read_pages(step: ReadPages, state: SessionState, context: StepContext) -> StepResult:
    """Ask what the pages of an iteration say; a quote that is not in its page is rejected."""
    worker = state.workers[step.worker_id]
    pages = {f"S{number}": one for number, one in enumerate(sources_of(state, worker, step.iteration, context), start=1)}
    questions = {f"Q{number}": text for number, text in enumerate(_questions_of(state, worker), start=1)}
    more_follow = step.iteration < state.config.iterations or bool(state.config.gap_rounds)
    question = ReadingQuestion(
        query=state.query,
        perspective=state.perspectives[worker.perspective_id],
        questions=questions,
        pages={key: _shown(source, state.pages[source.url]) for key, source in pages.items()},
        iteration=step.iteration,
        asked=tuple(dict.fromkeys(_asked(state, worker, step.iteration))),
        known=tuple(_known(state, worker, step.iteration, questions)),
        today=today_of(state),
        goes_on=not worker.round and more_follow,
    )
    answer = await context.reasoner.answer(question)
    said = answer.value
    found: dict[str, list[Found]] = {key: [] for key in pages}
    for place, finding in enumerate(said.findings):
        source = key if (key := key_of(finding.source)) in pages else "S1"
        asked = questions.get(key_of(finding.question), "")
        found[source].append(Found(finding.quote, finding.claim, asked, round(1 - place / (2 * len(said.findings)), 4)))
    events = [_observed(step, source, state, *facts_and_rejected(found[key], source)) for key, source in pages.items()]
    refused = sum(len(event.rejected) for event in events)
    if refused and not any(event.facts for event in events):
        with charged_to(answer):
            raise AnswerInvalid(
                f"{counted(refused, 'quote')}, and not one stands in the pages", hint="a larger model quotes better"
            )
    left = []
    for text in said.open_questions:
        head, _, rest = text.partition(" ")
        known = questions.get(key_of(head.rstrip(":.,")), "")
        words = one_line(rest if known else text, 400)
        left.append(words if word_count(words) > 2 else known)
    ending = {
        "last": True,
        "gaps": tuple(dict.fromkeys(filter(None, left))),
        "queries": new_queries(said.queries, question.asked),
    }
    events[-1] = events[-1].model_copy(update=ending)
    return paid(answer, *events)


async def read_plainly(step: PlainReading, state: SessionState, context: StepContext) -> StepResult:
    """Take the passages that are nearest to the questions, because the model could not read."""
    worker = state.workers[step.worker_id]
    sources = sources_of(state, worker, step.iteration, context)
    pages = [ReadPage(source.url, source.title, source.digest, source.text) for source in sources]
    known = survey_statistics(state)
    asked = dict.fromkeys((state.query, *_questions_of(state, worker)))
    choices = (
        choose(parse_question(question, known.language or DEFAULT_LANGUAGE), pages, known, judged=True) for question in asked
    )
    facts = {fact.id: fact for choice in choices for fact in choice.passages}.values()
    events = [_observed(step, source, state, [fact for fact in facts if fact.url == source.url]) for source in sources]
    events[-1] = events[-1].model_copy(update={"last": True})
    return StepResult(tuple(events))


def _observed(
    step: ReadPages | PlainReading,
    source: SourceText,
    state: SessionState,
    facts: Iterable[Fact],
    rejected: Iterable[RejectedFact] = (),
) -> e.FactsObserved:
    whole = sum(end - start for start, end in (*_seen(state, source.url), *source.shown)) >= len(source.text)
    return e.FactsObserved(
        worker_id=step.worker_id,
        iteration=step.iteration,
        url=source.url,
        digest=source.digest,
        facts=tuple(facts),
        rejected=tuple(rejected),
        whole=whole,
        shown=() if whole else tuple((start, end) for start, end in source.shown),
    )


def _seen(state: SessionState, url: str) -> tuple[tuple[int, int], ...]:
    """Return the parts of a page that earlier readings were shown."""
    return state.observed[url].shown if url in state.observed else ()


def _questions_of(state: SessionState, worker: Worker) -> tuple[str, ...]:
    """Return the questions that a reading is asked: of all perspectives, because a page answers more than one; or the gaps."""
    views: Iterable[Perspective] = [state.perspectives[worker.perspective_id]]
    if not worker.round:
        views = (state.perspectives[other.perspective_id] for other in workers_in_order(state) if not other.round)
    return tuple(dict.fromkeys(question for view in views for question in view.questions))


def _before(state: SessionState, worker: Worker) -> list[Worker]:
    """Return the workers of which it is certain what they have searched for when a worker reads."""
    return [other for other in workers_in_order(state) if other.round <= worker.round]


def _asked(state: SessionState, worker: Worker, iteration: int) -> Iterator[str]:
    for other in _before(state, worker):
        last = iteration if other.round == worker.round else len(other.iterations)
        yield from (query for step in other.iterations[:last] for query in step.queries)


def _known(state: SessionState, worker: Worker, iteration: int, questions: Mapping[str, str]) -> Iterator[str]:
    """Yield what was found before, a few quotes a question; of the workers beside this one what earlier iterations found."""
    facts = [
        fact
        for other in _before(state, worker)
        for number, one in enumerate(other.iterations, start=1)
        if other.round < worker.round or number < iteration
        for seen in one.observed.values()
        for fact in seen.facts
    ]
    for key, question in questions.items():
        found = list(dict.fromkeys(one_line(fact.quote, _KNOWN_CHARACTERS) for fact in facts if fact.question == question))
        yield from (f"[{key}] {quote}" for quote in found[:_KNOWN])
        if len(found) > _KNOWN:
            yield f"[{key}] and {len(found) - _KNOWN} more"


def _shown(source: SourceText, page: e.PageRead) -> ShownPage:
    parts = [source.text[start:end].strip("\n") for start, end in source.shown]
    text = f"\n\n{OMITTED}\n\n".join(parts)
    if source.shown[-1].end < len(source.text):
        text += f"\n\n{OMITTED}"
    return ShownPage(url=source.url, title=source.title, text=text, published=page.published)


def sources_of(state: SessionState, worker: Worker, iteration: int, context: StepContext) -> list[SourceText]:
    """Return the pages of an iteration with the parts that are shown; those for which there is no room are left out.

    The first page, which has most hits, is shown whole if it fits; not for gaps, which a page rarely answers as a whole, nor if
    it is long and its hits lie in one or two sections. Each other one may use half of what is left for the sections that were
    hit; then all are extended around these, the best first, for gaps by one step; in a large window what is left is for whole
    pages. Of a page that was shown in parts before, only other parts are shown.
    """
    first = worker.id == next(iter(workers_in_order(state))).id
    most = _most_tokens(state.config, worker.round, iteration, window_of(state), first=first)
    left = min(most, (window_of(state) - INSTRUCTIONS) * 5 // 8)
    searched = [state.searches[query].hits for query in worker.iterations[iteration - 1].queries if query in state.searches]
    ranked = [hits[rank] for rank in range(max(map(len, searched), default=0)) for hits in searched if rank < len(hits)]
    hits = [*ranked, *(state.survey.hits if state.survey and not worker.round else ())]
    pages = [state.pages[url] for url in pages_to_read(state, worker, iteration)]
    texts = [context.page_text(page.digest) for page in pages]
    shown: list[tuple[Span, ...]] = [()] * len(pages)
    is_long = bool(pages) and tokens(texts[0]) > left // 2
    spread = len({hit.heading for hit in hits if page_of(hit.url) == pages[0].url}) if pages else 0
    may_be_whole = not worker.round and (not is_long or spread >= _SPREAD)
    for around in range(2 if worker.round else AROUND + 1):
        for place, (page, text) in enumerate(zip(pages, texts, strict=True)):
            is_best, seen = not place and may_be_whole, _seen(state, page.url)
            own = _tokens_of(text, shown[place])
            gets_all = around or page is pages[-1] or (is_best and tokens(text) <= _BEST_PAGE * left)
            room = own + left if gets_all else left // 2
            if is_best or room >= LEAST:
                of_page = [hit for hit in hits if page_of(hit.url) == page.url]
                shown[place] = shown_parts(text, of_page, room, seen, around=around or bool(seen), always=is_best)
                left -= _tokens_of(text, shown[place]) - own
    for place, (page, text) in enumerate(zip(pages, texts, strict=True)):
        more = tokens(text) - _tokens_of(text, shown[place])
        if most > _FIRST_TOKENS and more <= left and not _seen(state, page.url):
            shown[place] = (Span(0, len(text)),)
            left -= more
    if pages and not any(shown):
        shown[0] = shown_parts(texts[0], [], left, _seen(state, pages[0].url))
    return [
        SourceText(page.url, page.title, page.digest, text, parts)
        for page, text, parts in zip(pages, texts, shown, strict=True)
        if parts
    ]


def _most_tokens(config: ResearchConfig, round_: int, iteration: int, window: int, *, first: bool) -> int:
    """Return how many tokens of pages a reading is shown: later readings have less, for the session has one bill."""
    if round_:
        return _GAP_TOKENS * config.iterations
    if iteration > 1:
        return _LATER_TOKENS
    return min(_LARGE_TOKENS, max(_FIRST_TOKENS, window // 6)) if first else _BESIDE_TOKENS


def expected(config: ResearchConfig) -> tuple[int, int]:
    """Return the most calls of a session with a model, and about how many tokens in: all rounds, no retry, one part."""
    places = [(0, turn, view == 0) for turn in range(1, config.iterations + 1) for view in range(config.perspectives)]
    readings = [*places, *((number, 1, False) for number in range(1, config.gap_rounds + 1))]
    window = config.context_tokens or USUAL_WINDOW
    pages = sum(_most_tokens(config, number, turn, window, first=first) for number, turn, first in readings)
    facts = min(_FACTS_TOKENS * len(readings), _FACTS_MOST)
    calls = len(readings) + 4  # the plan, the report, its check, and a second check of what code doubts
    return calls, pages + _PROMPT_TOKENS * calls + 2 * facts + 2 * config.report_words


def _tokens_of(text: str, spans: Iterable[Span]) -> int:
    return sum(tokens(text[start:end]) for start, end in spans)
