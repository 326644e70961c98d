"""Creates the files of a new workspace: templates, a sample queue, sample documents and the vault's settings.

Later it keeps the templates up to date with the program's, without losing a line that a person wrote.

``templates/.shipped.json`` has the SHA-256 of each template as the program last copied it. A template that still has it was not
edited and is replaced. One that was edited, or of which nothing is known, is replaced only if asked for; a copy then goes to
``templates/replaced/``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pipeline.errors import SystemRefused, UsageError
from pipeline.system.files import read_bytes, read_text, write, write_new
from pipeline.text.cleaning import digest_of

SHIPPED = ".shipped.json"
_REPLACED = "replaced"
_MADE = {
    # What of a workspace does not belong in git: keys, and what a build makes again.
    ".gitignore": ".env\nsite/\nevents/local/\n",
    # Both sides of a merge are kept where two machines added questions.
    ".gitattributes": "queries.yaml merge=union\nvault/my/Queue.md merge=union\n",
}
# In a checkout the vault also holds what runs have made; only this of it is starter material.
_PARTS = ("queries.yaml", ".env.example", "templates", "corpus", "vault/.obsidian", "vault/my", "vault/AGENTS.md")


@dataclass(slots=True)
class TemplateUpdate:
    """What an update did, as paths in the folder ``templates``.

    ``added`` were missing; ``updated`` were as an earlier version of the program copied them; ``replaced`` were edited, and have
    their copies at the paths that are their values; ``edited`` were left as they are. ``removed`` are no longer used, and were as
    an earlier version copied them.
    """

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    edited: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def source() -> Path:
    """Return the folder that holds the starter's parts: inside the installed package, or the checkout's root."""
    inside = Path(__file__).parent / "starter"
    return inside if inside.is_dir() else Path(__file__).parents[2]


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f"{error.filename or folder} cannot be written: {error.strerror}"
        raise SystemRefused(reason, hint="free space, or let this user write there") from error


def lay_out(folder: Path, part: str = "") -> tuple[list[str], list[str]]:
    """Copy the starter into ``folder``, or the ``part`` of it below a folder of that name; a file that exists is not overwritten.

    Return the paths of new files, and of those that existed.

    Raises:
        UsageError: ``folder`` is a file.
        SystemRefused: the disk refuses.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file, not a folder", hint="name a folder for the workspace")
    root, parts = source(), [name for name in _PARTS if name.startswith(part)]
    paths = (path for name in parts for path in [root / name, *sorted((root / name).rglob("*"))] if path.is_file())
    files = {path.relative_to(root).as_posix(): read_bytes(path) for path in paths}
    files |= {} if part else {name: text.encode() for name, text in _MADE.items()}
    created: list[str] = []
    with _disk(folder):
        for name, data in files.items():
            target = folder / name
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                write_new(target, data)
                created.append(name)
    return created, [name for name in files if name not in created]


def is_sample(name: str, file: Path) -> bool:
    """Return whether ``file``, called ``name`` in its folder of documents, is a sample document as it came with the program.

    Raises:
        OSError: it cannot be read.
    """
    sample = source() / "corpus" / name
    return sample.is_file() and read_bytes(file, sample.stat().st_size + 1) == read_bytes(sample)


def update_templates(folder: Path, *, replace: bool = False) -> TemplateUpdate:
    """Update the templates in the workspace ``folder``; ``replace`` edited ones too.

    A part (``vault``, ``site``, ``prompts``) without a folder in ``templates`` is left out: the program uses its own. Without a
    folder ``templates`` all are copied.

    Raises:
        SystemRefused: the disk refuses; each template is either the old or the new one.
    """
    own, done = folder / "templates", TemplateUpdate()
    known = _shipped(own)
    is_new = not os.path.lexists(own)
    is_there = cache(lambda part: is_new or (own / part).is_dir())
    current = {name: data for name, data in _current().items() if is_there(name.rpartition("/")[0].partition("/")[0])}
    with _disk(own):
        for name, data in current.items():
            file = own / name
            found = None if not os.path.lexists(file) else b"" if file.is_symlink() or not file.is_file() else read_bytes(file)
            if found == data:
                continue
            if found is None:
                done.added.append(name)
            elif found and digest_of(found) == known.get(name):
                done.updated.append(name)
            elif found and replace:
                done.replaced[name] = _copy_aside(own, name, found)
            else:
                done.edited.append(name)
                continue
            _write(file, data)
        for name in sorted(known.keys() - current.keys()):
            if _is_same(own / name, known[name]):
                done.removed.append(name)
                (own / name).unlink()
        _record(own, {name: data for name, data in current.items() if name not in done.edited})
    return done


def set_aside(folder: Path, message: str) -> str:
    """Replace an edited template of an earlier version that no longer fits, which ``message`` begins with; return its copy.

    "" if it names none, or one that was edited since this version copied it: that is its writer's to mend. Also "" if the disk
    refuses, or it is no file: then it stays where it is.
    """
    own, current = folder / "templates", _current()
    name = next((name for name in current if message.startswith((f"{own / name}:", f"{own / name},"))), "")
    if not name or digest_of(current[name]) == _shipped(own).get(name) or _is_same(own / name, digest_of(current[name])):
        return ""
    try:
        copy = _copy_aside(own, name, read_bytes(own / name))
        _write(own / name, current[name])
        _record(own, {name: current[name]})
    except OSError:
        return ""
    return copy


def _copy_aside(own: Path, name: str, data: bytes) -> str:
    copy = own / _REPLACED / name
    if copy.exists() and read_bytes(copy) != data:
        copy = copy.with_name(f"{digest_of(data)[:8]}-{copy.name}")
    _write(copy, data)
    return copy.relative_to(own).as_posix()


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file, data)


def record_shipped(folder: Path) -> None:
    """Record which templates of a workspace are the program's own of this version.

    Raises:
        OSError: the disk refuses.
    """
    own = folder / "templates"
    _record(own, {name: data for name, data in _current().items() if _is_same(own / name, digest_of(data))})


def _record(own: Path, same: Mapping[str, bytes]) -> None:
    """Record that these templates of the workspace are the program's own."""
    if not own.is_dir() or own.samefile(source() / "templates"):
        return
    kept = {name: digest_of(data) for name, data in same.items()}
    text = json.dumps(dict(sorted({**_shipped(own), **kept}.items())), indent=1) + "\n"
    file = own / SHIPPED
    if not file.is_file() or read_text(file) != text:
        _write(file, text.encode())


def _is_same(file: Path, digest: str) -> bool:
    return file.is_file() and not file.is_symlink() and digest_of(read_bytes(file)) == digest


def _shipped(own: Path) -> Mapping[str, str]:
    """The recorded digests; none if they cannot be read: then nothing is known, and nothing is replaced unasked."""
    with suppress(OSError, ValueError):
        found = json.loads(read_text(own / SHIPPED))
        if isinstance(found, dict):
            return {name: digest for name, digest in found.items() if isinstance(digest, str)}
    return {}


def _current() -> dict[str, bytes]:
    root = source() / "templates"
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(root).as_posix(): read_bytes(path) for path in files if _REPLACED not in path.parts}
