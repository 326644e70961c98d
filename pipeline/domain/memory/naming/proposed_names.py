"""The check of names that a model proposes: a name counts only if statements hold it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

from pipeline.domain.memory.naming.named_entities import LEAST_PAGES, LEAST_STATEMENTS
from pipeline.domain.memory.naming.word_classes import is_acronym, is_code, is_function_word, is_ordinary, may_name
from pipeline.domain.memory.values import EntityKind, NamedEntity, Statement, entity_id

_MOST_WORDS, _LONGEST = 5, 60


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


def checked_names(proposed: Iterable[Proposal], statements: Iterable[Statement]) -> tuple[NamedEntity, ...]:
    """Return of the names that a model proposes those that at least two statements, from at least two pages, hold; sorted by id.

    A spelling counts only if it stands in a statement and is no everyday word. So no name is made up, and none collects
    statements that do not mention it.
    """
    known = tuple(statements)
    texts = {one.fact: one.claim or one.quote for one in known}
    pages = {one.fact: one.url for one in known}
    found: dict[str, NamedEntity] = {}
    for one in proposed:
        entity = _checked(one, texts, pages)
        before = found.get(entity.id) if entity else None
        if entity and (before is None or len(entity.statements) > len(before.statements)):
            found[entity.id] = entity
    return tuple(found[name] for name in sorted(found))


def _checked(one: Proposal, texts: Mapping[str, str], pages: Mapping[str, str]) -> NamedEntity | None:
    found = {text: _holding(text, one.kind, texts) for text in (one.name, *one.aliases) if _is_naming(text, one.kind)}
    facts = tuple(fact for fact in texts if any(fact in held for held in found.values()))
    if not found.get(one.name) or len(facts) < LEAST_STATEMENTS or len({pages[fact] for fact in facts}) < LEAST_PAGES:
        return None
    aliases = tuple(text for text, held in found.items() if held and text != one.name)
    return NamedEntity(id=entity_id(one.name), name=one.name, kind=one.kind, aliases=aliases, statements=facts)


def _holding(spelling: str, kind: EntityKind, texts: Mapping[str, str]) -> frozenset[str]:
    pattern = re.compile(rf"(?<!\w){re.escape(spelling)}(?!\w)", re.IGNORECASE if kind == "term" else 0)
    return frozenset(fact for fact, text in texts.items() if pattern.search(text))


def _is_naming(spelling: str, kind: EntityKind) -> bool:
    """Return whether a spelling may name something: short, and not of everyday words alone."""
    words = spelling.split()
    if (
        not words
        or len(words) > _MOST_WORDS
        or len(spelling) > _LONGEST
        or not may_name(words[0] if len(words) == 1 else spelling)
    ):
        return False
    if kind == "name":
        return any(word[:1].isupper() or is_code(word) for word in words) and not all(map(_is_everyday, words))
    return not all(map(_is_everyday, words)) if len(words) == 1 else not all(map(is_function_word, words))


def _is_everyday(word: str) -> bool:
    plain = word.strip("()-`")
    return is_function_word(plain) or (is_ordinary(plain) and not is_acronym(plain) and not is_code(plain))
