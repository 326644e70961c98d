"""Questions in the vault: the tasks of ``my/Queue.md``, and own notes with ``research: true`` in their properties.

A task is one question: ``- [ ] What changed in EU battery law? #policy mode:deep every:7d ^batteries``. Behind the question may
stand tags, fields as in ``queries.yaml``, and a block id. A checked task counts only if it is linked to its report, because this
program checked it. A fault leaves one line out, never the night: it is returned beside the questions.

``linked`` is the way back: the same text with links to the reports. It adds to lines, and changes only the box and its own link.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.config.queries.entries import FIELDS, distinct_id, question_of, tag_of
from pipeline.config.queries.fields import mapping, near
from pipeline.config.queries.model import Query
from pipeline.config.queries.problems import Problem, Problems, shown
from pipeline.config.queries.yaml_nodes import Listing, Mapping, Node, Scalar, nodes
from pipeline.system.files import read_bytes
from pipeline.text.normalise import slug, spelling_free

QUEUE_NOTE = "my/Queue.md"
GENERATED = ("reports", "sessions", "workers", "sources", "nights", "topics", "bases", "attic")
_MOST_BYTES = 1_048_576
_TASK = re.compile(r"(?P<lead>[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[)(?P<box>[ xX])\](?P<rest>[ \t].*?)(?P<end>[ \t]*\r?)")
_OURS = re.compile(r"[ \t]*→ \[\[(?P<target>[^\[\]|\n]+)\|[^\[\]\n]*\]\]")
_BLOCK = re.compile(r"[ \t]+\^(?P<block>[A-Za-z0-9-]{1,100})\Z")
_FIELD = re.compile(r"([a-z_]+):(\S+)")
_TAG = re.compile(r"#[^\s#.,;:!?()\[\]{}\"'“”]+")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"(?m)^# +(.+?)\s*$")
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


def questions_in(vault: Path, known: Iterable[Query] = ()) -> tuple[tuple[Query, ...], tuple[Problem, ...]]:
    """Return the questions in a vault, those of the queue's note first, and what is wrong with others, in order.

    A question that is among the ``known``, or that came before, is left out.
    """
    asked = {spelling_free(query.text) for query in known}
    taken = {query.id for query in known}
    found: list[Query] = []
    faults: list[Problem] = []
    for file in _files(vault):
        name = file.relative_to(vault).as_posix()
        problems = Problems(f"vault/{name}")
        for query in _questions(file, name == QUEUE_NOTE, problems):
            if spelling_free(query.text) in asked or query.id in taken:
                continue
            asked.add(spelling_free(query.text))
            taken.add(query.id)
            found.append(replace(query, file=f"vault/{name}"))
        faults += problems.sorted()
    return tuple(found), tuple(faults)


def _files(vault: Path) -> Iterator[Path]:
    """The queue's note, then all notes outside the generated folders, in order."""
    yield vault / QUEUE_NOTE
    for folder, folders, files in os.walk(vault):
        top = Path(folder) == vault
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not (top and name in GENERATED))
        for name in sorted(files):
            path = Path(folder, name)
            if name.endswith(".md") and path != vault / QUEUE_NOTE:
                yield path


def _questions(file: Path, is_queue: bool, faults: Problems) -> Iterator[Query]:
    try:
        data = read_bytes(file, _MOST_BYTES + 1)
    except FileNotFoundError:
        return
    except OSError as error:
        if is_queue:
            faults.add_at(1, 1, f"it cannot be read: {error.strerror or error}", "let this user read it")
        return
    if not is_queue and not data.removeprefix(b"\xef\xbb\xbf").startswith(b"---"):
        return
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if is_queue and (len(data) > _MOST_BYTES or "\ufffd" in text):
        faults.add_at(1, 1, "it is larger than 1 MB, or not UTF-8 text", "save it as text, in UTF-8, with fewer questions")
    elif is_queue:
        yield from _tasks(text, faults)
    elif query := _note(text, file.stem, faults):
        yield query


def _tasks(text: str, faults: Problems) -> Iterator[Query]:
    for number, _line, task in tasks_in(text):
        if task and task.is_question and task.words and (query := _query_of(task, number, faults)):
            yield query


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
    words = body[: ours.start()] + body[ours.end() :] if ours else body
    return Task(found["lead"], found["box"], words.strip(), ours["target"] if ours else "", block["block"] if block else "", tail)


