"""The reading of a worker's pages in one answer: facts, what is still open, what to search for next.

The page that the plan names first, or that has most hits, is shown whole if it fits; of others that are long, the sections that
were hit, whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.domain.agenda import pages_to_read
from pipeline.domain.events import session_events as e
from pipeline.domain.events.upkeep_events import Rated
from pipeline.domain.page_choice_and_findings import survey_statistics, without_fragment
from pipeline.domain.reasoner_questions import Finding, ReadingQuestion, ShownPage, key_of
from pipeline.domain.report_draft import INSTRUCTIONS, USUAL_WINDOW, fact_tokens, window_of
from pipeline.domain.research_values import Fact, Hit, Perspective, RejectedFact, ResearchConfig
from pipeline.domain.session_state import SessionState, Worker, workers_in_order
from pipeline.domain.steps import PlainReading, ReadPages
from pipeline.reasoners.passages import ReadPage, choose
from pipeline.research.planning_and_searching import new_queries, today_of
from pipeline.research.quoted_facts import facts_and_rejected
from pipeline.research.step_context import StepContext, StepResult, paid, unusable
from pipeline.text.cleaning import one_line, tokens
from pipeline.text.humanize import counted
from pipeline.text.page_excerpts import LEAST, Place, shown_parts, with_marks
from pipeline.text.questions import parse_question
from pipeline.text.quotes import Span
from pipeline.text.words import word_count

# Of pages in the first readings: of the plan's first worker, and of the others; of one page that is not the best.
_FIRST_TOKENS, _BESIDE_TOKENS, _OTHER_TOKENS = 15_500, 8_000, 3_000
_LARGE_TOKENS = 24_000  # of the plan's first worker, if a sixth of the window is that much and there are further iterations
_LATER_TOKENS = 6_000  # in a later one; a good half of the window if that is less
# In that of the gaps; at least; and of one page, as long as there is room.
_GAP_TOKENS, _LEAST_GAP_TOKENS, _GAP_PAGE_TOKENS = 10_000, 2_000, 400
# Of all pages and, three times, the facts before the gaps: with one reading, and for each further one. Half of what they leave
# is for pages of gaps: what is found there is paid for twice more, to be written from and checked. Of eleven fast sessions,
# replayed, that take 29,500 to 34,800 tokens of four characters, not 27,200 to 34,500, these readings show 50 more of 220 lines
# that matter, not 43. A deep one of three perspectives, two rounds and 247 facts takes 104,700.
_SESSION_TOKENS, _READING_TOKENS, _FACT_COSTS = 41_000, 17_000, 3
# Of a gap's room, of a page that the last reading searched for: of 15 answers 13 are shown, not 12. With half for one of which it
# named several sections, 130 lines that matter of 160, not 129, and 77 of the 90 that matter most, not 75.
_ASKED_SHARE, _SEVERAL_SHARE = 4, 2
_BEST_PAGE = 7 / 8  # of the room may be taken by the best page: in a how-to it held 17 of 17 facts that matter
_SPREAD = 3  # sections
_FILLED = 2  # times what is shown of a page may be added to show it whole: in 13 sessions no fact that matters stood in more
_PROMPT_TOKENS = 1_500  # of a prompt beside pages and facts
_FACTS_TOKENS, _FACTS_MOST = 3_000, 15_000  # of the facts of one reading, and of all
_KNOWN, _KNOWN_CHARACTERS = 3, 140  # quotes found before that are shown, of each question


async def read_pages(step: ReadPages, state: SessionState, context: StepContext) -> StepResult:
    """Ask what the pages of an iteration say; a quote that is not in its page is rejected."""
    worker = state.workers[step.worker_id]
    pages = {f"S{number}": one for number, one in enumerate(sources_of(state, worker, step.iteration, context), start=1)}
    view = _view_of(state, worker, step.iteration)
    questions = {f"Q{number}": text for number, text in enumerate(_questions_of(state, worker, view), start=1)}
    own = {key: text for key, text in questions.items() if text in view.questions}
    goes_on = not worker.round and (step.iteration < state.config.iterations or bool(state.config.gap_rounds))
    texts = {key: with_marks(one.text, one.shown, _seen(state, one.url), one.found, named=goes_on) for key, one in pages.items()}
    question = ReadingQuestion(
        query=state.query,
        perspective=view,
        questions=questions,
        pages={
            key: ShownPage(url=one.url, title=one.title, text=texts[key], published=state.pages[one.url].published)
            for key, one in pages.items()
        },
        iteration=step.iteration,
        asked=tuple(dict.fromkeys(_asked(state, worker, step.iteration))),
        known=tuple(_known(state, worker, step.iteration, own)),
        today=today_of(state),
        goes_on=goes_on,
    )
    rated = context.rated(state.query_id)  # before anything is paid for: it may raise
    answer = await context.answer(question)
    said = answer.value
    found: dict[str, list[tuple[Finding, float]]] = {key: [] for key in pages}
    for place, finding in enumerate(said.findings):
        source = key if (key := key_of(finding.source)) in pages else "S1"
        finding = finding.model_copy(update={"question": questions.get(key_of(finding.question), "")})
        found[source].append((finding, round(1 - place / (2 * len(said.findings)), 4)))
    judged = {key: facts_and_rejected(found[key], source) for key, source in pages.items()}
    refused = sum(len(rejected) for _, rejected in judged.values())
    if refused and not any(facts for facts, _ in judged.values()):
        raise unusable(answer, f"{counted(refused, 'quote')}, and not one stands in the pages", "a larger model quotes better")
    left = []
    for text in said.open_questions:
        head, _, rest = text.partition(" ")
        known = questions.get(key_of(head.rstrip(":.,")), "")
        words = one_line(rest if known else text, 400)
        left.append(words if word_count(words) > 2 else known)
    read = [(source, *judged[key]) for key, source in pages.items()]
    gaps, queries = tuple(dict.fromkeys(filter(None, left))), new_queries(said.queries, question.asked)
    return paid(answer, *_observed(step, state, rated, read, gaps=gaps, queries=queries))


async def read_plainly(step: PlainReading, state: SessionState, context: StepContext) -> StepResult:
    """Take the passages that are nearest to the questions, because the model could not read."""
    worker = state.workers[step.worker_id]
    sources = sources_of(state, worker, step.iteration, context)
    known = survey_statistics(state)
    asked = dict.fromkeys((state.query, *_questions_of(state, worker, _view_of(state, worker, step.iteration))))
    choices = {question: choose(parse_question(question, known.language), sources, known, judged=True) for question in asked}
    found = ((fact, question) for question, choice in choices.items() for fact in choice.passages)
    facts = {fact.id: fact.model_copy(update={"question": one_line(question, 400)}) for fact, question in found}.values()
    rated = context.rated(state.query_id)
    read = [(source, tuple(fact for fact in facts if fact.url == source.url), ()) for source in sources]
    return StepResult(tuple(_observed(step, state, rated, read)))


_Read = tuple[ReadPage, tuple[Fact, ...], tuple[RejectedFact, ...]]


def _observed(
    step: ReadPages | PlainReading, state: SessionState, rated: Rated, read: Sequence[_Read], **ending: Any
) -> Iterator[e.FactsObserved]:
    """Yield what was found in each page, without what a person called wrong; the last one has the fields of ``ending``."""
    for place, (source, facts, rejected) in enumerate(read, start=1):
        whole = sum(end - start for start, end in (*_seen(state, source.url), *source.shown)) >= len(source.text)
        more = {"last": True, **ending} if place == len(read) else {}
        yield e.FactsObserved(
            worker_id=step.worker_id,
            iteration=step.iteration,
            url=source.url,
            digest=source.digest,
            facts=tuple(fact for fact in facts if rated.same(fact) not in rated.wrong),
            rejected=rejected,
            whole=whole,
            shown=() if whole else tuple((start, end) for start, end in source.shown),
            **more,
        )


def _seen(state: SessionState, url: str) -> tuple[tuple[int, int], ...]:
    """Return the parts of a page that earlier readings were shown."""
    return state.observed[url].shown if url in state.observed else ()


def _view_of(state: SessionState, worker: Worker, iteration: int) -> Perspective:
    """Return a worker's perspective, with what its earlier readings left open in words of their own, lest it be forgotten."""
    view = state.perspectives[worker.perspective_id]
    raised = (gap for done in worker.iterations[: iteration - 1] for gap in done.gaps)
    return view.model_copy(update={"questions": tuple(dict.fromkeys((*view.questions, *raised)))})


