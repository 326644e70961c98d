"""Answers to the questions of a talk: a question is completed by rules, and answered by the best passages, whole if they fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.adapters.reasoners.extractive.question_subject import subject_of
from pipeline.adapters.reasoners.extractive.talking.answer_parts import best_part, sentence_coverage
from pipeline.domain.reasoner_questions.talk_questions import StandAlone, StandAloneQuestion, TalkQuestion, TalkReply
from pipeline.domain.values import Fact, Sentence
from pipeline.text.normalise import normalised
from pipeline.text.ranking.passages import text_key
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import StemmedText, coverage, scores, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import stems
from pipeline.text.word_lists import LIGHT_WORDS

_OWN_SUBJECT = 0.6  # a question with a word at least this specific names its own subject
_NAMED_BEFORE = 0.5  # and of a pronoun before which the question has one that specific
_LEAST_COVERED = 0.6  # least share of the best one's coverage for a further passage
_LEAST_SHARE = 0.5  # least share of the best score for a further passage
_MOST_WORDS_OF_ELLIPSIS = 6
_SENTENCE = 0.8  # weight of the coverage of a passage's best sentence, beside its score
_ASKED = 0.6  # weight of the coverage of its heading, if that is a question: a list of questions and answers
_LONGEST_PART = 90  # words of one passage
_SHORTEST_PART = 15
_NEARLY = 0.9  # least share of the best score for a passage that comes before what goes on with the best one
_FAR = 40  # characters between two passages of which one goes on with the other, a scrap
_OF_NAMES = 0.6  # a title, a call's form or a list of contents has the words of a question and says nothing
_NAMES_ONLY = re.compile(r"name|synopsis|usage|(?:table of )?contents|index|inhalt(?:sverzeichnis)?|übersicht", re.IGNORECASE)
_OPENING_QUESTION = re.compile(r"(?:- )?(?:\d[\d.]*\s+)?[^.?!\n]{8,200}\?(?=\s)")
# A pronoun that needs a subject: not in "is it possible to", "how long does it take to".
_PRONOUN = re.compile(
    r"\b(?:(?:it|they|them|this|that|these|those)(?=\s+(?!is possible|takes?\b)|\W*\Z)|its|their)\b", re.IGNORECASE
)
_DETERMINER = re.compile(r"\b(?:this|that|these|those)\s+(?=\w)", re.IGNORECASE)
_IMPERSONAL = re.compile(
    r"\b(?:is|was|would|does|did) it (?:possible|necessary|worth|better|best|true|take|matter|make sense|advisable)\b",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(r"\A(?:and|or|but|so|what about|how about|what if|and what about)\b[\s,]*", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;:]|\b(?:and|but|if|when|because|that|which|who|while)\b", re.IGNORECASE)
# What is no part of a subject: a condition behind it, "side by side", and the participle of "how is it pronounced?".
_CONDITION = re.compile(r"\s(?:unless|if|when|while|because|although|before|after|until|once)\s", re.IGNORECASE)
_TWICE = re.compile(r"\b(\w+) (?:by|to|after|for) \1\b", re.IGNORECASE)
_PASSIVE = re.compile(r"(?<=\w) \w+ed(?=\W*\Z)")
_WORD = re.compile(r"\bthe (?:word|term|name) (?=[A-Z\"'“])")
_OWNING = frozenset({"its", "their"})


def stand_alone(question: StandAloneQuestion) -> StandAlone:
    """Return the question with the subject of the one before it, if it names none of its own."""
    text = " ".join(question.query.split())
    last = question.history[-1].question if question.history else ""
    before = last or question.subject
    subject = _subject(before)
    if not subject:
        return StandAlone(question=text)
    if last and (found := _ELLIPSIS.match(text)) and len(text.split()) <= _MOST_WORDS_OF_ELLIPSIS:
        return StandAlone(question=f"{last.rstrip('?! .')}: {text[found.end() :]}")
    if pronoun := _open_pronoun(text):
        name = f"{subject}'s" if pronoun[0].lower() in _OWNING else subject
        return StandAlone(question=f"{text[: pronoun.start()]}{name}{text[pronoun.end() :]}")
    if not last or _names_subject(text):  # what a session is about goes without saying in its own pages
        return StandAlone(question=text)
    return StandAlone(question=f"{text.rstrip('?! .')} ({subject})?")


def _subject(before: str) -> str:
    """Return the best words of a question's first clause, without "and": they must not make a question of two parts."""
    asked = _CONDITION.split(before.strip(), maxsplit=1)[0]
    for pattern in (_TWICE, _PASSIVE, _WORD):
        asked = pattern.sub("", asked)
    asked = asked if _names_subject(asked, _NAMED_BEFORE) else before
    return subject_of(parse_question(asked), [asked]).replace(" and ", " ") if asked.strip() else ""


