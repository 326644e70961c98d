"""Questions in the vault: the tasks of ``my/Queue.md``, and own notes with ``research: true`` in their properties.

A task is one question: ``- [ ] What changed in EU battery law? #policy mode:deep every:7d ^batteries``. Behind the question may
stand tags, fields as in ``queries.yaml``, and a block id. A checked task counts only if it is linked to its report, because this
program checked it. A fault leaves one line out, never the night: it is returned beside the questions.

``linked`` is the way back: the same text with links to the reports, and behind a line with a fault what it is. It adds to lines,
and changes only the box and what it added itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.config.queue_file import FIELDS, distinct_id
from pipeline.config.values import QUERY_KEYS, Query, question, tag
from pipeline.config.yaml_reading import MAX_BYTES, Fault, Faults, Listing, Mapping, Node, Scalar, near, nodes, shown
from pipeline.system.files import read_bytes
from pipeline.text.normalise import slug, spelling_free

QUEUE_NOTE = "my/Queue.md"
_GENERATED = ("reports", "sessions", "workers", "sources", "nights", "topics", "bases", "attic")
# The parts of a task's line, as Obsidian writes one: each must be put back as it was.
_TASK = re.compile(r"(?P<lead>[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[)(?P<box>[ xX])\](?P<rest>[ \t].*?)(?P<end>[ \t]*\r?)")
_OURS = re.compile(r"[ \t]*→ \[\[(?P<target>[^\[\]|\n]+)\|[^\[\]\n]*\]\]")
_SAID = re.compile(r"[ \t]*→ \*not researched: [^*\n]*\*")  # our words behind a line with a fault
_BLOCK = re.compile(r"[ \t]+\^(?P<block>[A-Za-z0-9-]{1,100})\Z")
# What stands behind a question: a field, or a tag that ends where punctuation begins.
_FIELD = re.compile(r"([a-z_]+):(\S+)")
_TAG = re.compile(r"#[^\s#.,;:!?()\[\]{}\"'“”]+")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")  # around code, where no task stands
_ALLOWED = tuple(name for name in FIELDS if name not in ("query", "id", "tags"))

Find = Callable[[str, str], tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it is written: the line's parts, and what the question says of itself. ``target`` is that of our link, or ""."""

    lead: str
    box: str
    words: str
    target: str
    block: str
    tail: str

    @property
    def is_question(self) -> bool:
        """Whether it is open, or was checked by this program."""
        return self.box == " " or bool(self.target)


def questions_in(vault: Path, known: Iterable[Query] = ()) -> tuple[tuple[Query, ...], tuple[str, ...]]:
    """Return the questions in a vault, those of the queue's note first, and what is wrong with others, in order.

    A question that is among the ``known``, or that came before, is left out.
    """
    asked = {spelling_free(query.text) for query in known}
    taken = {query.id for query in known}
    found: list[Query] = []
    faults: list[str] = []
    for file in _files(vault):
        name = f"vault/{file.relative_to(vault).as_posix()}"
        for one in _questions(file, is_queue=file == vault / QUEUE_NOTE):
            if isinstance(one, Faults):
                faults += [f"{name}:{fault}" for fault in one.found]
            elif spelling_free(one.text) not in asked and one.id not in taken:
                asked.add(spelling_free(one.text))
                taken.add(one.id)
                found.append(replace(one, file=name))
    return tuple(found), tuple(faults)


def _files(vault: Path) -> Iterator[Path]:
    """The queue's note, then all notes outside the generated folders, in order."""
    yield vault / QUEUE_NOTE
    for folder, folders, files in os.walk(vault):
        top = Path(folder) == vault
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not (top and name in _GENERATED))
        for name in sorted(files):
            path = Path(folder, name)
            if name.endswith(".md") and path != vault / QUEUE_NOTE:
                yield path


def _questions(file: Path, *, is_queue: bool) -> Iterator[Query | Faults]:
    try:
        data = read_bytes(file, MAX_BYTES + 1)
    except FileNotFoundError:
        return
    except OSError as error:
        if is_queue:
            yield Faults([Fault(1, 1, f"it cannot be read: {error.strerror or error}", "let this user read it")])
        return
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if is_queue and (len(data) > MAX_BYTES or "\ufffd" in text):
        hint = "save it as text, in UTF-8, with fewer questions"
        yield Faults([Fault(1, 1, "it is larger than 1 MB, or not UTF-8 text", hint)])
    elif is_queue:
        for number, _line, task in tasks_in(text):
            if task and task.is_question and task.words:
                try:
                    yield _query_of(task, number)
                except Faults as error:
                    yield error
    elif text.startswith("---"):
        try:
            query = _note(text, file.stem)
        except Faults as error:
            yield error
        else:
            yield from [query] if query else []


def tasks_in(text: str) -> Iterator[tuple[int, str, Task | None]]:
    """Yield each line with its number from 1, without its line feed, and its task; None in code and for other lines."""
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        yield number, line, None if fence or mark else _task(line)


