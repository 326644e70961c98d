"""The question sets as typed values, read from the YAML files beside this module."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML

HERE = Path(__file__).parent
PLANTED_DOCUMENTS = HERE / "contradictions" / "documents"

Split = Literal["dev", "held-out"]
Choice = Literal["dev", "held-out", "all"]


@dataclass(frozen=True, slots=True)
class Narrow:
    """A question with one short answer. ``page`` holds ``support`` word for word."""

    id: str
    split: Split
    question: str
    expected: tuple[str, ...]
    page: str
    support: str


@dataclass(frozen=True, slots=True)
class Facet:
    """One idea of a good report; ``any`` are its names, ``page`` one place that speaks of it."""

    name: str
    any: tuple[str, ...]
    page: str


@dataclass(frozen=True, slots=True)
class Broad:
    """A question that wants a report."""

    id: str
    split: Split
    question: str
    facets: tuple[Facet, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One sentence of one planted document (its name, without ``.md``)."""

    document: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences of different documents; ``note`` is the kind of contradiction, or why it is none."""

    note: str
    a: Side
    b: Side


@dataclass(frozen=True, slots=True)
class Subject:
    """What some documents are about, what they contradict each other in, and what only looks like it."""

    id: str
    split: Split
    query: str
    planted: tuple[Pair, ...]
    near: tuple[Pair, ...]


def narrow_questions() -> tuple[Narrow, ...]:
    """Return the narrow questions in the file's order."""
    entries = _entries(HERE / "narrow.yaml", "questions")
    return tuple(Narrow(**{**entry, "expected": tuple(entry["expected"])}) for entry in entries)


def broad_questions() -> tuple[Broad, ...]:
    """Return the broad questions in the file's order."""
    return tuple(
        Broad(entry["id"], entry["split"], entry["question"], tuple(_facet(facet) for facet in entry["facets"]))
        for entry in _entries(HERE / "broad.yaml", "questions")
    )


def subjects() -> tuple[Subject, ...]:
    """Return the subjects of the planted documents in the file's order."""
    return tuple(
        Subject(
            entry["id"],
            entry["split"],
            entry["query"],
            tuple(_pair(pair, "kind") for pair in entry["planted"]),
            tuple(_pair(pair, "why") for pair in entry["near"]),
        )
        for entry in _entries(HERE / "contradictions" / "pairs.yaml", "subjects")
    )


def wanted(split: Split, choice: Choice) -> bool:
    """Tell whether an entry of ``split`` is asked for."""
    return choice in ("all", split)


def _entries(path: Path, key: str) -> list[dict[str, Any]]:
    loaded: dict[str, list[dict[str, Any]]] = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    return loaded[key]


def _facet(entry: dict[str, Any]) -> Facet:
    return Facet(entry["name"], tuple(entry["any"]), entry["page"])


def _pair(entry: dict[str, Any], note: str) -> Pair:
    return Pair(entry[note], Side(**entry["a"]), Side(**entry["b"]))
