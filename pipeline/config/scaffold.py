"""Creates the files of a new workspace: templates, a sample queue, sample documents and the vault's settings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import SystemRefused, UsageError
from pipeline.system.files import read_bytes, write_new
from pipeline.text.normalise import digest_of

PARTS = ("queries.yaml", ".env.example", "templates", "corpus", "vault")
# What of a workspace does not belong in git: keys, and what a build makes again.
_IGNORED = ".env\nsite/\nevents/local/\n"
# Both sides of a merge are kept where two machines added questions.
_MERGED = "queries.yaml merge=union\nvault/my/Queue.md merge=union\n"
# In a checkout the vault also holds what runs have made; only this of it is starter material.
_VAULT_PARTS = (".obsidian", "my", "AGENTS.md")
_GRAPH = Path("vault", ".obsidian", "graph.json")
_EARLIER_GRAPH = "9f9f1a507616cfe4d1994d1ffee6cbd097b5f2d8c1be097af4dcef40eafacaa6"  # it showed every note


@dataclass(frozen=True, slots=True)
class Laid:
    """The relative paths of the files that were created, and of those that existed and were not changed."""

    created: tuple[str, ...]
    kept: tuple[str, ...]


def source() -> Path:
    """Return the folder that holds the starter's parts: inside the installed package, or the checkout's root."""
    inside = Path(__file__).parent / "starter"
    return inside if inside.is_dir() else Path(__file__).parents[2]


def later_templates(part: str, *names: str) -> dict[str, Path]:
    """Return the starter's own files of these templates of a ``part`` (``vault``, ``site``), which older workspaces lack."""
    return {name: source() / "templates" / part / name for name in names}


def lay_out(folder: Path) -> Laid:
    """Copy the starter into ``folder``; a file that exists is never overwritten.

    Raises:
        UsageError: ``folder`` is a file.
        SystemRefused: the disk refuses.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file, not a folder", hint="name a folder for the workspace")
    laid = _copy(_files(source()), folder)
    for name, text in ((".gitattributes", _MERGED), (".gitignore", _IGNORED)):
        done = _write_new(folder / name, text)
        laid = Laid((*laid.created, name), laid.kept) if done else Laid(laid.created, (*laid.kept, name))
    return laid


def _write_new(file: Path, text: str) -> bool:
    """Write a file if there is none; return whether it was written."""
    if os.path.lexists(file):
        return False
    try:
        write_new(file, text.encode())
    except OSError as error:
        raise SystemRefused(
            f"{file} cannot be written: {error.strerror}", hint="free space, or let this user write there"
        ) from error
    return True


def _copy(names: Iterable[Path], folder: Path) -> Laid:
    created: list[str] = []
    kept: list[str] = []
    try:
        for name in names:
            target = folder / name
            if target.exists() or target.is_symlink():
                kept.append(name.as_posix())
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            write_new(target, read_bytes(source() / name))
            created.append(name.as_posix())
    except OSError as error:
        where = error.filename or folder
        raise SystemRefused(
            f"{where} cannot be written: {error.strerror}", hint="free space, or let this user write there"
        ) from error
    return Laid(tuple(created), tuple(kept))


def restore_vault(folder: Path) -> None:
    """Copy the starter's vault settings and ``my/`` into a workspace whose vault has no ``.obsidian``.

    In one that has settings, only the filter of the graph is added, and never over a person's own.

    Raises:
        SystemRefused: the disk refuses.
    """
    settings = folder / "vault" / ".obsidian"
    if os.path.lexists(settings):
        _restore_graph(folder, settings / _GRAPH.name)
        return
    try:
        _copy([name for name in _files(source()) if name.parts[0] == "vault"], folder)
    except SystemRefused:
        shutil.rmtree(settings, ignore_errors=True)  # the next build makes all of it, not the rest alone
        raise


def _restore_graph(folder: Path, file: Path) -> None:
    """Copy the graph's filter where there is none, or the starter's of an earlier version, which nobody has changed."""
    with suppress(OSError):
        if file.is_symlink() or digest_of(read_bytes(file)) != _EARLIER_GRAPH:
            return
        file.unlink()
    if file.parent.is_dir() and not file.parent.is_symlink():
        _copy([_GRAPH], folder)


def is_sample(name: str, file: Path) -> bool:
    """Return whether ``file``, called ``name`` in its folder of documents, is a sample document as it came with the program.

    Raises:
        OSError: it cannot be read.
    """
    sample = source() / "corpus" / name
    return sample.is_file() and read_bytes(file, sample.stat().st_size + 1) == read_bytes(sample)


def _files(root: Path) -> list[Path]:
    parts = [root / part for part in PARTS if part != "vault"] + [root / "vault" / part for part in _VAULT_PARTS]
    found = [path for part in parts for path in ([part] if part.is_file() else sorted(part.rglob("*"))) if path.is_file()]
    return [path.relative_to(root) for path in found]
