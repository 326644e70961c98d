"""Questions in the vault: the tasks of ``my/Queue.md``.

A task is one question: ``- [ ] What changed in EU battery law? #policy mode:deep every:7d ^batteries``. Behind the question may
stand tags, fields as in ``queries.yaml``, and a block id. A checked task counts only if it is linked to its report, because this
program checked it. A fault leaves one line out, never the night: it is returned beside the questions.

``linked`` is the way back: the same text with links to the reports, and behind a line with a fault what it is. It adds to lines,
and changes only the box and what it added itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yaml import Mark, Node, ScalarNode, SequenceNode

from pipeline.config.queue_file import FIELDS, distinct_id
from pipeline.config.queue_schema import Query, question
from pipeline.config.yaml_to_dataclasses import Fault, Faults, near, nodes, shown
from pipeline.system.files import read_bytes
from pipeline.text.cleaning import one_line, slug, spelling_free

QUEUE_NOTE = "my/Queue.md"
# The parts of a task's line, as Obsidian writes one: each must be put back as it was, also the byte order mark
# that some editors begin a file with.
_TASK = re.compile(r"(?P<lead>\ufeff?[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[)(?P<box>[ xX])\](?P<rest>[ \t].*?)(?P<end>[ \t]*\r?)")
_OURS = re.compile(r"[ \t]*→ \[\[(?P<target>[^\[\]|\n]+)\|[^\[\]\n]*\]\]")
_SAID = re.compile(r"[ \t]*→ \*not researched: [^*\n]*\*")  # our words behind a line with a fault
_BLOCK = re.compile(r"[ \t]+\^(?P<block>[A-Za-z0-9-]{1,100})\Z")
# What stands last behind a question: a field, with spaces only in brackets, or a tag that ends where punctuation begins.
_LAST = re.compile(r"""\s(?:([a-z_]+):(\[[^\[\]]*\]|\{[^{}]*\}|\S+)|#([^\s#.,;:!?()\[\]{}"'“”]+))\Z""")
_FENCE = re.compile(r"\ufeff?[ \t]*(`{3,}|~{3,})")  # around code, where no task stands
_TEXT = "tag:yaml.org,2002:str"
_ALLOWED = tuple(name for name in FIELDS if name not in ("query", "id", "tags"))

Find = Callable[[str, str], tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it is written: the line's parts, and what the question says of itself. ``target`` is that of our link, or ""."""

    lead: str
    words: str
    target: str
    block: str
    tail: str


def questions_in(vault: Path, known: Iterable[Query] = ()) -> tuple[tuple[Query, ...], tuple[str, ...]]:
    """Return the questions of a vault's queue, and what is wrong with others, in order.

    A question that is among the ``known``, or that came before, is left out.
    """
    name = f"vault/{QUEUE_NOTE}"
    try:
        text = read_bytes(vault / QUEUE_NOTE).decode("utf-8")
    except FileNotFoundError:
        return (), ()
    except (OSError, UnicodeDecodeError) as error:
        return (), (f"{name}: it cannot be read: {getattr(error, 'strerror', '') or 'it is not UTF-8 text'}",)
    asked, taken = {spelling_free(query.text) for query in known}, {query.id for query in known}
    found: list[Query] = []
    faults: list[str] = []
    for number, _line, task in tasks_in(text):
        if task is None:
            continue
        try:
            query = _query_of(task, number)
        except Faults as error:
            faults += [f"{name}:{fault} (“{one_line(task.words, 100)}”)" for fault in error.found]
            continue
        if spelling_free(query.text) not in asked and query.id not in taken:
            asked.add(spelling_free(query.text))
            taken.add(query.id)
            found.append(replace(query, file=name))
    return tuple(found), tuple(faults)


def tasks_in(text: str) -> Iterator[tuple[int, str, Task | None]]:
    """Yield each line with its number from 1, without its line feed, and the question in it; None in code and for other lines."""
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        mark, task = _FENCE.match(line), None
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence and (found := _TASK.fullmatch(line)):
            rest, block = found["rest"], _BLOCK.search(found["rest"])
            body = rest[: block.start()] if block else rest
            ours = _OURS.search(body)
            words = _SAID.sub("", _OURS.sub("", body, count=1)).strip()
            if words and (found["box"] == " " or ours):  # open, or checked by this program
                name = block["block"] if block else ""
                tail = (block[0] if block else "") + found["end"]
                task = Task(found["lead"], words, ours["target"] if ours else "", name, tail)
        yield number, line, task


def _query_of(task: Task, line: int) -> Query:
    words, found = " ".join(task.words.split()), dict[str, Node]()
    while last := _LAST.search(words):
        field, value, tag = last.groups()
        if field and field not in _ALLOWED:
            if meant := near(field, _ALLOWED):
                hint = f"write {meant}:… or put it before other words"
                raise Faults([Fault(line, 1, f"{shown(last[0].strip())} is no field of a question", hint)])
            break
        words = words[: last.start()]
        if field:
            found[field] = _value(value, line)
        else:
            found["tags"] = SequenceNode(_TEXT, [_scalar(tag, line), *getattr(found.get("tags"), "value", [])])
    text = question(_scalar(words, line))
    # A block id stays when the words change.
    name = f"my-{slug(task.block, 40)}" if task.block else distinct_id(text)
    values: dict[str, Any] = {FIELDS[key][0].name: FIELDS[key][1](node) for key, node in found.items()}
    return Query(text=text, id=name, line=line, **values)


def _value(said: str, line: int) -> Node:
    """Return what stands behind a field's colon: one value as it is, or a list or mapping in brackets as in ``queries.yaml``."""
    if said[0] not in "[{":
        return _scalar(said, line, plain=True)
    root, _, faults = nodes(("\n" * (line - 1) + said).encode())  # so that a fault in it names the line
    if root is None or faults:
        raise Faults(faults)
    return root


def _scalar(value: str, line: int, *, plain: bool = False) -> ScalarNode:
    mark = Mark("", 0, line - 1, 0, None, 0)
    return ScalarNode(_TEXT, value, mark, mark, "" if plain else "'")


def linked(text: str, find: Find) -> str:
    """Return the queue's text with the links to the reports on its questions; it comes back unchanged if all are there.

    ``find`` returns for a question and its id the path of its newest report and the words of the link; None if there is none.
    A link to an earlier report is replaced; one that does not lead to ``reports/`` was changed by a person, and stays.
    """
    return "\n".join(_linked_line(line, task, find) if task else line for _, line, task in tasks_in(text))


def _linked_line(line: str, task: Task, find: Find) -> str:
    line = _SAID.sub("", line, count=1)
    begin = line[: len(line) - len(task.tail)]
    try:
        query = _query_of(task, 1)
    except Faults as error:
        fault = f"{error.found[0].message}: {error.found[0].hint}".replace("*", "")
        return f"{begin} → *not researched: {fault}*{task.tail}"
    found = find(query.text, query.id)
    if found is None:
        return line
    path, words = found
    if not task.target:
        return f"{task.lead}x]{begin[len(task.lead) + 2 :]} → [[{path}|{words}]]{task.tail}"
    is_old = task.target != path and task.target.startswith("reports/")
    return _OURS.sub(f" → [[{path}|{words}]]", line, count=1) if is_old else line
