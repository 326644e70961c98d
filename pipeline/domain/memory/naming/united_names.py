"""Puts together the names of one thing: a short and a long form, a name with its kind, a part of a longer name. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.domain.memory.naming.prose import words_of
from pipeline.domain.memory.values import NamedEntity
from pipeline.text.stemming import stems

_SHARED = 0.7  # of a name's statements that also hold a longer one, for it to be a part of that name
CLASSES = frozenset(
    stem
    for word in [
        "file",
        "system",
        "filesystem",
        "command",
        "program",
        "utility",
        "format",
        "file",
        "archive",
        "option",
        "license",
        "library",
        "tool",
        "algorithm",
        "function",
        "device",
        "project",
        "faq",
    ]
    for stem in stems(word)
)


def united(ordered: Iterable[NamedEntity]) -> tuple[NamedEntity, ...]:
    """Return the entities in their order, each thing once. What is put together keeps the place of the better of the two."""
    kept: list[NamedEntity] = []
    for entity in ordered:
        place = next((place for place, other in enumerate(kept) if _is_same(entity, other)), None)
        if place is None:
            kept.append(entity)
        else:
            kept[place] = _joined(kept[place], entity)
    return tuple(kept)


def _is_same(one: NamedEntity, other: NamedEntity) -> bool:
    if one.id == other.id or one.name in other.aliases or other.name in one.aliases:
        return True
    a, b = _stems(one.name), _stems(other.name)
    shorter, longer = (one, other) if len(a) < len(b) else (other, one)
    few, many = sorted((a, b), key=len)
    if not _holds(many, few):
        return False
    rest = [stem for stem in many if stem not in few]
    return CLASSES.issuperset(rest) or _share(shorter, longer) >= _SHARED


def _stems(name: str) -> list[str]:
    return [stem for word in words_of(name) for stem in stems(word)[:1]]


def _holds(many: list[str], few: list[str]) -> bool:
    return any(many[start : start + len(few)] == few for start in range(len(many) - len(few) + 1))


def _share(shorter: NamedEntity, longer: NamedEntity) -> float:
    return len(set(shorter.statements) & set(longer.statements)) / len(shorter.statements)


def _joined(kept: NamedEntity, other: NamedEntity) -> NamedEntity:
    """Return the first with the names and statements of both. It takes the longer name if the other only adds a part of it."""
    longer = other.name if _is_part(kept, other) else kept.name
    aliases = dict.fromkeys((*kept.aliases, kept.name, other.name, *other.aliases))
    statements = tuple(dict.fromkeys((*kept.statements, *other.statements)))
    passages = tuple({one.text: one for one in (*kept.passages, *other.passages)}.values())
    found: dict[str, object] = {"name": longer, "aliases": tuple(text for text in aliases if text != longer)}
    found |= {"statements": statements, "passages": passages}
    if longer != kept.name:
        found |= {"id": other.id, "kind": other.kind}
    return kept.model_copy(update=found)


def _is_part(kept: NamedEntity, other: NamedEntity) -> bool:
    """Return whether the kept name is only ever used within the other: "Seward" within "Julian Seward"."""
    few, many = _stems(kept.name), _stems(other.name)
    rest = [stem for stem in many if stem not in few]
    return len(few) < len(many) and not CLASSES.issuperset(rest) and _share(kept, other) >= _SHARED
