"""What stands in a prompt, found by form alone: delimited material, keyed facts and questions, limits.

The forms: material stands between ``<<material S1 6f2a…>>`` and ``<<end material S1 6f2a…>>``; a fact is a line
``[E3] "quote" (S1: place)`` of such a block, a question a line that ends in ``?``, with or without a key (``Q2``) in front;
a sentence to be checked follows its key (``T4``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

MATERIAL = re.compile(r"^<<material (\S+) (\w+)>>\n(.*?)\n<<end material \1 \2>>", re.M | re.S)
BY_FIELD = {
    "perspectives": "plan",
    "findings": "reading",
    "faults": "check",
    "question": "stand_alone",
    "answer": "talk",
    "episode": "episode",
}
"""The question that an answer's field belongs to."""

_REPORT = re.compile(r"^(?:Write the report|The evidence is too long for one prompt|This is the text of a report)", re.M)
_SCHEMA = re.compile(r"\{\s*\"(?:\$defs|\$schema|type|properties|title|additionalProperties|required)\"")
MARKED = re.compile(r"<<material \S+ (\w+)>>")
_FACT = re.compile(r"^\[(E\d+)\] \"(.*)\" \((S\d+)\b.*\)$", re.M)
_CHECKED = re.compile(r"^[\s\-*]*[\[(]?(T\d+)[\])]?[:.)]?\s+(.+)$", re.M)
_ASKED = re.compile(r"^[\s\-*]*(?:[\[(]?(Q\d+)[\])]?[:.)]?\s+)?(.+\?)[\"'”]?\s*$", re.M)
_KEY = re.compile(r"\bE\d+\b")
_BULLET = re.compile(r"^[\s\-*]*")
_LABEL = re.compile(r"^[A-Z][\w' ]{0,40}:\s+")
_QUERY = re.compile(r"^The user asks: (.+)$", re.M)
_LIMIT = re.compile(r"\b(?:at most|up to|no more than|exactly|about)\s+(\d+),?\s+(\w+)|\b(\d+) (\w+)", re.I)
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?](?=\s|$)")


@dataclass(frozen=True, slots=True)
class KeyedFact:
    """A fact as the prompt lists it; ``origin`` is the key of its source."""

    key: str
    quote: str
    origin: str


@dataclass(frozen=True)
class Prompt:
    """A chat request as a model reads it."""

    name: str
    schema: Mapping[str, Any]
    text: str

    @cached_property
    def blocks(self) -> tuple[tuple[str, str], ...]:
        """Key and text of each delimited block, in order."""
        return tuple((found[1], found[3]) for found in MATERIAL.finditer(self.text))

    @cached_property
    def pages(self) -> tuple[tuple[str, str], ...]:
        """The blocks that are pages: those under a source's key."""
        return tuple(block for block in self.blocks if re.fullmatch(r"S\d+", block[0]))

    @cached_property
    def frame(self) -> str:
        """The prompt without its material: what its author wrote."""
        return MATERIAL.sub("", self.text)

    @cached_property
    def facts(self) -> tuple[KeyedFact, ...]:
        """The listed facts, one for each key, in the order of the list: a key's number says nothing."""
        listed = (text for block, text in self.blocks if not re.fullmatch(r"S\d+", block))
        found = [KeyedFact(one[1], one[2], one[3]) for text in listed for one in _FACT.finditer(text)]
        return tuple({fact.key: fact for fact in reversed(found)}[key] for key in dict.fromkeys(fact.key for fact in found))

    @cached_property
    def query(self) -> str:
        """What the user asks, or the first question."""
        found = _QUERY.search(self.frame)
        return found[1] if found else next(iter(self.asked), "")

    @cached_property
    def asked(self) -> dict[str, str]:
        """Questions outside the material with their keys ("" without one), each once."""
        found = ((_LABEL.sub("", one[2].strip("\"'“ ")), one[1] or "") for one in _ASKED.finditer(self.frame))
        keyed: dict[str, str] = {}
        for question, key in found:
            keyed[question] = keyed.get(question) or key
        return keyed

    @property
    def open_questions(self) -> tuple[str, ...]:
        """The questions that have a key; all of them when none has."""
        return tuple(question for question, key in self.asked.items() if key) or tuple(self.asked)

    @cached_property
    def items(self) -> frozenset[str]:
        """Every line outside the material without its bullet: what is listed already need not be said again."""
        return frozenset(_BULLET.sub("", line).strip().strip("\"'`") for line in self.frame.split("\n"))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """All evidence keys named anywhere, in order of their numbers."""
        return tuple(sorted(set(_KEY.findall(self.text)), key=lambda key: int(key[1:])))

    @cached_property
    def checked(self) -> tuple[tuple[str, str], ...]:
        """The sentences to be checked with their keys."""
        return tuple((found[1], found[2]) for found in _CHECKED.finditer(self.text))

    def limit(self, noun: str, usual: int) -> int:
        """Return the number in "at most 4 queries"; ``usual`` when there is none for that noun."""
        stem = noun.lower().rstrip("s")
        pairs = ((found[1] or found[3], found[2] or found[4]) for found in _LIMIT.finditer(self.frame))
        return next((int(number) for number, word in pairs if word.lower().startswith(stem)), usual)


def plain(prompt: str) -> str:
    """Return a prompt without the random parts of its delimiters."""
    return re.sub("|".join(map(re.escape, set(MARKED.findall(prompt)))) or r"\Z", "", prompt)


def keys_in(text: str) -> tuple[str, ...]:
    """Return the evidence keys of a text, each once, in order."""
    return tuple(dict.fromkeys(_KEY.findall(text)))


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, each verbatim and within one line; headings, code and lists of links are left out."""
    lines = (line.strip() for line in text.split("\n"))
    plain = (line.removeprefix("- ") for line in lines if line and not line.startswith(("#", "```", "|", "<<")))
    found = (one.strip() for line in plain for one in _SENTENCE.findall(line))
    return tuple(one for one in dict.fromkeys(found) if len(one.split()) >= 5 and len(one) <= 400)


def read_prompt(body: Mapping[str, Any]) -> Prompt:
    """Read a chat request; schema and question are the request's own, else told by the first JSON schema in its text."""
    text = "\n\n".join(_content(message) for message in body.get("messages") or () if isinstance(message, Mapping))
    wanted = body.get("response_format")
    named = wanted.get("json_schema") if isinstance(wanted, Mapping) else None
    if isinstance(named, Mapping):
        return Prompt(str(named.get("name", "")), named.get("schema") or {}, text)
    schema = _schema_in(text)
    if not schema and _REPORT.search(text):
        return Prompt("report", {}, text)
    return Prompt(next((BY_FIELD[name] for name in schema.get("properties", ()) if name in BY_FIELD), ""), schema, text)


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return str(content or "")


def _schema_in(text: str) -> dict[str, Any]:
    decoder = json.JSONDecoder()
    for start in _SCHEMA.finditer(text):
        try:
            value, _ = decoder.raw_decode(text, start.start())
        except ValueError:
            continue
        if "properties" in value:
            return dict(value)
    return {}
