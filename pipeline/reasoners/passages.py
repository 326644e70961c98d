"""What is done without a model: the passages of the pages read that come nearest to a question, chosen by words and meaning.

All is quoted; nothing is judged. The same question over the same pages always gives the same passages: there is no clock, no
randomness, no network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from pipeline.domain.events.upkeep_events import Rated
from pipeline.domain.research_values import Fact, Hit
from pipeline.text.cleaning import digest_of, normalised, one_line
from pipeline.text.page_excerpts import Place
from pipeline.text.passages import passages, without_open_end
from pipeline.text.questions import ParsedQuestion, parse_question
from pipeline.text.quotes import Span
from pipeline.text.ranking import (
    BEST,
    FLOOR,
    StemmedText,
    TermStatistics,
    best_coverage,
    chosen_passages,
    scores,
    statistics_of,
    without_twins,
)
from pipeline.text.words import word_count

_NARROW, _NARROW_WORDS = 3, 300  # passages of a narrow question, and their words in total
_SHARE = 0.8  # least share of the best score for a second and third passage
_SHORT, _DEFINES = 3, 1.3  # words of a short question; what a passage that opens with them weighs
_BROAD_WORDS = 900  # of a broad question: on 21 of them they hold 48% of what its answer should say, 300 words hold 26%
_ONE_SECTION_WORDS = 400  # of a broad question whose best passages are of one section, which answers it as a rule
_BEST_PLACES = 10  # the best passages: a section with half of them is shown whole
_BEST_OF_PAGES, _PAGE_WEIGHT = 5, 8.0  # the best passages whose pages count for more, and how much more
_KEY = 200  # characters
_RANKED = 150  # passages to choose from


def passage_key(text: str) -> str:
    """Return what tells a passage from the others of its page: how it begins. A hit need hold no more of it."""
    return normalised(text)[:_KEY]


class ReadPage(NamedTuple):
    """A page that quotes are taken from. ``digest`` and ``text`` are those of the stored page.

    ``cosines`` hold how near its passages are to the question by meaning, by their ``passage_key``, as far as a search by meaning
    said so; ``found`` are the places of what was searched for; ``shown`` are the parts of the text that a model was shown.
    """

    url: str
    title: str
    digest: str
    text: str
    cosines: Mapping[str, float] = MappingProxyType({})
    found: tuple[Place, ...] = ()
    shown: tuple[Span, ...] = ()

    def fact(self, quote: str, path: Sequence[str], **more: Any) -> Fact:
        """Return the fact of a quote under the headings ``path``; ``more`` are its other fields."""
        return Fact(
            id=digest_of(f"{normalised(quote)}\n{self.url}".encode())[:12],
            quote=quote,
            url=self.url,
            digest=self.digest,
            heading=one_line(path[-1]) if len(path) > 1 else "",
            path=tuple(map(one_line, path)) or (one_line(self.title),),
            **more,
        )


def with_texts(pages: Iterable[Any], hits: Iterable[Hit], text_of: Callable[[str], str]) -> list[ReadPage]:
    """Return pages (``PageRead``, ``StoredPage``) with the text of their digest, and how near their passages are by ``hits``."""
    near: dict[str, dict[str, float]] = {}
    for hit in hits:
        if hit.cosine is not None:
            of_page, key = near.setdefault(hit.url.partition("#")[0], {}), passage_key(hit.snippet)
            of_page[key] = max(of_page.get(key, -1.0), hit.cosine)
    return [ReadPage(page.url, page.title, page.digest, text_of(page.digest), near.get(page.url, {})) for page in pages]


_UNRATED = Rated()


class Choice(NamedTuple):
    """The chosen passages and ``more`` places, the best first. Those of a whole section are in order.

    If nothing is near enough, no passage is chosen, and ``more`` are the places that come nearest.
    """

    passages: tuple[Fact, ...] = ()
    more: tuple[Fact, ...] = ()


def choose(
    query: ParsedQuestion,
    pages: Sequence[ReadPage],
    known: TermStatistics,
    *,
    more: int = 7,
    judged: bool = False,
    rated: Rated = _UNRATED,
) -> Choice:
    """Choose passages of ``pages`` for a question; ``known`` are the statistics of the index that was searched, if there is one.

    A narrow question gets the best passage, and up to two that are nearly as good, in 300 words. A broad one gets 900 words: the
    section that holds half of the ten best passages, if one does, whole; then passages by what each adds, unless all that is
    nearly as good as the best is of one section: then it gets no others. ``judged``: a model will read them, so it says whether
    anything is near. Of what a person ``rated``, a useful passage comes first, a wrong one is not chosen, its page comes last.
    """
    found = [(page, passage) for page in pages for passage in passages(page.text)]
    texts = [text for page in pages for text in _stemmed_passages(page.text, query.language)]
    if not known.passages:
        known = statistics_of(texts, query.language)
    cosines = [page.cosines.get(passage_key(passage.body)) for page, passage in found]
    words = {term.stem for term in query.terms}
    strength = [  # a passage that begins with all that a short question names: "A torn write is …" for "What is a torn write?"
        _DEFINES * score if len(words) <= _SHORT and words <= set(text.body[: len(words) + 2]) else score
        for score, text in zip(scores(query, texts, known, cosines), texts, strict=True)
    ]

    def once(places: list[int]) -> list[int]:
        headings = ["".join(found[place][1].path[1:][-1:]) for place in places]
        return [places[at] for at in without_twins([texts[place] for place in places], headings)]

    ranking = once(_ranking(strength)[:_RANKED])
    if not ranking:
        return Choice()
    is_near = judged
    if not judged:  # near by meaning where the search knows that, else by the words of a part
        by_meaning = [cosine for cosine in cosines if cosine is not None]
        if by_meaning and known.nearest is not None:
            is_near = max(by_meaning) >= known.nearest
        else:
            of_best = [texts[place] for place in ranking]
            parts = [parse_question(part, query.language) for part in query.parts] or [query]
            is_near = max(best_coverage(part, of_best, known) for part in parts) >= FLOOR

    def fact(place: int) -> Fact:
        page, passage = found[place]
        quote = without_open_end(passage.text) or passage.text
        return page.fact(
            quote,
            passage.path,
            claim=quote,
            anchor=passage.anchor,
            relevance=round(min(1.0, max(0.0, strength[place] / BEST)), 4),
            lead=one_line(passage.lead, 1_000),
            start=passage.start,
            cosine=cosines[place],
        )

    def further(place: int) -> Fact:
        return fact(place).model_copy(update={"claim": ""})

    known_again = {normalised(one.quote) for one in rated.passages}  # a document may have another address since
    rated_urls = rated.useful_urls | rated.wrong_urls
    ids = {
        at: rated.same(fact(at))
        for at, (page, passage) in enumerate(found)
        if page.url in rated_urls or normalised(without_open_end(passage.text) or passage.text) in known_again
    }
    useful = once([place for place, name in ids.items() if name in rated.useful])
    wrong = {place for place, name in ids.items() if name in rated.wrong}
    last = {place for place, (page, _) in enumerate(found) if page.url in rated.wrong_urls - rated.useful_urls}
    ranking.sort(key=last.__contains__)
    ranking = [place for place in dict.fromkeys([*useful, *ranking]) if place not in wrong]
    if not (ranking and is_near):
        return Choice((), tuple(map(further, ranking[:more])))
    lengths = [word_count(passage.body) for _, passage in found]
    sections = [(page.url, passage.path) for page, passage in found]
    near = [place for place in ranking if strength[place] >= _SHARE * strength[ranking[0]]]
    if not query.is_broad:
        chosen = _within(near[:_NARROW], lengths, _NARROW_WORDS)
    else:
        best = [sections[place] for place in ranking[:_BEST_PLACES]]
        section, count = Counter(best).most_common(1)[0]
        # The steps of a procedure do not share words, so a section with half of the best passages is shown whole.
        wanted = [place for place, one in enumerate(sections) if one == section] if 2 * count >= len(best) else []
        room = _BROAD_WORDS
        if query.parts or len({sections[place] for place in near}) > 1:  # several sections compete
            wanted += _spread(query, texts, lengths, known, cosines, ranking, [page.url for page, _ in found])
        elif not wanted:
            wanted, room = [*near, *(place for place in ranking if sections[place] == sections[near[0]])], _ONE_SECTION_WORDS
        wanted = [place for place in dict.fromkeys([*useful, *wanted]) if place not in wrong]
        chosen = _within(sorted(wanted, key=last.__contains__), lengths, room)
    others = [place for place in ranking if place not in chosen][:more]
    return Choice(tuple(map(fact, chosen)), tuple(map(further, others)))


def _ranking(strength: Sequence[float]) -> list[int]:
    places = (place for place, score in enumerate(strength) if score > 0)
    return sorted(places, key=lambda place: (-round(strength[place], 9), place))


def _spread(
    query: ParsedQuestion,
    texts: Sequence[StemmedText],
    lengths: Sequence[int],
    known: TermStatistics,
    cosines: Sequence[float | None],
    ranking: Sequence[int],
    urls: Sequence[str],
) -> list[int]:
    """Return the best passage, then those that add most; each part of the question has its best one.

    Few pages answer a broad question as a rule, so a passage weighs more the more of the best ones its page (``urls``) holds.
    """
    kept = set(ranking)
    strength = scores(query, texts, known, cosines)
    rankings = [[place for place in _ranking(strength) if place in kept]]
    for part in query.parts:
        by_part = _ranking(scores(parse_question(part, query.language), texts, known))
        rankings.append([place for place in by_part if place in kept])
    shares = Counter(urls[place] for place in rankings[0][:_BEST_OF_PAGES])
    most = max(shares.values(), default=1)
    worth = [score * (1 + _PAGE_WEIGHT * shares[url] / most) for score, url in zip(strength, urls, strict=True)]
    order = chosen_passages(rankings, worth, texts, lengths, known, _BROAD_WORDS)
    return list(dict.fromkeys([*ranking[:1], *order]))


def _within(places: Sequence[int], lengths: Sequence[int], words: int) -> list[int]:
    """Return the first place, and those after it that fit into ``words`` words in total."""
    taken: list[int] = []
    for place in places:
        if not taken or lengths[place] <= words:
            taken.append(place)
            words -= lengths[place]
    return taken


@lru_cache(maxsize=48)
def _stemmed_passages(text: str, language: str) -> tuple[StemmedText, ...]:
    """Return a page's passages prepared for ranking; cached, as several sessions of a night read the same page."""
    return tuple(StemmedText.of(one.body, one.headings, language) for one in passages(text))
