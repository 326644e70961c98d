"""Readers for JSONL, YAML and qrels files that collect all errors with file and line, never a row's text (it may be held out)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from pipeline.errors import UsageError
from pipeline.evaluate.question_set.rows import Row

R = TypeVar("R", bound=Row)

MOST_SHOWN = 100
LONGEST_LINE = 1_000_000  # characters
LARGEST_YAML = 5_000_000  # bytes


@dataclass(slots=True)
class Faults:
    """The errors of the files, each as ``file:line: message``, in the order found."""

    found: list[str] = field(default_factory=list)

    def add(self, place: str, what: str) -> None:
        """Add one error at ``place`` (``file:line``)."""
        self.found.append(f"{place}: {what}")

    def raise_if_any(self) -> None:
        """Raise an error if any was added.

        Raises:
            UsageError: the message lists all errors, up to ``MOST_SHOWN``.
        """
        if not self.found:
            return
        more = len(self.found) - MOST_SHOWN
        lines = self.found[:MOST_SHOWN] + ([f"and {more} more"] if more > 0 else [])
        number = "1 error" if len(self.found) == 1 else f"{len(self.found)} errors"
        raise UsageError(f"{number} in the data files:\n" + "\n".join(lines), hint="docs/evaluate.md describes each file")


@dataclass(frozen=True, slots=True)
class LocatedRow:
    """A row and where it was read: ``file:line``."""

    row: Any
    place: str


def json_rows(path: Path, model: type[R], given: dict[str, Any], faults: Faults) -> Iterator[LocatedRow]:
    """Yield the rows of a file with one JSON object a line; ``given`` are default fields."""
    for place, line in numbered_lines(path, faults):
        if not line.strip():
            continue
        if len(line) > LONGEST_LINE:
            faults.add(place, f"the line has more than {LONGEST_LINE:,} characters")
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            faults.add(place, f"no JSON: {error.msg if isinstance(error, json.JSONDecodeError) else 'too deep or too large'}")
            continue
        yield from _checked(value, place, model, given, faults)


def yaml_rows(path: Path, key: str, model: type[R], given: dict[str, Any], faults: Faults) -> Iterator[LocatedRow]:
    """Yield the rows of the list ``key`` of a YAML file."""
    if path.stat().st_size > LARGEST_YAML:
        faults.add(path.name, f"larger than {LARGEST_YAML / 1e6:.0f} MB")
        return
    try:
        yield from _yaml_rows(path, key, model, given, faults)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        faults.add(
            f"{_shown(path)}:{mark.line + 1 if mark else 1}", f"no YAML: {getattr(error, 'problem', None) or 'unreadable'}"
        )


def _yaml_rows(path: Path, key: str, model: type[R], given: dict[str, Any], faults: Faults) -> Iterator[LocatedRow]:
    loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
    root = loader.get_single_node()
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    wanted = [value for name, value in pairs if name.value == key and isinstance(value, yaml.SequenceNode)]
    if not wanted:
        faults.add(f"{_shown(path)}:1", f"there is no list '{key}:'")
    for node in wanted[0].value if wanted else ():
        value = loader.construct_document(node)
        yield from _checked(value, f"{_shown(path)}:{node.start_mark.line + 1}", model, given, faults)


def _checked(value: object, place: str, model: type[R], given: dict[str, Any], faults: Faults) -> Iterator[LocatedRow]:
    if not isinstance(value, dict):
        faults.add(place, "not an object with fields")
        return
    try:
        yield LocatedRow(model.model_validate({**given, **value}), place)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            name = ".".join(str(part) for part in problem["loc"])
            known = f"; known: {', '.join(model.model_fields)}" if problem["type"] == "extra_forbidden" else ""
            faults.add(place, f"{name or 'the row'}: {problem['msg']}{known}")


def trec_rows(path: Path, faults: Faults) -> Iterator[tuple[str, str, str, int]]:
    """Yield ``(place, topic, document, relevance)`` of a TREC qrels file: topic, iteration, document, relevance."""
    for place, line in numbered_lines(path, faults):
        parts = line.split()
        if not parts:
            continue
        if len(parts) == 4 and parts[3].lstrip("-").isdigit() and len(parts[3]) < 6:
            yield place, parts[0], parts[2], int(parts[3])
        else:
            faults.add(place, "not four columns: topic, 0, document, relevance (a whole number)")


def numbered_lines(path: Path, faults: Faults) -> Iterator[tuple[str, str]]:
    """Yield ``(file:line, text)``; text that is not UTF-8 ends the file with an error."""
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                yield f"{_shown(path)}:{number}", line
    except UnicodeDecodeError:
        faults.add(f"{_shown(path)}:{number + 1}", "not UTF-8")


def _shown(path: Path) -> str:
    return f"{path.parent.name}/{path.name}" if path.parent.name in ("dev", "held-out") else path.name