def _questions_of(state: SessionState, worker: Worker, view: Perspective) -> tuple[str, ...]:
    """Return the questions that a reading is asked: of all perspectives, because a page answers more than one; or the gaps."""
    beside = [] if worker.round else [other for other in workers_in_order(state) if not other.round and other.id != worker.id]
    views = (view, *(state.perspectives[other.perspective_id] for other in beside))
    return tuple(dict.fromkeys(question for one in views for question in one.questions))


def _before(state: SessionState, worker: Worker) -> list[Worker]:
    """Return the workers of which it is certain what they have searched for when a worker reads."""
    return [other for other in workers_in_order(state) if other.round <= worker.round]


def _asked(state: SessionState, worker: Worker, iteration: int) -> Iterator[str]:
    for other in _before(state, worker):
        done = other.iterations[:iteration] if other.round == worker.round else other.iterations
        yield from (query for step in done for query in step.queries)


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


def sources_of(state: SessionState, worker: Worker, iteration: int, context: StepContext) -> list[ReadPage]:
    """Return the pages of an iteration with the parts that are shown; those for which there is no room are left out.

    The first page is shown whole if it fits; not for gaps, which a page rarely answers as a whole, nor if
    it is long and its hits lie in one or two sections. Each other one may use half of what is left, within bounds, for the
    sections that were hit; for gaps an equal share, or more if a search that the last reading named brings it first, half if
    several of its sections were named. Then the first page is extended around these by one section, for gaps each. Not for gaps,
    what is left is for whole pages, those of which least is missing first: the first page, and each other of which a third is
    shown. Of a page that was shown in parts before, only other parts are shown.
    """
    window, is_first = window_of(state), worker.id == next(workers_in_order(state)).id
    most = _most_tokens(state.config, iteration, window, first=is_first)
    most = _gap_tokens(state.config, _spent(state, context)) if worker.round else most
    left = min(most, (window - INSTRUCTIONS) * 5 // 8)
    queries = worker.iterations[iteration - 1].queries
    view = state.perspectives[worker.perspective_id]
    done = [query for query in queries if query in state.searches]
    ranked = [(query in view.questions, rank, hit) for query in done for rank, hit in enumerate(state.searches[query].hits)]
    searched = [hit for _, _, hit in sorted(ranked, key=lambda one: one[:2])]  # those in a model's words first
    hits = [*searched, *(state.survey.hits if state.survey and not worker.round else ())]
    found = [state.pages[url] for url in pages_to_read(state, worker, iteration)]
    places = {one.url: tuple(_place_of(hit) for hit in hits if without_fragment(hit.url) == one.url) for one in found}
    pages = [ReadPage(one.url, one.title, one.digest, context.page_text(one.digest), found=places[one.url]) for one in found]
    is_long = bool(pages) and tokens(pages[0].text) > left // 2
    spread = len({hit.heading for hit in hits if without_fragment(hit.url) == pages[0].url}) if pages else 0
    named = [query for query in done if query not in view.questions]
    # A search for several headings has the section of each first.
    first_hits = {(hit.url, hit.heading) for query in named for hit in state.searches[query].hits[: query.count(";") + 1]}
    asked = Counter(without_fragment(url) for url, _ in first_hits)
    may_be_whole = not worker.round and (not is_long or spread >= _SPREAD)
    for around in (0, 1):
        for place, page in enumerate(pages):
            is_best, seen, own = not place and may_be_whole, _seen(state, page.url), _shown_tokens(page)
            gets_all = around or place == len(pages) - 1 or (is_best and tokens(page.text) <= _BEST_PAGE * left)
            # The answer to a gap may stand in any of its pages.
            share = max(1, min(len(pages) - place, left // _GAP_PAGE_TOKENS)) if worker.round else 2
            share = min(share, _SEVERAL_SHARE if asked[page.url] > 1 else _ASKED_SHARE) if page.url in asked else share
            room = own + left if gets_all else left // share
            room = room if is_best or worker.round else min(room, _OTHER_TOKENS)
            if is_best or room >= LEAST:
                beside = around if worker.round or not place else int(bool(seen))
                shown = shown_parts(page.text, page.found, room, seen, around=beside, always=is_best)
                pages[place] = page._replace(shown=shown)
                left -= _shown_tokens(pages[place]) - own
    rest = [] if worker.round else sorted((tokens(page.text) - _shown_tokens(page), place) for place, page in enumerate(pages))
    for more, place in rest:
        room = min(left, _FILLED * _shown_tokens(pages[place])) if place else left
        if more <= room and not _seen(state, pages[place].url):
            pages[place] = pages[place]._replace(shown=(Span(0, len(pages[place].text)),))
            left -= more
    if pages and not any(page.shown for page in pages):
        pages[0] = pages[0]._replace(shown=shown_parts(pages[0].text, [], left, _seen(state, pages[0].url)))
    return [page for page in pages if page.shown]


def _place_of(hit: Hit) -> Place:
    longest = max(hit.snippet.split("\n"), key=len, default="").strip()[:80]
    return Place(hit.url.partition("#")[2], hit.heading, longest)


def _most_tokens(config: ResearchConfig, iteration: int, window: int, *, first: bool) -> int:
    """Return how many tokens of pages a reading before the gaps is shown: later ones have less, for the session has one bill."""
    if iteration > 1:
        return _LATER_TOKENS
    large = min(_LARGE_TOKENS, window // 6) if config.iterations > 1 else 0
    return max(_FIRST_TOKENS, large) if first else _BESIDE_TOKENS


def _gap_tokens(config: ResearchConfig, spent: int) -> int:
    """Return how many tokens of pages a reading for gaps is shown: half of what is left of those that were not ``spent``."""
    all_tokens = _SESSION_TOKENS + _READING_TOKENS * (config.perspectives * config.iterations - 1)
    return max(_LEAST_GAP_TOKENS, min(_GAP_TOKENS, (all_tokens - spent) // 2))


def _spent(state: SessionState, context: StepContext) -> int:
    """Return the tokens of the pages that a session was shown, and three times those of its facts."""
    texts = ((context.page_text(state.pages[url].digest), seen.shown) for url, seen in state.observed.items())
    pages = sum(tokens(text[start:end]) for text, shown in texts for start, end in shown or [(0, len(text))])
    return pages + _FACT_COSTS * sum(map(fact_tokens, state.facts.values()))


def expected(config: ResearchConfig) -> tuple[int, int]:
    """Return the most calls of a session with a model, and about how many tokens in: all rounds, no retry, one part."""
    places = [(turn, view == 0) for turn in range(1, config.iterations + 1) for view in range(config.perspectives)]
    window = config.context_tokens or USUAL_WINDOW
    readings = len(places) + config.gap_rounds
    facts = min(_FACTS_TOKENS * readings, _FACTS_MOST)
    pages = sum(_most_tokens(config, turn, window, first=first) for turn, first in places)
    pages += config.gap_rounds * _gap_tokens(config, pages + _FACT_COSTS * facts)
    calls = readings + 4  # the plan, the report, its check, and a second check of what code doubts
    return calls, pages + _PROMPT_TOKENS * calls + 2 * facts + 2 * config.report_words


def _shown_tokens(page: ReadPage) -> int:
    return sum(tokens(page.text[start:end]) for start, end in page.shown)
