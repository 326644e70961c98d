"""Reads the perspectives that replace planned ones, from a YAML or JSON file or from the command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pipeline.config.queries.document import contents
from pipeline.config.queries.fields import Reader, kind, listing, mapping, text
from pipeline.config.queries.problems import Problems, invalid
from pipeline.config.queries.yaml_nodes import Listing, Mapping, Node, Refused, decoded, nodes
from pipeline.domain.values import Perspective
from pipeline.errors import NoWorkspace, UsageError
from pipeline.text.normalise import slug

MOST = 20
_WANTED = "start each perspective with `- name:` and give it questions: [..]"


def perspectives_in(path: Path) -> tuple[Perspective, ...]:
    """Return the perspectives in a file: a list of ``{name, focus, questions}``.

    Raises:
        UsageError: there is no such file.
        QueueInvalid: it cannot be read or has faults; the message lists them all.
    """
    try:
        data = contents(path)
    except NoWorkspace:
        raise UsageError(f"there is no file {path}", hint="name the file that holds the perspectives") from None
    faults = Problems(path.name)
    source = decoded(data, faults)
    root, complete = nodes(source, faults) if source is not None else (None, False)
    if complete and root is None:
        faults.add_at(1, 1, "an empty file where the list of perspectives belongs", _WANTED)
    found = _listed(root, faults) if complete and root is not None else []
    if faults.sorted():
        raise invalid(faults.sorted())
    return tuple(found)


def _listed(root: Node, faults: Problems) -> list[Perspective]:
    if not isinstance(root, Listing) or not root.children:
        faults.add(root, f"{kind(root)} where the list of perspectives belongs", _WANTED)
        return []
    if len(root.children) > MOST:
        faults.add(root, f"{len(root.children)} perspectives", f"keep {MOST} of them at most")
    found: dict[str, Perspective] = {}
    for child in root.children:
        view = _view(child, faults)
        if view is not None and found.setdefault(view.id, view) is not view:
            faults.add(child, f"a second perspective called {view.name}", "give it another name")
    return list(found.values())


def _view(node: Node, faults: Problems) -> Perspective | None:
    if not isinstance(node, Mapping):
        if not isinstance(node, Refused):
            faults.add(node, f"{kind(node)} where a perspective belongs", _WANTED)
        return None
    values: dict[str, Any] = mapping(node, faults, _FIELDS)
    for key in ("name", "questions"):
        if not values.get(key):
            faults.add(node, f"a perspective without {key}", _WANTED)
            return None
    return _perspective(values["name"], values["questions"], values.get("focus", ""), values.get("id", ""))


def perspectives_of(lines: Iterable[str]) -> tuple[Perspective, ...]:
    """Return the perspectives that the command line describes, each as ``NAME: QUESTION | QUESTION``.

    Raises:
        UsageError: one has no name, no question, or the name of another.
    """
    found: dict[str, Perspective] = {}
    for line in lines:
        name, _, rest = line.partition(":")
        questions = tuple(filter(None, (part.strip() for part in rest.split("|"))))
        view = _perspective(name.strip(), questions)
        if not name.strip() or not questions or view.id in found:
            hint = 'write a name of its own and one question at least: --perspective "Costs: What does it cost? | Who pays?"'
            raise UsageError(f"--perspective {line!r} is no perspective", hint=hint)
        found[view.id] = view
    return tuple(found.values())


def _perspective(name: str, questions: tuple[str, ...], focus: str = "", ident: str = "") -> Perspective:
    return Perspective(id=slug(ident or name), name=name, focus=focus or name, questions=questions)


_FIELDS: dict[str, Reader] = {
    "name": text,
    "focus": text,
    "questions": listing(text, "write a list: [What does it cost?]"),
    "id": text,
}
