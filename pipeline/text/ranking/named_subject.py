"""The named subject of a question: do the passages make statements about it, or do they mention it only in passing?

A document that lists a name among others ("ext4, xfs, btrfs and many more") says nothing about it. A name is *treated* if a title
or heading has it, if a paragraph opens with it as its subject, or if several sentences state something about it; a list of names,
brackets and code count nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.text.page_format import blocks
from pipeline.text.ranking.query_terms import ParsedQuestion, Term, parse_question
from pipeline.text.ranking.scoring import StemmedText, Weights, coverage, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import forms, stems
from pipeline.text.word_frequency import frequency, is_word
from pipeline.text.word_lists import LIGHT_WORDS

ENOUGH = 2.0  # statements that make a name treated
_NAME_SPECIFICITY = 0.9
_ORDINARY = 2.6  # Zipf value; "clog" has 3.0, "duplicity" 2.5, "kerberos" 2.1
USUAL_SHARE = 0.05  # a word in more of the index's passages is what all documents are about
_SUBJECT, _OBJECT, _ROW, _LISTED = 1.0, 0.5, 0.25, 0.0  # what a sentence counts by the place of the name in it
_HEADING = 2.0
_BEFORE_SUBJECT = 4  # words before a name that is its sentence's subject
_TOPIC = 3  # sentences of a paragraph that is about the subject of its first one
_LABEL_WORDS = 6
_COVERED = 0.75  # a statement with more of the question's words answers it alone; of a broad one only if the name is its subject
_JOINING = frozenset(("and", "or", "like", "as", "e.g.", "including", "and/or", "with"))
_LEAST_REST = 0.3  # least share of a question's other words, by weight and rarity, that some passage on its names holds
_TOKEN = re.compile(r"\S+")
_LABEL = re.compile(r"([^:|]{1,80})(?::\s|\s\|\s)")


def passing_names(query: ParsedQuestion, passages: Sequence[StemmedText], known: TermStatistics) -> tuple[str, ...]:
    """Return the names of the question, as written, that ``passages`` mention, but only in passing."""
    parts = [term_weights(parse_question(clause, query.language), known) for clause in query.clauses]
    return tuple(term.word for term in names_of(query, known) if _is_passing(term, query, passages, parts))


def names_alone(query: ParsedQuestion, passages: Sequence[StemmedText], known: TermStatistics) -> tuple[str, ...]:
    """Return the names of a broad question of one part if the passages that mention them hold little of its other words."""
    names = names_of(query, known)
    rest = tuple(one for one in term_weights(query, known) if one[0] not in names and one[0].word.lower() not in LIGHT_WORDS)
    on_names = holding(query, passages, known)
    if not query.broad or len(query.clauses) > 1 or not rest or not on_names:
        return ()
    covered = max(coverage(rest, {*passage.body, *passage.heads}) for passage in on_names)
    return tuple(term.word for term in names) if covered < _LEAST_REST else ()


def holding(query: ParsedQuestion, passages: Sequence[StemmedText], known: TermStatistics) -> list[StemmedText]:
    """Return the passages that mention any of the question's names, in their texts or headings; none if it has no name."""
    names = names_of(query, known)
    return [passage for passage in passages if any(term.is_in({*passage.body, *passage.heads}) for term in names)]


def names_of(query: ParsedQuestion, known: TermStatistics) -> tuple[Term, ...]:
    """Return the question's proper names that not all documents are about; without any, its rarest word that is no usual one."""
    special = [term for term in query.terms if _may_be_name(term, known)]
    first = next(iter(_TOKEN.findall(query.text)), "")
    proper = [
        term for term in special if term.word[1:] != term.word[1:].lower() or (term.word[:1].isupper() and term.word != first)
    ]
    unusual = [term for term in special if not term.parts and not _is_usual(term, query.language)]
    return tuple(proper) or tuple(sorted(unusual, key=lambda term: known.counts.get(term.stem, 0))[:1])


def _is_usual(term: Term, language: str) -> bool:
    """Return whether a word that is written small is an ordinary one, as "clog" is, and no program or format."""
    word = term.word.lower()
    return is_word(word, language) or is_word(term.stem, language) or frequency(word, language) >= _ORDINARY