def _open_pronoun(text: str) -> re.Match[str] | None:
    """Return the first pronoun whose subject the question itself does not name.

    A pronoun does not refer to a name in its own clause, unless it is a possessive.
    """
    if _IMPERSONAL.search(text):
        return None
    for found in _PRONOUN.finditer(text):
        before = text[: found.start()]
        explained = (found[0].lower() in _OWNING or _CLAUSE_END.search(before, 1)) and _names_subject(before, _NAMED_BEFORE)
        if not explained and not _DETERMINER.match(text, found.start()):
            return found
    return None


def _names_subject(text: str, least: float = _OWN_SUBJECT) -> bool:
    heavy = (term.specificity for term in parse_question(text).terms if term.word.lower() not in LIGHT_WORDS)
    return max(heavy, default=0.0) >= least


def answer(question: TalkQuestion) -> TalkReply:
    """Return the best passages of the facts, at most ``words`` words of them."""
    query = parse_question(question.query, question.statistics.language)
    ranked = _ranked(question.facts, query, question.statistics)
    return TalkReply(sentences=tuple(_within(_continued(ranked, question.facts), question.words, query, question.statistics)))


def _ranked(facts: Sequence[Fact], query: ParsedQuestion, known: TermStatistics) -> list[tuple[float, Fact]]:
    """Return the facts that are nearly as good as the best one and cover nearly as much, best first, each text once.

    Each has its strength as a share of the best one's.
    """
    texts = [_stemmed(fact, query.language) for fact in facts]
    strength, weights = scores(query, texts, known), term_weights(query, known)
    covered = [coverage(weights, {*text.body, *text.heads}) for text in texts]
    for place, text in enumerate(texts):
        strength[place] += _SENTENCE * sentence_coverage(facts[place].quote, frozenset(text.heads), query, weights)
        if asked := _asked_above(facts[place]):
            strength[place] += _ASKED * coverage(weights, frozenset(stems(asked, query.language)))
        if _NAMES_ONLY.fullmatch(facts[place].heading):
            strength[place] *= _OF_NAMES
    order = sorted(range(len(facts)), key=lambda place: (-round(strength[place], 9), place))
    best: dict[str, tuple[float, Fact]] = {}
    for place in order:
        share = strength[place] / strength[order[0]] if strength[order[0]] else 1.0
        if covered[place] >= _LEAST_COVERED * covered[order[0]] and share >= _LEAST_SHARE:
            best.setdefault(text_key(facts[place].quote, facts[place].heading), (share, facts[place]))
    return list(best.values())


def _asked_above(fact: Fact) -> str:
    """Return the question of a list of questions and answers that a passage answers: its heading or its first sentence; or ""."""
    if fact.heading.endswith("?"):
        return fact.heading
    opening = _OPENING_QUESTION.match(fact.quote)
    return opening[0] if opening else ""


def _continued(ranked: Sequence[tuple[float, Fact]], facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts in the order in which they answer: the best, those nearly as good, what goes on with the best, the rest.

    A section often says what it is about in one passage and gives the answer in the next one, in other words than the question's.
    """
    if not ranked or is_list(ranked[0][1].quote):
        return [fact for _, fact in ranked]
    best = ranked[0][1]
    after = [fact for fact in facts if _goes_on(best, fact)][:1]
    taken = {fact.id for fact in (best, *after)}
    near = [fact for share, fact in ranked if share >= _NEARLY and fact.id not in taken]
    rest = [fact for share, fact in ranked if share < _NEARLY and fact.id not in taken]
    return [best, *near, *after, *rest]


def _goes_on(first: Fact, second: Fact) -> bool:
    """Return whether the second passage directly follows the first in its section."""
    between = second.start - first.start - len(normalised(first.quote))
    return second.url == first.url and second.path == first.path and first.start >= 0 and 0 <= between <= _FAR


def _stemmed(fact: Fact, language: str) -> StemmedText:
    return StemmedText.of(f"{fact.lead}\n{fact.quote}", " / ".join(fact.path), language, opens=fact.opens, page=fact.url)


def _within(facts: Sequence[Fact], words: int, query: ParsedQuestion, known: TermStatistics) -> Iterator[Sentence]:
    """Yield the best parts of the passages, as many as have at most ``words`` words with their headings."""
    for fact in facts:
        room = words - len(fact.heading.split()) - len(fact.lead.split())
        room = room if is_list(fact.quote) else min(room, _LONGEST_PART)  # a list is cut only if it does not fit at all
        fits = room >= min(_SHORTEST_PART, len(fact.quote.split()))
        text = best_part(fact.quote, room, query, known, " / ".join((*fact.path, fact.lead))) if fits else ""
        if text:
            yield Sentence(text=text, facts=(fact.id,))
            words -= len(text.split()) + len(fact.heading.split()) + len(fact.lead.split())


def is_list(quote: str) -> bool:
    """Return whether most of a passage's lines are list items or table rows: any of them may be the answer."""
    lines = [line for line in quote.split("\n") if line.strip()]
    return len(lines) > 1 and 2 * sum(line.startswith(("- ", "| ")) for line in lines) > len(lines)
