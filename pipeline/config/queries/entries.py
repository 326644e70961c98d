"""Reads the ``queries`` section of ``queries.yaml``: its entries and their ids."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pipeline.config.queries.fields import (
    Reader,
    as_written,
    choice,
    duration,
    kind,
    listing,
    machine,
    mapping,
    money,
    near,
    text,
    whole,
)
from pipeline.config.queries.model import Query
from pipeline.config.queries.problems import Problems, quoted, shown
from pipeline.config.queries.settings_section import CONTEXT_TOKENS, MOST, model, search
from pipeline.config.queries.yaml_nodes import Listing, Mapping, Node, Refused, Scalar
from pipeline.text import normalise as texts

MAX_CHARACTERS = 1_000
MAX_ID = 48

_WANTED = "write a question"
_ID = re.compile(r"[a-z0-9][a-z0-9-]*")
_TAG = re.compile(r"[\w/-]*[^\W\d][\w/-]*")


def queries(node: Node, faults: Problems) -> tuple[Query, ...]:
    """Read the list of queries; an entry with a fault is left out."""
    if isinstance(node, Listing):
        found = [(child, _entry(child, faults)) for child in node.children]
        return _identified([(child, query) for child, query in found if query is not None], faults)
    if not isinstance(node, Refused) and not (isinstance(node, Scalar) and node.empty):
        faults.add(node, f"{kind(node)} where the list of questions belongs", "start each question with `- ` on its own line")
    return ()


def _entry(node: Node, faults: Problems) -> Query | None:
    if isinstance(node, Scalar):
        question = question_of(node, faults)
        return Query(text=question, id="", line=node.line) if question else None
    if isinstance(node, Mapping):
        return _described(node, faults)
    if isinstance(node, Listing):
        faults.add(node, "a list where a question belongs", 'put a text with brackets in quotes: "[…]"')
    return None


def _described(node: Mapping, faults: Problems) -> Query | None:
    keys = [key.value for key, _ in node.pairs if isinstance(key, Scalar)]
    if "query" not in keys and _is_text_with_colon(node, faults):
        return None
    values: dict[str, Any] = mapping(node, faults, FIELDS)
    if "query" not in keys and not any(near(key, tuple(FIELDS)) == "query" for key in keys if key not in FIELDS):
        faults.add(node, "an entry without a question", 'write `query: "…"`')
    question = values.pop("query", None)
    values["within"] = values.pop("in", "")
    return Query(text=question, line=node.line, **{"id": "", **values}) if question else None


def _is_text_with_colon(node: Mapping, faults: Problems) -> bool:
    key, value = next(node.pairs, (None, None))
    if not isinstance(key, Scalar) or not isinstance(value, Scalar) or key.value.casefold() in FIELDS:
        return False
    if near(key.value, tuple(FIELDS)) and " " not in key.value and not key.value[:1].isupper():
        return False
    whole_text = f"{_said(key)}: {_said(value)}".strip()
    others = "query: " if len(node.children) > 2 else ""
    if faults.is_in(key.line):  # what was refused before the key belongs to the text, so this fix would lack it
        return True
    begins_with_it = (node.line, node.column) == (key.line, key.column)  # not with the ? of a key
    fix = f"- {others}{quoted(whole_text)}" if begins_with_it else '"…"'
    faults.add(key, f"{shown(whole_text)} is read as a key and its value", f"put it in quotes: {fix}")
    return True


def _said(node: Scalar) -> str:
    """The text as written, with quotation marks and the part after a #."""
    return f"{node.value if node.plain else node.written}{node.tail}"


def question_of(node: Node, faults: Problems) -> str | None:
    """Read a question: words to search for, on one line."""
    if isinstance(node, Scalar) and _is_cut(node, faults):
        return None
    question = text(node, faults, _WANTED)
    if question is None:
        return None
    if not texts.clean(question).strip():
        faults.add(node, "an empty text", _WANTED)
    elif not any(map(str.isalnum, question)):
        faults.add(node, f"{shown(question)} has no letter and no digit: there is nothing to search for", _WANTED)
    elif len(question) > MAX_CHARACTERS:
        faults.add(node, f"a question of {len(question):,} characters", f"shorten it to {MAX_CHARACTERS:,}")
    else:
        return question
    return None


def _is_cut(node: Scalar, faults: Problems) -> bool:
    if node.tail:
        left = f"ends at {shown(node.value)}" if node.value else "is empty"
        said = _said(node).strip()
        fix = f"put the question in quotes: {quoted(said)}; or, before a comment, write two spaces"
        hint = fix if any(map(str.isalnum, said)) else _WANTED
        faults.add(node, f"the question {left}: {shown(node.tail.strip())} is read as a comment", hint)
    elif node.runs_on:
        hint = "start both entries in one column; or put the text in quotes"
        faults.add(node, f"two lines are read as one question, {shown(node.value)}", hint)
    return bool(node.tail) or node.runs_on