def _may_be_name(term: Term, known: TermStatistics) -> bool:
    in_capitals = len(term.word) > 2 and term.word.isalpha() and term.word.isupper()
    is_special = (term.specificity >= _NAME_SPECIFICITY or in_capitals) and any(map(str.isalpha, term.word))
    return is_special and known.counts.get(term.stem, 0) <= USUAL_SHARE * (known.passages or 1)


def _is_passing(term: Term, query: ParsedQuestion, passages: Sequence[StemmedText], parts: Sequence[Weights]) -> bool:
    """Return whether the passages mention a name and none of the signs is there that one is about it."""
    holding = [passage for passage in passages if term.is_in({*passage.body, *passage.heads})]
    if not holding or any(term.is_in(set(passage.heads)) for passage in holding) or _is_said_otherwise(term, query, holding):
        return False
    heads = frozenset[str]().union(*(passage.heads for passage in holding))
    total = 0.0
    for sentence, value in dict.fromkeys(pair for passage in holding for pair in _statements(term, passage.text, query.language)):
        total += value
        if total >= ENOUGH:
            return False
        alone = value == _SUBJECT if query.broad else value != _LISTED
        held = heads.union(stems(sentence, query.language))
        if alone and max(coverage(weights, held) for weights in parts) >= _COVERED:
            return False
    return True


def _is_said_otherwise(term: Term, query: ParsedQuestion, holding: Sequence[StemmedText]) -> bool:
    """Return whether the passages have a word's parts or another German form of it, and nowhere itself: "begradigt"."""
    varies = bool(term.parts) or query.language == "german"
    return varies and not any(_is_named(term, passage.text) for passage in holding)


def _statements(term: Term, text: str, language: str) -> Iterator[tuple[str, float]]:
    """Yield the sentences, items and rows of a passage that hold the name, each with what it counts."""
    for block in blocks(text):
        if block.kind == "code":
            continue
        label = _LABEL.match(block.text) if block.kind in ("item", "row") else None
        if label and len(label[1].split()) <= _LABEL_WORDS and term.is_in(set(stems(label[1], language))):
            yield block.text, _SUBJECT if block.kind == "item" else _OBJECT
            continue
        sentences = [block.text] if block.kind == "row" else split_sentences(block.text)
        for place, sentence in enumerate(sentences):
            if _is_named(term, sentence) and term.is_in(set(stems(sentence, language))):
                value = _ROW if block.kind == "row" else _value(term, sentence, language)
                yield sentence, ENOUGH if value == _SUBJECT and place == 0 and len(sentences) >= _TOPIC else value


def _is_named(term: Term, sentence: str) -> bool:
    """Return whether a sentence has the name itself, and not only a word with the same stem ("duplicity", "duplicated")."""
    return term.word.lower().rstrip("s") in sentence.lower()


def _value(term: Term, sentence: str, language: str) -> float:
    """Return what the best place of the name in a sentence counts."""
    tokens = _TOKEN.findall(sentence)
    places = [place for place, token in enumerate(tokens) if any(term.is_in(set(forms(word, language))) for word in _bare(token))]
    return max((_value_at(place, tokens) for place in places), default=_OBJECT)


def _bare(token: str) -> list[str]:
    return [part for part in re.split(r"[(),;:/\"“”]", token) if part] or [token]


def _value_at(place: int, tokens: Sequence[str]) -> float:
    before, token = tokens[:place], tokens[place]
    behind = tokens[place + 1] if place + 1 < len(tokens) else ""
    in_brackets = sum(word.count("(") - word.count(")") for word in before) > 0 or token.startswith("(")
    joined_before = bool(before) and (before[-1].endswith((",", ":")) or before[-1].lower().strip("(,") in _JOINING)
    joined_behind = token.endswith((",", ")", ".", ";")) or behind.lower() in _JOINING
    if in_brackets or (joined_before and joined_behind):
        return _LISTED
    return _SUBJECT if place <= _BEFORE_SUBJECT else _OBJECT
