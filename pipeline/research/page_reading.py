"""The reading of a worker's pages in one answer: facts, what is still open, what to search for next.

The page with most hits comes first, whole if it fits; of others that are long, the sections that were hit, whole, then those
around them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeline.domain.agenda import pages_to_read
from pipeline.domain.events import session_events as e
from pipeline.domain.findings import page_of, survey_statistics
from pipeline.domain.reasoner_questions import ReadingQuestion, ShownPage, key_of
from pipeline.domain.report_parts import INSTRUCTIONS, USUAL_WINDOW, window_of
from pipeline.domain.state import SessionState, Worker, workers_in_order
from pipeline.domain.steps import PlainReading, ReadPages
from pipeline.domain.values import Fact, Hit, Perspective, RejectedFact, ResearchConfig
from pipeline.reasoners.passages import ReadPage, choose
from pipeline.research.gathering import new_queries, today_of
from pipeline.research.quoted_facts import Found, facts_and_rejected
from pipeline.research.step_context import StepContext, StepResult, paid, unusable
from pipeline.text.normalise import counted, one_line, tokens
from pipeline.text.questions import parse_question
from pipeline.text.quotes import Span
from pipeline.text.words import DEFAULT_LANGUAGE, word_count

_FIRST_TOKENS, _BESIDE_TOKENS = 16_500, 8_000  # of pages in the first readings: of the plan's first worker, and of the others
_LARGE_TOKENS = 24_000  # of the plan's first worker, if a sixth of the window is that much
_LATER_TOKENS = 6_000  # in a later one; a good half of the window if that is less
_GAP_TOKENS, _GAP_PAGE_TOKENS = 5_000, 400  # in that of the gaps, for each iteration; of one page, as long as there is room
_BEST_PAGE = 7 / 8  # of the room may be taken by the best page: in a how-to it held 17 of 17 facts that matter
_SPREAD = 3  # sections
_WITH_NEIGHBOURS = 3  # pages: of 903 quotes 6 were from sections beside the hits of later ones, at 25,000 tokens
_PROMPT_TOKENS = 1_500  # of a prompt beside pages and facts
_FACTS_TOKENS, _FACTS_MOST = 2_000, 15_000  # of the facts of one reading, and of all
OMITTED = "[…]"
_KNOWN, _KNOWN_CHARACTERS = 3, 140  # quotes found before that are shown, of each question


async def read_pages(step: ReadPages, state: SessionState, context: StepContext) -> StepResult:
    """Ask what the pages of an iteration say; a quote that is not in its page is rejected."""
    worker = state.workers[step.worker_id]
    pages = {f"S{number}": one for number, one in enumerate(sources_of(state, worker, step.iteration, context), start=1)}
    view = _view_of(state, worker, step.iteration)
    questions = {f"Q{number}": text for number, text in enumerate(_questions_of(state, worker, view), start=1)}
    more_follow = step.iteration < state.config.iterations or bool(state.config.gap_rounds)
    question = ReadingQuestion(
        query=state.query,
        perspective=view,
        questions=questions,
        pages={key: _shown(source, state.pages[source.url]) for key, source in pages.items()},
        iteration=step.iteration,
        asked=tuple(dict.fromkeys(_asked(state, worker, step.iteration))),
        known=tuple(_known(state, worker, step.iteration, questions)),
        today=today_of(state),
        goes_on=not worker.round and more_follow,
    )
    answer = await context.answer(question)
    said = answer.value
    found: dict[str, list[Found]] = {key: [] for key in pages}
    for place, finding in enumerate(said.findings):
        source = key if (key := key_of(finding.source)) in pages else "S1"
        asked = questions.get(key_of(finding.question), "")
        found[source].append(Found(finding.quote, finding.claim, asked, round(1 - place / (2 * len(said.findings)), 4)))
    events = [_observed(step, source, state, *facts_and_rejected(found[key], source)) for key, source in pages.items()]
    refused = sum(len(event.rejected) for event in events)
    if refused and not any(event.facts for event in events):
        raise unusable(answer, f"{counted(refused, 'quote')}, and not one stands in the pages", "a larger model quotes better")
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
    known = survey_statistics(state)
    asked = dict.fromkeys((state.query, *_questions_of(state, worker, _view_of(state, worker, step.iteration))))
    choices = (
        choose(parse_question(question, known.language or DEFAULT_LANGUAGE), sources, known, judged=True) for question in asked
    )
    facts = {fact.id: fact for choice in choices for fact in choice.passages}.values()
    events = [_observed(step, source, state, [fact for fact in facts if fact.url == source.url]) for source in sources]
    events[-1] = events[-1].model_copy(update={"last": True})
    return StepResult(tuple(events))


def _observed(
    step: ReadPages | PlainReading,
    source: ReadPage,
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


def _shown(source: ReadPage, page: e.PageRead) -> ShownPage:
    parts = [source.text[start:end].strip("\n") for start, end in source.shown]
    text = f"\n\n{OMITTED}\n\n".join(parts)
    if source.shown[-1].end < len(source.text):
        text += f"\n\n{OMITTED}"
    return ShownPage(url=source.url, title=source.title, text=text, published=page.published)


def sources_of(state: SessionState, worker: Worker, iteration: int, context: StepContext) -> list[ReadPage]:
    """Return the pages of an iteration with the parts that are shown; those for which there is no room are left out.

    The first page, which has most hits, is shown whole if it fits; not for gaps, which a page rarely answers as a whole, nor if
    it is long and its hits lie in one or two sections. Each other one may use half of what is left, for gaps an equal share, for
    the sections that were hit; then the first ones are extended around these, for gaps by one section; in a large window what is
    left is for whole pages. Of a page that was shown in parts before, only other parts are shown.
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
            # The answer to a gap may stand in any of its pages.
            share = max(1, min(len(pages) - place, left // _GAP_PAGE_TOKENS)) if worker.round else 2
            room = own + left if gets_all else left // share
            if is_best or room >= LEAST:
                of_page = [hit for hit in hits if page_of(hit.url) == page.url]
                beside = max(around, bool(seen)) if place < _WITH_NEIGHBOURS else 0
                shown[place] = shown_parts(text, of_page, room, seen, around=beside, always=is_best)
                left -= _tokens_of(text, shown[place]) - own
    for place, (page, text) in enumerate(zip(pages, texts, strict=True)):
        more = tokens(text) - _tokens_of(text, shown[place])
        if most > _FIRST_TOKENS and more <= left and not _seen(state, page.url):
            shown[place] = (Span(0, len(text)),)
            left -= more
    if pages and not any(shown):
        shown[0] = shown_parts(texts[0], [], left, _seen(state, pages[0].url))
    return [
        ReadPage(page.url, page.title, page.digest, text, shown=parts)
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
    readings = [*places, *[(1, 1, False)] * config.gap_rounds]
    window = config.context_tokens or USUAL_WINDOW
    pages = sum(_most_tokens(config, number, turn, window, first=first) for number, turn, first in readings)
    facts = min(_FACTS_TOKENS * len(readings), _FACTS_MOST)
    calls = len(readings) + 4  # the plan, the report, its check, and a second check of what code doubts
    return calls, pages + _PROMPT_TOKENS * calls + 2 * facts + 2 * config.report_words


def _tokens_of(text: str, spans: Iterable[Span]) -> int:
    return sum(tokens(text[start:end]) for start, end in spans)


AROUND = 2  # sections on each side of one that was hit
LEAST = 200  # tokens of room in which a further page is shown
_PIECE = 600  # tokens of a part of a section that is left out or shown by itself
_SHORT = 4_000  # tokens of a page that is shown whole: of 901 quotes 3 more were shown than with 2,000, at a fortieth more text
_NO_HEADING = 7  # the level of paragraphs inside a section


class Piece(NamedTuple):
    """A part of a page: a section up to the next heading, or some paragraphs of a long one, which have the level below."""

    span: Span
    heading: str
    anchor: str
    level: int


def shown_parts(
    text: str,
    hits: Sequence[Hit],
    room: int,
    before: Iterable[tuple[int, int]] = (),
    *,
    around: int = AROUND,
    always: bool = True,
) -> tuple[Span, ...]:
    """Return the parts of a page that fit ``room`` tokens: all of it if it is short or ``always`` is set; else the sections that
    were hit, each whole or not at all, and then ``around`` steps further from each, the nearest first.

    Of a section that does not fit, the paragraphs that were hit are shown with those beside them. What was shown ``before`` is
    left out. If nothing else was hit, and ``always`` is set, the page goes on from its beginning.
    """
    seen = tuple(before)
    if not seen and tokens(text) <= (room if always else min(room, _SHORT)):
        return (Span(0, len(text)),)
    pieces = pieces_of(text)
    costs = [tokens(text[piece.span.start : piece.span.end]) + 4 for piece in pieces]
    new = [not any(start <= piece.span.start and piece.span.end <= end for start, end in seen) for piece in pieces]
    hit = list(dict.fromkeys(place for one in hits for place in _places_of(one, pieces, text)))
    kept = _taken(hit, pieces, costs, new, room, around=around)
    wanted = [place for place in range(len(pieces)) if new[place]] if always and not kept else []
    kept = kept or _taken(wanted, pieces, costs, new, room, around=0)
    if wanted and not kept:
        start, end = pieces[next((place for place in hit if new[place]), wanted[0])].span
        part = text[start:end].encode()[: 3 * room].decode("utf-8", "ignore")
        return (Span(start, start + max(1, len(part))),)
    lines = [line for place in kept for line in text[pieces[place].span.start : pieces[place].span.end].split("\n")]
    if not always and not any(line.strip() and not line.startswith("#") for line in lines):
        return ()  # headings alone
    spans: list[Span] = []
    for place in sorted(kept):
        start, end = pieces[place].span
        if spans and spans[-1].end == start:
            spans[-1] = Span(spans[-1].start, end)
        else:
            spans.append(Span(start, end))
    return tuple(spans)


def _taken(
    hit: Iterable[int], pieces: Sequence[Piece], costs: Sequence[int], new: Sequence[bool], room: int, *, around: int
) -> set[int]:
    """Return the pieces for which there is room: of each hit its section with what holds it, then step by step what is beside it.

    A section longer than all the room is taken by its pieces.
    """
    begins = [place for place, piece in enumerate(pieces) if piece.level < _NO_HEADING or not place]
    sections = [range(start, end) for start, end in zip(begins, [*begins[1:], len(pieces)], strict=True)]
    levels = [pieces[section.start].level for section in sections]
    kept: set[int] = set()
    left = room
    for step in range(around + 1):
        for place in hit:
            own = bisect_right(begins, place) - 1
            if sum(costs[one] for one in sections[own] if new[one]) > room:
                wanted = [range(one, one + 1) for one in (place + step, place - step) if one in sections[own]]
            elif step:
                wanted = [sections[one] for one in (own + step, own - step) if 0 <= one < len(sections)]
            else:
                above = sections[next((one for one in range(own, -1, -1) if levels[one] < levels[own]), own)]
                is_short = pieces[above.start].level > 1 and sum(costs[one] for one in above) <= LEAST
                wanted = [sections[own], *([above] if is_short else [])]  # the introduction of what holds it
            for scope in wanted:
                more = [one for one in scope if new[one] and one not in kept]
                if (cost := sum(costs[one] for one in more)) <= left:
                    kept.update(more)
                    left -= cost
    return kept


def _places_of(hit: Hit, pieces: Sequence[Piece], text: str) -> list[int]:
    """Return the pieces in which a hit lies: that of its passage in its section, else those of its section."""
    line = max(hit.snippet.split("\n"), key=len, default="").strip()[:80]
    anchor = hit.url.partition("#")[2]
    holding = [place for place, piece in enumerate(pieces) if line and line in text[piece.span.start : piece.span.end]]
    of_section = [
        place
        for place, piece in enumerate(pieces)
        if (anchor and piece.anchor == anchor) or (hit.heading and piece.heading == hit.heading)
    ]
    both = [place for place in holding if place in of_section]  # the same words may stand in another section
    return both or of_section or holding[:1]


def pieces_of(text: str) -> list[Piece]:
    """Return a page's pieces in order; together they are the page."""
    pieces: list[Piece] = []
    heading = anchor = ""
    level = _NO_HEADING
    start = at = size = 0
    in_code = False
    for line in text.splitlines(keepends=True):
        if line.startswith("```"):
            in_code = not in_code
        is_heading = line.startswith("#") and not in_code
        if at > start and (is_heading or (size > _PIECE and (not line.strip() or size > 2 * _PIECE))):
            pieces.append(Piece(Span(start, at), heading, anchor, level))
            start, size, level = at, 0, _NO_HEADING
        if is_heading:
            level = len(line) - len(line.lstrip("#"))
            heading, _, mark = line.strip("# \n").partition(" {#")
            anchor = mark.rstrip("}")
        at += len(line)
        size += tokens(line)
    return [*pieces, Piece(Span(start, len(text)), heading, anchor, level)]