def _id(node: Node, faults: Problems) -> str | None:
    name = text(node, faults, "write an id, such as eu-batteries")
    if name is None or (_ID.fullmatch(name) and len(name) <= MAX_ID):
        return name
    hint = f"write at most {MAX_ID} of a-z, 0-9 and -, such as {as_written(texts.slug(name, MAX_ID))}"
    faults.add(node, f"{shown(name)} is no id", hint)
    return name


def tag_of(node: Node, faults: Problems) -> str | None:
    """Read a tag, as Obsidian takes it."""
    name = text(node, faults, "write a tag, such as policy")
    if name is None or _TAG.fullmatch("".join(sign for sign in name if unicodedata.category(sign)[0] != "M")):
        return name
    faults.add(node, f"{shown(name)} is no tag", "use letters, digits, - and /, with one letter at least")
    return None


def _within(node: Node, faults: Problems) -> str | None:
    wanted = "write a folder of settings: corpus:, or one within it: notes/"
    name = text(node, faults, wanted)
    if name is not None and (name.startswith("/") or ".." in name.split("/")):
        faults.add(node, f"{shown(name)} is no folder of your documents", wanted)
    return name


FIELDS: dict[str, Reader] = {
    "query": question_of,
    "id": _id,
    "mode": choice("fast", "deep"),
    "every": duration,
    "tags": listing(tag_of, "write a list: [policy, batteries]"),
    "priority": whole(-1_000, 1_000),
    "machine": machine,
    "max_workers": whole(1, 100),
    "perspectives": whole(1, 20),
    "iterations": whole(1, 20),
    "gap_rounds": whole(0, 10),
    "context_tokens": whole(*CONTEXT_TOKENS),
    "budget_usd": money,
    "budget_tokens": whole(1, MOST),
    "budget_calls": whole(1, MOST),
    "timeout": duration,
    "search": search,
    "in": _within,
    "model": model,
    "approve": choice("plan"),
}


def _identified(found: list[tuple[Node, Query]], faults: Problems) -> tuple[Query, ...]:
    firsts = _firsts([query for _, query in found])
    slugs = _slugs(query for place, (_, query) in enumerate(found) if place not in firsts)
    named: list[Query] = []
    for place, (_, query) in enumerate(found):
        if place in firsts:
            name = query.id or distinct_id(f"{query.text} {place}")
            named.append(replace(query, id=name, same_as=named[firsts[place]].id))
        else:
            named.append(query if query.id else replace(query, id=_derived(query.text, slugs)))
    _report_clashes([(node, query) for (node, _), query in zip(found, named, strict=True)], faults)
    return tuple(named)


def _firsts(found: list[Query]) -> dict[int, int]:
    """For the place of each entry that repeats another, that one's place.

    An entry with an id of its own may ask the same to have it researched in another way.
    """
    asked: dict[str, list[int]] = defaultdict(list)
    firsts: dict[int, int] = {}
    for place, query in enumerate(found):
        same = asked[texts.spelling_free(query.text)]
        first = next((other for other in same if not query.id or _manner(found[other]) == _manner(query)), None)
        if first is None:
            same.append(place)
        else:
            firsts[place] = first
    return firsts


def _manner(query: Query) -> Query:
    """What decides how a question is researched."""
    return replace(query, text="", id="", line=0, every=None, tags=(), priority=0, machine="")


def _slugs(found: Iterable[Query]) -> dict[str, set[str]]:
    slugs: dict[str, set[str]] = defaultdict(set)
    for query in found:
        if not query.id:
            slugs[texts.slug(query.text, 40)].add(query.text)
    return slugs


def _derived(question: str, slugs: dict[str, set[str]]) -> str:
    slug = texts.slug(question, 40)
    return slug if len(slugs[slug]) == 1 else distinct_id(question)


def distinct_id(question: str) -> str:
    """Return an id that differs from those of questions with the same beginning. It does not depend on the position."""
    return f"{texts.slug(question, 40)}-{texts.digest_of(question.encode())[:4]}"


def _report_clashes(named: list[tuple[Node, Query]], faults: Problems) -> None:
    lines: dict[str, int] = {}
    for node, query in named:
        if first := lines.get(query.id.casefold()):
            faults.add(node, f"the id {query.id} is taken by line {first}", "give this one another id: `id: …`")
        else:
            lines[query.id.casefold()] = query.line
