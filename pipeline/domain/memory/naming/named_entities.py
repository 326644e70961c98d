"""Names of what statements are about, found without a model. Pure.

A note about a fragment helps nobody, so the rule is strict. A candidate (``candidates``) counts only if at least two statements
from at least two sources name it in running text, and if something shows that it is a subject: a statement defines it, a
document or a heading is called so, a question asks for it, or sentences begin with it. An everyday word counts only if it is
defined; an acronym only if it is defined, explained or asked for. They are ranked by the number of their statements, by the
number of their sources, and by how near they are to a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pipeline.domain.memory.naming.candidates import Candidate, candidates, grams
from pipeline.domain.memory.naming.definitions import titled
from pipeline.domain.memory.naming.prose import UNSPACED, Sentence, sentences_of, words_of
from pipeline.domain.memory.naming.united_names import united
from pipeline.domain.memory.naming.word_classes import is_acronym, is_code, is_function_word, is_generic, is_ordinary, may_name
from pipeline.domain.memory.values import EntityKind, NamedEntity, Statement
from pipeline.text.normalise import slug
from pipeline.text.word_frequency import is_unusual, specificity

METHOD = "phrases-2"  # methods sort by their age; with a new one, all is named again
LEAST_STATEMENTS, LEAST_PAGES = 2, 2
_OF_ONE_PAGE = 3  # statements of a subject that only one source names, and that has a document or a section of its own
_TERM_OF_ONE_PAGE = 5  # statements of a term that only one source names, and that a question asked for
_HEADED = 3  # statements of a phrase that a question and a heading hold, but no statement defines
_NOUNS = 2  # sentences that use such a phrase as a noun
_ABOUT = 2  # sentences that begin with a name, for it to be a subject without a definition
_SPREAD = 3  # sources of an acronym that a heading holds, or of a piece of code that nothing explains
_MOST, _FEW = 0.2, 100  # a name in more of the statements is what all is about; below so many, any share counts
_ARTICLES = frozenset(
    {"the", "a", "an", "each", "every", "this", "der", "die", "das", "ein", "eine", "le", "la", "les", "el", "un", "une"}
)
_BEFORE_NOUNS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "each",
        "any",
        "this",
        "these",
        "that",
        "in",
        "on",
        "for",
        "with",
        "by",
        "no",
        "every",
        "from",
        "as",
        "into",
        "via",
    ]
)
_COMMANDS = frozenset({"command", "program", "utility", "tool", "daemon"})


@dataclass
class _Held:
    """Where a candidate is named: facts and their pages, those whose sentence begins with it, and whether a question does.

    ``nouns`` counts the sentences that hold it between small words, as only a noun is: "of bad blocks in"; ``home`` those from a
    document or section that is called so.
    """

    facts: dict[str, str] = field(default_factory=dict)
    about: set[str] = field(default_factory=set)
    asked: bool = False
    nouns: int = 0
    home: int = 0


@dataclass(frozen=True, slots=True)
class Ranked:
    """An accepted entity with its rank: the higher the more it is worth a note."""

    entity: NamedEntity
    score: float


def named_entities(statements: Iterable[Statement], questions: Iterable[str] = ()) -> tuple[NamedEntity, ...]:
    """Return what the statements are about, the most worth a note first; ``questions`` are those that were researched."""
    known, asked = tuple(statements), tuple(questions)
    sentences = sentences_of(known)
    found = candidates(sentences, known, asked)
    held = _held(found, sentences, asked)
    most = max(_FEW * _MOST, _MOST * len(known))
    ranked = [
        Ranked(_entity(one, held[key]), _score(one, held[key]))
        for key, one in sorted(found.items())
        if _is_accepted(one, held[key], most)
    ]
    ordered = sorted(ranked, key=lambda one: (-one.score, one.entity.id))
    return united(one.entity for one in ordered)


def _held(found: Mapping[str, Candidate], sentences: Iterable[Sentence], questions: Iterable[str]) -> dict[str, _Held]:
    held = {key: _Held() for key in found}
    unspaced = [key for key in found if key[0] == "~"]
    for one in sentences:
        for key, start in _keys_in(one, unspaced).items():
            if key in found and _is_meant(found[key], key, one):
                held[key].facts[one.fact] = one.statement.url
                held[key].nouns += _is_noun(key, found[key].kind, start, one)
                held[key].home += _is_home(key, one)
                if _is_about(key, start, one):
                    held[key].about.add(one.fact)
    for text in questions:
        for key in {*grams(words_of(text), ""), *(key for key in unspaced if key[1:] in text)}:
            if key in held:
                held[key].asked = True
    return held


def _keys_in(one: Sentence, unspaced: Iterable[str]) -> dict[str, int]:
    """Return the keys that a sentence holds, each with the place of its first word."""
    if one.language == UNSPACED:
        return {key: one.text.find(key[1:]) for key in unspaced if key[1:] in one.text}
    return grams(one.words, one.language)


def _is_meant(candidate: Candidate, key: str, one: Sentence) -> bool:
    """Return whether a word that is also an everyday one is meant as a name here: `mount(8)`, "mount attaches …"."""
    name = key[1:]
    if candidate.kind != "code" or key[0] != "=" or not name.isalpha():
        return True
    if is_unusual(name) or ("titled" in candidate.marks and specificity(name, "english") >= 1):
        return True
    if one.text.startswith(f"{name} ") or f"{name}(" in one.text or f"`{name}" in one.text:
        return True
    return any(word == name and after in _COMMANDS for word, after in zip(one.words, one.words[1:], strict=False))


def _is_about(key: str, start: int, one: Sentence) -> bool:
    if start == 0 or (start == 1 and one.words[0].lower() in _ARTICLES):
        return True
    return key == f"={titled(one.statement.title)}"


def _is_home(key: str, one: Sentence) -> bool:
    return any(key in grams(words_of(text), one.language) for text in (one.statement.title, one.statement.heading))


def _is_noun(key: str, kind: EntityKind, start: int, one: Sentence) -> bool:
    """Return whether a sentence uses a phrase as a noun. A name needs nothing before it, and no small word after it at an end."""
    if one.language == UNSPACED:
        return True
    end = start + len(key.split(" "))
    before = one.words[start - 1].lower() if start else ""
    closed = end >= len(one.words) or is_function_word(one.words[end], one.language)
    if kind == "name":
        return closed or re.search(rf"{re.escape(one.words[end - 1])}[”\"’)]*[,.;:)]", one.text) is not None
    return closed and before in _BEFORE_NOUNS


def _is_accepted(one: Candidate, held: _Held, most: float) -> bool:
    marks = one.marks | ({"asked"} if held.asked else set())
    pages = len(set(held.facts.values()))
    if len(held.facts) < LEAST_STATEMENTS or (pages < LEAST_PAGES and not _is_own_subject(one, held, marks)):
        return False
    return (one.kind != "term" or len(held.facts) <= most) and _is_subject(one, held, marks, pages)


def _is_own_subject(one: Candidate, held: _Held, marks: set[str]) -> bool:
    """Return whether a name that only one source holds has a document or a section of its own, or is asked for by itself."""
    called = bool(marks & {"titled", "headed"})
    if one.kind == "term":
        return held.asked and len(held.facts) >= _TERM_OF_ONE_PAGE and (called or _is_rare(one.name))
    return called and len(held.facts) >= _OF_ONE_PAGE and (held.asked or len(held.about) >= _ABOUT)


def _is_rare(name: str) -> bool:
    return " " not in name and is_unusual(name.lower())


def _is_subject(one: Candidate, held: _Held, marks: set[str], pages: int) -> bool:
    name = one.name
    words = name.split()
    if len(words) == 1 and not may_name(name):
        return False
    if one.kind == "term":
        return _is_term(name, held, marks)
    explained = bool(marks & {"defined", "titled", "documented", "expanded"}) or ("chapter" in marks and not is_ordinary(name))
    if len(words) == 1 and is_acronym(name):
        return explained or (held.asked and not is_ordinary(name)) or ("headed" in marks and pages >= _SPREAD)
    if one.kind == "code":
        begun = len(held.about) >= _ABOUT and not is_ordinary(name)
        return explained or held.asked or begun or (pages >= _SPREAD and is_code(name))
    if " " in name:
        return _is_full_name(name, held) and (explained or held.asked or len(held.about) >= _ABOUT)
    if is_ordinary(name):
        return bool(marks & {"defined", "titled"}) and held.asked
    return explained or held.asked or len(held.about) >= _ABOUT or _is_branded(name)


def _is_full_name(name: str, held: _Held) -> bool:
    """Return whether no noun follows the name in most sentences ("Postfix SMTP server"), and it is no heading in capitals."""
    return 2 * held.nouns >= len(held.facts) and not (name.isupper() and all(map(is_ordinary, name.split())))


def _is_branded(name: str) -> bool:
    """Return whether a name has capitals inside, as products have: SQLite, JavaScript."""
    return name.isalpha() and any(map(str.isupper, name[1:])) and not name.isupper()


def _is_term(name: str, held: _Held, marks: set[str]) -> bool:
    """A term is defined, and sentences begin with it or a question holds it; an everyday word must be asked for."""
    if is_generic(name) or not (marks & {"defined", "expanded", "titled", "headed"} or _is_rare(name)):
        return False
    ordinary = all(is_ordinary(word) for word in name.split())
    if ordinary and " " not in name:
        return ("certain" in marks and name[0].isupper()) or ({"defined", "titled"} <= marks and 2 * held.home >= len(held.facts))
    if held.asked:
        return bool(marks & {"defined", "expanded"}) or (held.nouns >= _NOUNS and len(held.facts) >= _HEADED)
    enough = not ordinary or len(held.facts) >= _HEADED
    return "defined" in marks and enough and (bool(held.about) or len(set(held.facts.values())) >= _SPREAD)


def _score(one: Candidate, held: _Held) -> float:
    near = 2.0 if held.asked else 1.5 if "titled" in one.marks else 1.0
    known = 1.5 if one.marks & {"defined", "titled"} else 1.0
    return (len(held.facts) + len(held.about)) * len(set(held.facts.values())) * near * known


def _entity(one: Candidate, held: _Held) -> NamedEntity:
    name = one.name
    spellings = sorted(one.spellings, key=lambda text: (-one.spellings[text], text))
    aliases = dict.fromkeys(text for text in (*spellings, *sorted(one.sayings)) if text != name)
    return NamedEntity(id=slug(name), name=name, kind=one.kind, aliases=tuple(aliases), statements=tuple(held.facts))