def _task(line: str) -> Task | None:
    found = _TASK.fullmatch(line)
    if found is None:
        return None
    rest, block = found["rest"], _BLOCK.search(found["rest"])
    tail = (block[0] if block else "") + found["end"]
    body = rest[: block.start()] if block else rest
    ours = _OURS.search(body)
    words = _SAID.sub("", _OURS.sub("", body, count=1))
    return Task(found["lead"], found["box"], words.strip(), ours["target"] if ours else "", block["block"] if block else "", tail)


def _query_of(task: Task, line: int) -> Query:
    words, found = task.words.split(), dict[str, Node]()
    while len(words) > 1 and (_TAG.fullmatch(words[-1]) or _FIELD.fullmatch(words[-1])):
        field = _FIELD.fullmatch(words[-1])
        if field and field[1] not in _ALLOWED:
            if meant := near(field[1], _ALLOWED):
                hint = f"write {meant}:… or put it before other words"
                raise Faults([Fault(line, 1, f"{shown(words[-1])} is no field of a question", hint)])
            break
        last = words.pop()
        if field:
            found[field[1]] = _scalar(field[2], line, plain=True)
        else:
            found["tags"] = Listing(line, 1, 0, 0, False, [_scalar(last[1:], line), *getattr(found.get("tags"), "children", [])])
    text = question(_scalar(" ".join(words), line))
    # A block id stays when the words change.
    name = f"my-{slug(task.block, 40)}" if task.block else distinct_id(text)
    return _described(text, name, line, found)


def _scalar(value: str, line: int, *, plain: bool = False) -> Scalar:
    return Scalar(line, 1, 0, 0, False, value, plain)


def _described(text: str, name: str, line: int, found: dict[str, Node]) -> Query:
    values: dict[str, Any] = {key: FIELDS[key](node) for key, node in found.items()}
    names = {key: field for field, key in QUERY_KEYS.items()}
    return Query(text=text, id=name, line=line, **{names.get(key, key): value for key, value in values.items()})


def _note(text: str, stem: str) -> Query | None:
    """The question of a note with ``research: true``: its property ``question``, else its first heading, else its file's name."""
    head, _, body = text.removeprefix("---").partition("\n---")
    if "research:" not in head:
        return None
    root, faults = nodes(head)
    if faults or not isinstance(root, Mapping):
        raise Faults([Fault(1, 1, "its properties cannot be read", "correct them, or remove `research:`")])
    pairs = {key.value: value for key, value in root.pairs if isinstance(key, Scalar)}
    wanted, said = pairs.get("research"), pairs.get("question")
    if not isinstance(wanted, Scalar) or wanted.value.casefold() != "true":
        return None
    heading = next((line[2:].strip() for line in body.splitlines() if line.startswith("# ") and line[2:].strip()), stem)
    words = question(_scalar(said.value if isinstance(said, Scalar) and said.value.strip() else heading, 1))
    fields = {name: pairs[name] for name in _ALLOWED if name in pairs}
    listed = pairs.get("tags")
    children = listed.children if isinstance(listed, Listing) else [listed]
    tags = [word for child in children if isinstance(child, Scalar) for word in child.value.replace(",", " ").split()]
    named = tuple(dict.fromkeys(tag(_scalar(word.removeprefix("#"), 1)) for word in tags))
    return replace(_described(words, distinct_id(words), 1, fields), tags=named)


def linked(text: str, find: Find, *, is_queue: bool, stem: str = "") -> str:
    """Return a note's text with the links to the reports on its questions; it comes back unchanged if all are there.

    ``find`` returns for a question and its id the path of its newest report and the words of the link; None if there is none.
    A link to an earlier report is replaced; one that does not lead to ``reports/`` was changed by a person, and stays.
    """
    if is_queue:
        return "\n".join(_linked_task(line, task, find) for _, line, task in tasks_in(text))
    try:
        query = _note(text.removeprefix("\ufeff"), stem)
    except Faults:
        return text
    found = find(query.text, query.id) if query else None
    if found is None:
        return text
    path, words = found
    ours = list(re.finditer(rf"(?m)^{_OURS.pattern}", text))
    if ours:
        old = ours[-1]
        return f"{text[: old.start()]}→ [[{path}|{words}]]{text[old.end() :]}" if _is_old(old["target"], path) else text
    end = "\r\n" if "\r\n" in text else "\n"
    return f"{text}{'' if text.endswith(chr(10)) else end}{end}→ [[{path}|{words}]]{end}"


def _linked_task(line: str, task: Task | None, find: Find) -> str:
    if task is None or not task.is_question or not task.words:
        return line
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
    if task.target:
        return _OURS.sub(f" → [[{path}|{words}]]", line, count=1) if _is_old(task.target, path) else line
    return f"{task.lead}x]{begin[len(task.lead) + 2 :]} → [[{path}|{words}]]{task.tail}"


def _is_old(target: str, path: str) -> bool:
    return target != path and target.startswith("reports/")
