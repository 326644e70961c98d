"""Names of what statements are about. Pure.

Without a model: proper names, pieces of code and defined terms that several statements from several pages share. It is strict,
because a note about a fragment helps nobody. A proper name is capitalised inside a sentence and nowhere written in lower case; a
piece of code is written as such; a term is one that a statement defines. What a model proposes beside these is checked against
the statements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol

from pipeline.domain.memory.values import EntityKind, NamedEntity, Statement
from pipeline.text.normalise import slug
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import DEFAULT_LANGUAGE, stems
from pipeline.text.word_frequency import specificity

METHOD = "phrases-1"  # methods sort by their age; with a new one, all is named again
LEAST_STATEMENTS, LEAST_PAGES = 2, 2
_SPECIFIC, _SPECIFIC_ALONE = 0.35, 0.9  # least specificity of the rarest word of a defined term, and of a single word
_SHORTEST_CODE = 3
_MOST_WORDS = 4
_LONGEST = 60  # characters of a name that a model proposes
_PIECE = re.compile(r"\n|\s\|\s|^\|\s|\s\|$|^\s*(?:[-*•]|\d+[.)])\s+", re.MULTILINE)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE = re.compile(r"`([^`\n]{2,40})`")
_CALL = re.compile(r"\b[A-Za-z_][\w.]*\(\)|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b")
_WORD = re.compile(r"[^\W_][\w’'.+#/-]*")
_NAME_WORD = re.compile(r"[A-Z][\w’'.+#/-]*")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.:+#/-]*(?:\(\))?")
_DEFINITION = re.compile(
    r"(?:An?|The)\s+((?:[a-z][\w-]+\s+){0,2}[a-z][\w-]+)\s+(?:is|are|means|refers to|denotes)\s+(?:an?|the|any|one|what)\b"
)
_ENDING = re.compile(r"(?:['’]s)?[.,;:!?)\]/\"'’”-]*$")
_NO_NAMES = frozenset(
    word
    for line in (
        "i january february march april may june july august september october november december jan feb mar apr jun jul aug",
        "sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday figure fig table section chapter appendix",
        "example note step part page equation eq theorem listing see also however this that these those the a an if when how",
        "what why which who yes no true false none null todo ok am pm etc vs e.g i.e",
    )
    for word in line.split()
)


class Proposal(Protocol):
    """A name that a model proposes, with other spellings."""

    @property
    def name(self) -> str:
        """How it is written."""

    @property
    def kind(self) -> EntityKind:
        """What it would be."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other spellings."""


class _Found(NamedTuple):
    """A candidate: how it is written, and what it would be."""

    name: str
    kind: EntityKind


def named_entities(statements: Iterable[Statement]) -> tuple[NamedEntity, ...]:
    """Return what at least two of the statements, from at least two pages, are about, sorted by id."""
    texts = {one.fact: _plain(one.claim or one.quote) for one in statements}
    pages = {one.fact: one.url for one in statements}
    lower = {stem for text in texts.values() for word in set(_WORD.findall(text)) if word.islower() for stem in stems(word)}
    spellings: dict[tuple[str, EntityKind], Counter[str]] = {}
    for text in texts.values():
        for found in set(_candidates(text)):
            if found.kind != "name" or _is_no_word(found.name, lower):
                spellings.setdefault((_key(found), found.kind), Counter())[found.name] += 1
    held = {fact: frozenset(_grams(text)) for fact, text in texts.items()}
    made = (_entity(key, kind, names, held, pages) for (key, kind), names in sorted(spellings.items()))
    return _each_once(entity for entity in made if entity is not None)


def checked_names(proposed: Iterable[Proposal], statements: Iterable[Statement]) -> tuple[NamedEntity, ...]:
    """Return of the names that a model proposes those that at least two statements, from at least two pages, hold; sorted by id.

    A spelling counts only if it stands in a statement and is no everyday word. So no name is made up, and none collects
    statements that do not mention it.
    """
    known = tuple(statements)
    texts = {one.fact: _plain(one.claim or one.quote) for one in known}
    pages = {one.fact: one.url for one in known}
    lower = {stem for text in texts.values() for word in set(_WORD.findall(text)) if word.islower() for stem in stems(word)}
    made = (_checked(one, texts, pages, lower) for one in proposed)
    return _each_once(entity for entity in made if entity is not None)


def _checked(one: Proposal, texts: Mapping[str, str], pages: Mapping[str, str], lower: AbstractSet[str]) -> NamedEntity | None:
    found = {text: _holding(text, one.kind, texts) for text in (one.name, *one.aliases) if _is_naming(text, one.kind, lower)}
    facts = tuple(fact for fact in texts if any(fact in held for held in found.values()))
    if not found.get(one.name) or len(facts) < LEAST_STATEMENTS or len({pages[fact] for fact in facts}) < LEAST_PAGES:
        return None
    aliases = tuple(text for text, held in found.items() if held and text != one.name)
    return NamedEntity(id=slug(one.name), name=one.name, kind=one.kind, aliases=aliases, statements=facts)


def _holding(spelling: str, kind: EntityKind, texts: Mapping[str, str]) -> frozenset[str]:
    pattern = re.compile(rf"(?<!\w){re.escape(spelling)}(?!\w)", re.IGNORECASE if kind == "term" else 0)
    return frozenset(fact for fact, text in texts.items() if pattern.search(text))


