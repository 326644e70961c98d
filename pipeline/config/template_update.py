"""Brings the templates of a workspace up to date with the program's, without losing a line that a person wrote.

``templates/.shipped.json`` has the SHA-256 of each template as the program last copied it. A template that still has it was not
edited and is replaced. One that was edited, or of which nothing is known, is replaced only if asked for; a copy then goes to
``templates/replaced/``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.config import scaffold
from pipeline.errors import SystemRefused
from pipeline.system.files import read_bytes, read_text, write
from pipeline.text.normalise import digest_of

SHIPPED = ".shipped.json"
REPLACED = "replaced"


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


def update_templates(folder: Path, *, replace: bool = False, dry: bool = False) -> TemplateUpdate:
    """Update the templates in the workspace ``folder``; ``replace`` edited ones too; ``dry``: only return what would be done.

    A part (``vault``, ``site``, ``prompts``) without a folder in the workspace is left out: the program uses its own.

    Raises:
        SystemRefused: the disk refuses; each template is either the old or the new one.
    """
    own, done = folder / "templates", TemplateUpdate()
    known = _shipped(own)
    try:
        for name, data in _current().items():
            if own.is_dir() and (len(Path(name).parts) == 1 or (own / Path(name).parts[0]).is_dir()):
                _update(own, name, data, known.get(name, ""), done, replace=replace, dry=dry)
        for name in sorted(known.keys() - _current().keys()):
            file = own / name
            if file.is_file() and not file.is_symlink() and digest_of(read_bytes(file)) == known[name]:
                done.removed.append(name)
                if not dry:
                    file.unlink()
        if not dry:
            record_shipped(folder)
    except OSError as error:
        raise SystemRefused(
            f"{error.filename or own} cannot be written: {error.strerror}", hint="free space, or let this user write there"
        ) from error
    return done


def set_aside(folder: Path, message: str) -> str:
    """Replace an edited template of an earlier version that no longer fits, which ``message`` begins with; return its copy.

    "" if it names none, or one that was edited since this version copied it: that is its writer's to mend. Also "" if the disk
    refuses, or it is no file: then it stays where it is.
    """
    own, current = folder / "templates", _current()
    known = _shipped(own)
    named = (name for name in current if message.startswith((f"{own / name}:", f"{own / name},")))
    name = next(named, "")
    if not name or known.get(name) == digest_of(current[name]) or _is_same(own / name, current[name]):
        return ""
    try:
        copy = _copy_aside(own, name, read_bytes(own / name), dry=False)
        _write(own / name, current[name])
        record_shipped(folder)
    except OSError:
        return ""
    return copy


def _update(own: Path, name: str, data: bytes, known: str, done: TemplateUpdate, *, replace: bool, dry: bool) -> None:
    file = own / name
    found = None if not os.path.lexists(file) else b"" if file.is_symlink() or not file.is_file() else read_bytes(file)
    if found == data:
        return
    if found is None:
        done.added.append(name)
    elif found and digest_of(found) == known:
        done.updated.append(name)
    elif found and replace:
        done.replaced[name] = _copy_aside(own, name, found, dry=dry)
    else:
        done.edited.append(name)
        return
    if not dry:
        _write(file, data)


def _copy_aside(own: Path, name: str, data: bytes, *, dry: bool) -> str:
    copy = own / REPLACED / name
    if copy.exists() and read_bytes(copy) != data:
        copy = copy.with_name(f"{digest_of(data)[:8]}-{copy.name}")
    if not dry:
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
    if not own.is_dir() or own.samefile(scaffold.source() / "templates"):
        return
    current = {name: digest_of(data) for name, data in _current().items() if _is_same(own / name, data)}
    text = json.dumps(dict(sorted({**_shipped(own), **current}.items())), indent=1) + "\n"
    file = own / SHIPPED
    if not file.is_file() or read_text(file) != text:
        _write(file, text.encode())


def _is_same(file: Path, data: bytes) -> bool:
    return file.is_file() and not file.is_symlink() and read_bytes(file) == data


def _shipped(own: Path) -> Mapping[str, str]:
    """The recorded digests; none if they cannot be read: then nothing is known, and nothing is replaced unasked."""
    with suppress(OSError, ValueError):
        found = json.loads(read_text(own / SHIPPED))
        if isinstance(found, dict):
            return {name: digest for name, digest in found.items() if isinstance(digest, str)}
    return {}


def _current() -> dict[str, bytes]:
    root = scaffold.source() / "templates"
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(root).as_posix(): read_bytes(path) for path in files if REPLACED not in path.parts}