def _query_of(task: Task, line: int, faults: Problems) -> Query | None:
    before = len(faults.sorted())
    words, tags, fields = task.words.split(), list[str](), dict[str, Scalar]()
    while len(words) > 1 and (_TAG.fullmatch(words[-1]) or _FIELD.fullmatch(words[-1])):
        if (found := _FIELD.fullmatch(words[-1])) and not _is_field(found[1], words[-1], line, faults):
            break
        last = words.pop()
        if found:
            fields[found[1]] = _scalar(found[2], line)
        elif tag := tag_of(_scalar(last[1:], line, plain=False), faults):
            tags.insert(0, tag)
    values = {name: value for name, node in fields.items() if (value := FIELDS[name](node, faults)) is not None}
    question = question_of(_scalar(" ".join(words), line, plain=False), faults)
    if question is None or len(faults.sorted()) > before:
        return None
    return Query(text=question, id=_id(question, task.block), line=line, tags=tuple(tags), **values)  # type: ignore[arg-type]


def _is_field(name: str, written: str, line: int, faults: Problems) -> bool:
    """Whether a word with a colon is a field; what is nearly one is a fault."""
    if name in _ALLOWED:
        return True
    if meant := near(name, _ALLOWED):
        faults.add_at(line, 1, f"{shown(written)} is no field of a question", f"write {meant}:… or put it before other words")
    return False


def _id(question: str, block: str) -> str:
    """The id that a block id gives, which stays when the words change; else one made from the words."""
    return f"my-{slug(block, 40)}" if block else distinct_id(question)


def _scalar(value: str, line: int, *, plain: bool = True) -> Scalar:
    return Scalar(line, 1, 0, 0, value, plain, value)


def _note(text: str, stem: str, faults: Problems) -> Query | None:
    """The question of a note with ``research: true``: its property ``question``, else its first heading, else its file's name."""
    head, _, body = text.removeprefix("---").partition("\n---")
    if "research:" not in head:
        return None
    silent = Problems("")
    root, complete = nodes(head, silent)
    if not complete or not isinstance(root, Mapping):
        faults.add_at(1, 1, "its properties cannot be read", "correct them, or remove `research:`")
        return None
    pairs = {key.value: value for key, value in root.pairs if isinstance(key, Scalar)}
    wanted = pairs.get("research")
    if not isinstance(wanted, Scalar) or wanted.value.casefold() != "true":
        return None
    return _described(pairs, _title(pairs, body, stem), root, faults)


def _title(pairs: dict[str, Node], body: str, stem: str) -> str:
    said = pairs.get("question")
    heading = _HEADING.search(body)
    return said.value if isinstance(said, Scalar) and said.value.strip() else heading[1] if heading else stem


def _described(pairs: dict[str, Node], title: str, root: Mapping, faults: Problems) -> Query | None:
    before = len(faults.sorted())
    known = [part for name in _ALLOWED if name in pairs for part in (_scalar(name, pairs[name].line), pairs[name])]
    values: dict[str, Any] = mapping(replace(root, children=known), faults, {name: FIELDS[name] for name in _ALLOWED})
    tags = [tag for node in _listed(pairs.get("tags")) if (tag := tag_of(node, faults))]
    question = question_of(_scalar(title, 1, plain=False), faults)
    if question is None or len(faults.sorted()) > before:
        return None
    return Query(text=question, id=distinct_id(question), line=1, tags=tuple(dict.fromkeys(tags)), **values)


def _listed(node: Node | None) -> Iterator[Scalar]:
    """The tags of a note's properties: a list, or words."""
    children = node.children if isinstance(node, Listing) else [node]
    for child in children:
        if isinstance(child, Scalar):
            for word in child.value.replace(",", " ").split():
                yield replace(child, value=word.removeprefix("#"), plain=False)


def linked(text: str, find: Find, *, is_queue: bool, stem: str = "") -> str:
    """Return a note's text with the links to the reports on its questions; it comes back unchanged if all are there.

    ``find`` returns for a question and its id the path of its newest report and the words of the link; None if there is none.
    A link to an earlier report is replaced; one that does not lead to ``reports/`` was changed by a person, and stays.
    """
    if is_queue:
        return "\n".join(_linked_task(line, task, find) for _, line, task in tasks_in(text))
    query = _note(text.removeprefix("\ufeff"), stem, Problems(""))
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
    query = _query_of(task, 1, Problems("")) if task and task.is_question and task.words else None
    found = find(query.text, query.id) if query else None
    if task is None or found is None:
        return line
    path, words = found
    if task.target:
        return _OURS.sub(f" → [[{path}|{words}]]", line, count=1) if _is_old(task.target, path) else line
    body = line[len(task.lead) + 2 : len(line) - len(task.tail)] if task.tail else line[len(task.lead) + 2 :]
    return f"{task.lead}x]{body} → [[{path}|{words}]]{task.tail}"


def _is_old(target: str, path: str) -> bool:
    return target != path and target.startswith("reports/")