def _is_naming(spelling: str, kind: EntityKind, lower: AbstractSet[str]) -> bool:
    """Return whether a spelling may name something: short, and not of everyday words alone."""
    words = spelling.split()
    if not words or len(words) > _MOST_WORDS or len(spelling) > _LONGEST or not any(sign.isalpha() for sign in spelling):
        return False
    if kind == "code":
        return bool(_IDENTIFIER.fullmatch(spelling.lstrip("-"))) and not _is_ordinary(spelling.strip("()"))
    if kind == "term":
        return any(True for _found in _term(spelling.lower()))
    return any(word[:1].isupper() or _is_marked(word) for word in words) and any(
        word.lower() not in _NO_NAMES and _is_no_word(word, lower) for word in words
    )


def _plain(text: str) -> str:
    return _FENCE.sub(" ", text)


def _candidates(text: str) -> Iterator[_Found]:
    for code in (*_CODE.findall(text), *_CALL.findall(text)):
        if _IDENTIFIER.fullmatch(code) and not _is_ordinary(code.strip("()")):
            yield _Found(code, "code")
    for piece in _PIECE.split(_CODE.sub(" ", text)):
        for sentence in split_sentences(piece or ""):
            yield from (_Found(name, "name") for name in _proper_names(sentence))
            if defined := _DEFINITION.match(sentence.strip()):
                yield from _term(defined[1])


def _is_ordinary(code: str) -> bool:
    """Return whether a piece of code is too short, or a word of everyday language: `x`, `open()`, `something`."""
    is_word = code.isalpha() and code.lower() == code
    return len(code) < _SHORTEST_CODE or (is_word and specificity(code, DEFAULT_LANGUAGE) < 1)


def _term(words: str) -> Iterator[_Found]:
    plain = " ".join(words.split())
    least = _SPECIFIC if " " in plain else _SPECIFIC_ALONE
    if max((specificity(word, DEFAULT_LANGUAGE) for word in plain.split()), default=0.0) >= least:
        yield _Found(plain, "term")


def _proper_names(sentence: str) -> Iterator[str]:
    """Yield the runs of capitalised words inside a sentence; its first word counts only if it is no ordinary word."""
    words = sentence.split()
    if sum(word[:1].isupper() for word in words) > max(2, len(words) // 2):
        return  # a heading
    run: list[str] = []
    for place, word in enumerate([*words, ""]):
        plain = _ENDING.sub("", word.lstrip("([\"'“‘"))
        is_name = bool(_NAME_WORD.fullmatch(plain)) and plain.lower() not in _NO_NAMES and (place > 0 or _is_marked(plain))
        if is_name:
            run.append(plain)
        if run and (not is_name or plain != word.lstrip("([\"'“‘")):
            if len(run) <= _MOST_WORDS and len("".join(run)) > 1:
                yield " ".join(run)
            run = []


def _is_marked(word: str) -> bool:
    """Return whether a word is a name by its letters: an acronym, inner capitals, digits."""
    return sum(sign.isupper() for sign in word) > 1 or any(sign.isdigit() for sign in word)


def _is_no_word(name: str, lower: AbstractSet[str]) -> bool:
    """Return whether no word of a name is written in lower case elsewhere, in whatever form."""
    return lower.isdisjoint(stems(name)) and not name.replace(".", "").isdigit()


def _key(found: _Found) -> str:
    """Return what two spellings of the same have in common."""
    return found.name.removesuffix("()") if found.kind == "code" else " ".join(stems(found.name)) or found.name


def _grams(text: str) -> Iterator[str]:
    """Yield what a text holds, in the form of keys: its code, and its runs of up to four words as stems."""
    for code in (*_CODE.findall(text), *_CALL.findall(text)):
        yield code.removesuffix("()")
    words = _WORD.findall(text)
    yield from (word for word in words if not _is_ordinary(word))
    plain = [" ".join(stems(_ENDING.sub("", word))) for word in words]
    for size in range(1, _MOST_WORDS + 1):
        for start in range(len(plain) - size + 1):
            yield " ".join(plain[start : start + size])


def _entity(
    key: str, kind: EntityKind, names: Counter[str], held: Mapping[str, frozenset[str]], pages: Mapping[str, str]
) -> NamedEntity | None:
    facts = tuple(fact for fact, grams in held.items() if key in grams)
    if len(facts) < LEAST_STATEMENTS or len({pages[fact] for fact in facts}) < LEAST_PAGES:
        return None
    ordered = sorted(names, key=lambda name: (-names[name], name))
    return NamedEntity(id=slug(ordered[0]), name=ordered[0], kind=kind, aliases=tuple(ordered[1:]), statements=facts)


def _each_once(entities: Iterable[NamedEntity]) -> tuple[NamedEntity, ...]:
    """Return one entity for each id and for each set of statements: of several names for the same, the longest is the name."""
    by_id: dict[str, NamedEntity] = {}
    for entity in entities:
        before = by_id.get(entity.id)
        if before is None or len(entity.statements) > len(before.statements):
            by_id[entity.id] = entity
    kept: dict[tuple[str, ...], NamedEntity] = {}
    for entity in sorted(by_id.values(), key=lambda one: (-len(one.name), one.id)):
        same = kept.get(entity.statements)
        if same is not None and entity.name in same.name:
            aliases = dict.fromkeys((*same.aliases, entity.name, *entity.aliases))
            kept[entity.statements] = same.model_copy(update={"aliases": tuple(aliases)})
        else:
            kept[(*entity.statements, *((entity.id,) if same else ()))] = entity
    return tuple(sorted(kept.values(), key=lambda one: one.id))
