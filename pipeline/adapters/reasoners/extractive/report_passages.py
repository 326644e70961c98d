"""Choice and order of the passages in a report's summary and body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pipeline.domain.values import Fact
from pipeline.text.normalise import normalised
from pipeline.text.page_format import blocks
from pipeline.text.ranking.answers.answer_run import SourcePassage, best_worth
from pipeline.text.ranking.answers.question_parts import question_parts
from pipeline.text.ranking.comparisons import is_comparison
from pipeline.text.ranking.greedy_coverage import chosen_passages
from pipeline.text.ranking.named_subject import holding, passing_names
from pipeline.text.ranking.passages import text_key, without_open_end
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import StemmedText, coverage, scores, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.sentences import points_back, split_sentences

NUMBERS = frozenset({"duration", "count", "default", "date", "version"})
_NUMBER_WORDS = 400  # most words of a report whose answer is a number, if a passage covers the question
_COVERED = 0.6  # least coverage of such a passage
_FIRST_BY_RANK = 5  # best passages that precede their neighbours
_NARROW_WORDS = 850  # most words of a narrow report's body: on 63 questions, no answer was further down
_LEAST_SENTENCE = 8  # words of a sentence that must not stand twice in a report
_PASSING_WORDS = 150  # most words of the body where the sources mention the subject only in passing
_LEAST_SHARE = 0.7  # least share of the best score for a passage of a narrow report
_NEIGHBOURED = 2  # best passages whose neighbours are added
_EACH_SIDE = 2  # neighbours on each side
_ALWAYS_KEPT = 3  # best passages that are kept even if they refer to a missing sentence
_READ_BY_ANSWER = 30  # best passages of which the sentences are judged as answers
_ANSWER = 0.7  # weight of a passage's best run of sentences beside its score
_LONGEST_RUN = 320  # characters of such a run
_SUMMARY_CANDIDATES = 8  # best passages that the summary may contain
_MOSTLY = 0.6  # share of a passage that is code
# What a person asks who wants to type or to copy something.
_ASKS_FOR_CODE = re.compile(
    r"\b(?:how (?:do|can|could|should|would|to)|commands?|options?|flags?|syntax|examples?|configur\w+|code|functions?|calls?)\b",
    re.IGNORECASE,
)
_GAP = 160  # most characters, such as a heading, between a passage and the next one


@dataclass(frozen=True, slots=True)
class ChosenPassages:
    """The facts of the summary and of the body, best first.

    For a question of several clauses, ``part`` maps each fact of the body to the index of the clause that it answers best.
    """

    summary: tuple[Fact, ...]
    body: tuple[Fact, ...]
    part: dict[str, int]


def choose_passages(text: str, facts: Sequence[Fact], known: TermStatistics, summary_words: int, words: int) -> ChosenPassages:
    """Return the passages for the question ``text``: up to ``summary_words`` words of summary and ``words`` words of body."""
    query = parse_question(text, known.language)
    own, is_passing = _on_named_subject(query, _without_duplicates(facts), known)
    words = min(words, _PASSING_WORDS if is_passing else words if query.broad else _NARROW_WORDS)
    texts = [stemmed_fact(fact, query.language) for fact in own]
    strength = scores(query, texts, known)
    ranking = _ranking(strength)
    compares = is_comparison(query.text, query.clauses)
    parts = _scores_by_part(query, texts, known)
    if compares:
        order, words = _alternating(query, parts, texts), min(words, _NARROW_WORDS)
    elif query.broad:
        order = chosen_passages([ranking, *(_ranking(part) for part in parts)], strength, texts, known, words + summary_words)
    else:
        order = _narrow_order(own, ranking, strength)
        words = min(words, _NUMBER_WORDS) if _is_short_answer(query, known, ranking, texts) else words
    repeated = _repeating(ranking, own)
    order = [place for place in _with_antecedents(order, ranking, own) if place not in repeated]
    asked = question_parts(query)
    opening = _by_answer(query, own, strength, known)
    heads = [_by_answer(part, own, scores(part, texts, known), known) for part in asked] if len(asked) > 1 else []
    best = order if compares else [place for place in _summary_order(opening, heads) if place not in repeated]
    summary = _within_words(_prose_first(best, own, query.text), texts, summary_words)
    body = _within_words([place for place in order if place not in summary], texts, words)
    if not body:  # everything fits into the summary, but a report has a section
        further = [place for place in ranking if place not in summary and place not in repeated][:1]
        summary, body = (summary[:-1], summary[-1:]) if len(summary) > 1 and not parts else (summary, further or order[:1])
    part = {own[place].id: max(range(len(parts)), key=lambda number: parts[number][place]) for place in body} if parts else {}
    return ChosenPassages(tuple(own[place] for place in summary), tuple(own[place] for place in body), part)


def _on_named_subject(query: ParsedQuestion, facts: list[Fact], known: TermStatistics) -> tuple[list[Fact], bool]:
    """Return the facts on the question's named subject, and whether they mention it only in passing.

    A narrow question may be answered by a passage that does not name it again, and one of several parts has several subjects.
    """
    if not known.passages:
        return facts, False
    texts = [stemmed_fact(fact, query.language) for fact in facts]
    is_passing = bool(passing_names(query, texts, known))
    if not is_passing and (not query.broad or len(query.clauses) > 1):
        return facts, False
    on_names = holding(query, texts, known)
    kept = [fact for fact, text in zip(facts, texts, strict=True) if text in on_names]
    return (kept, is_passing) if kept else (facts, False)


def stemmed_fact(fact: Fact, language: str) -> StemmedText:
    """Return a fact prepared for ranking."""
    headings = " / ".join(fact.path or ((fact.heading,) if fact.heading else ()))
    return StemmedText.of(
        f"{fact.lead}\n{fact.quote}" if fact.lead else fact.quote, headings, language, opens=fact.opens, page=fact.url
    )


def _without_duplicates(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts without repeated texts, as several documents often contain the same, and without mere introductions."""
    found: dict[str, Fact] = {}
    whole = [fact for fact in facts if without_open_end(fact.quote)] or facts
    for fact in sorted(whole, key=lambda fact: (fact.url, fact.id)):
        found.setdefault(text_key(fact.quote, fact.heading), fact)
    return list(found.values())


