"""Documents that are byte for byte the same: the program reads one of them, and any of them is the answering one."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path


def first_copies(corpus: Path) -> dict[str, str]:
    """Return for each document that has copies the path of the first of them, itself included; paths are relative.

    Only files of the same size are read.
    """
    by_size: dict[int, list[str]] = defaultdict(list)
    for path in sorted(corpus.rglob("*")):
        if path.is_file():
            by_size[path.stat().st_size].append(path.relative_to(corpus).as_posix())
    groups = [group for names in by_size.values() if len(names) > 1 for group in _alike(corpus, names)]
    return {name: group[0] for group in groups if len(group) > 1 for name in group}


def _alike(corpus: Path, names: Iterable[str]) -> Iterable[list[str]]:
    groups: dict[bytes, list[str]] = defaultdict(list)
    for name in names:
        with (corpus / name).open("rb") as file:
            groups[hashlib.file_digest(file, "sha256").digest()].append(name)
    return groups.values()


def without_copies(names: Iterable[str], copies: Mapping[str, str]) -> set[str]:
    """Return the documents with each copy as the first of them."""
    return {copies.get(name, name) for name in names}