def _ranking(strength: Sequence[float]) -> list[int]:
    return sorted(
        (place for place in range(len(strength)) if strength[place] > 0), key=lambda place: (-round(strength[place], 9), place)
    )


def _scores_by_part(query: ParsedQuestion, texts: Sequence[StemmedText], known: TermStatistics) -> list[list[float]]:
    if len(query.clauses) < 2:
        return []
    return [scores(parse_question(clause, query.language), texts, known) for clause in query.clauses]


def _narrow_order(facts: Sequence[Fact], ranking: Sequence[int], strength: Sequence[float]) -> list[int]:
    """Return the best passages, the neighbours of the first ones in the page, then the other good ones by rank."""
    worth = [place for place in ranking if strength[place] >= _LEAST_SHARE * strength[ranking[0]]]
    around = [other for place in ranking[:_NEIGHBOURED] for other in _neighbours(place, facts)]
    return list(dict.fromkeys([*worth[:_FIRST_BY_RANK], *around, *worth]))


def _alternating(query: ParsedQuestion, parts: Sequence[Sequence[float]], texts: Sequence[StemmedText]) -> list[int]:
    """Return the best passages of each side of a comparison in turn; one on a side names it."""
    found: list[list[int]] = []
    for clause, strength in zip(query.clauses, parts, strict=True):
        side = parse_question(clause.rpartition(": ")[2], query.language).terms
        named = [any(term.is_in({*text.body, *text.heads}) for term in side) for text in texts]
        ranking = [place for place in _ranking(strength) if named[place]]
        found.append([place for place in ranking if strength[place] >= _LEAST_SHARE * strength[ranking[0]]])
    return list(dict.fromkeys(place for turn in zip_longest(*found) for place in turn if place is not None))


def _is_short_answer(query: ParsedQuestion, known: TermStatistics, ranking: Sequence[int], texts: Sequence[StemmedText]) -> bool:
    """Return whether the question asks for a number and one of the best passages contains most of its words."""
    best = (frozenset((*texts[place].body, *texts[place].heads)) for place in ranking[:_ALWAYS_KEPT])
    weights = term_weights(query, known)
    covered = max((coverage(weights, stems) for stems in best), default=0.0)
    return bool(NUMBERS.intersection(query.kinds)) and covered >= _COVERED


def _neighbours(place: int, facts: Sequence[Fact]) -> list[int]:
    """Return the passages directly after and before one in its page, two on each side at most."""
    behind = _adjacent(place, facts, _follows)
    before = _adjacent(place, facts, lambda other, fact: _follows(fact, other))
    return [other for pair in zip_longest(behind, before) for other in pair if other is not None]


def _adjacent(place: int, facts: Sequence[Fact], beside: Callable[[Fact, Fact], bool]) -> list[int]:
    found: list[int] = []
    while len(found) < _EACH_SIDE:
        last = facts[found[-1] if found else place]
        following = [other for other in range(len(facts)) if other != place and other not in found and beside(facts[other], last)]
        if not following:
            break
        found.append(following[0])
    return found


def _summary_order(ranking: Sequence[int], parts: Sequence[Sequence[int]]) -> list[int]:
    """Return the passages for the summary: the best of each part first, then by rank."""
    heads = (place for part in parts for place in part[:1])
    return list(dict.fromkeys([*heads, *ranking[:_SUMMARY_CANDIDATES]]))


def _by_answer(query: ParsedQuestion, facts: Sequence[Fact], strength: Sequence[float], known: TermStatistics) -> list[int]:
    """Return the best passages in the order of their scores and of what their best sentences are worth as an answer."""
    top = _ranking(strength)[:_READ_BY_ANSWER]
    worth = {
        place: strength[place] + _ANSWER * best_worth(source_passage(facts[place]), query, known, _LONGEST_RUN) for place in top
    }
    return sorted(top, key=lambda place: (-round(worth[place], 9), place))


def source_passage(fact: Fact) -> SourcePassage:
    """Return a fact's quote with what is above it."""
    return SourcePassage(fact.quote, " / ".join(fact.path or (fact.heading,)), fact.opens, fact.lead)


def _prose_first(places: Sequence[int], facts: Sequence[Fact], question: str) -> list[int]:
    """Return the places with those behind that are mostly code or a program's output, unless the question may be after that."""
    if _ASKS_FOR_CODE.search(question):
        return list(places)
    return sorted(places, key=lambda place: _code_share(facts[place].quote) > _MOSTLY)


def _code_share(quote: str) -> float:
    """Return the share of a quote's characters that are in its blocks of code."""
    code = sum(len(block.text) for block in blocks(quote) if block.kind == "code")
    return code / max(1, len(quote))


def _follows(fact: Fact, before: Fact) -> bool:
    """Return whether a passage directly follows another in its page, with at most a heading between them."""
    gap = fact.start - before.start - len(normalised(before.quote))
    return fact.url == before.url and before.start >= 0 and 0 <= gap <= _GAP


def _with_antecedents(order: Sequence[int], ranking: Sequence[int], facts: Sequence[Fact]) -> list[int]:
    """Return the order with the preceding passage added where one refers to it; if there is none, only the best stay."""
    found: list[int] = []
    for place in order:
        if points_back(facts[place].quote) and not facts[place].opens:
            before = [other for other in range(len(facts)) if _follows(facts[place], facts[other])]
            if not before and place not in ranking[:_ALWAYS_KEPT]:
                continue
            found += [other for other in before[:1] if other not in found]
        found += [place] if place not in found else []
    return found


def _repeating(ranking: Sequence[int], facts: Sequence[Fact]) -> set[int]:
    """Return the passages that have a sentence of a better one, as documents copy from each other."""
    said: set[str] = set()
    found: set[int] = set()
    for place in ranking:
        own = set(_long_sentences(facts[place].quote))
        if said.isdisjoint(own):
            said |= own
        else:
            found.add(place)
    return found


def _long_sentences(quote: str) -> Iterator[str]:
    """Yield letters and digits of each long sentence, block by block: a line above a sentence is not a part of it."""
    for block in blocks(quote):
        for one in split_sentences(block.text):
            if len(one.split()) >= _LEAST_SENTENCE:
                yield text_key(one, "")


def _within_words(order: Sequence[int], texts: Sequence[StemmedText], words: int) -> list[int]:
    """Return the first passage and those after it that fit into ``words`` words in total."""
    taken: list[int] = []
    left = words
    for place in order:
        length = len(texts[place].text.split())
        if not taken or length <= left:
            taken.append(place)
            left -= length
    return taken
