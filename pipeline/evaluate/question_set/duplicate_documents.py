"""Detection of identical documents: the program reads one copy, and scoring accepts any of them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path


def first_copies(corpus: Path) -> dict[str, str]:
    """Return the path of the first copy for each document with copies, the first included; paths are relative to ``corpus``.

    Only files of equal size are read.
    """
    by_size: dict[int, list[str]] = defaultdict(list)
    for path in sorted(corpus.rglob("*")):
        if path.is_file():
            by_size[path.stat().st_size].append(path.relative_to(corpus).as_posix())
    groups = [group for names in by_size.values() if len(names) > 1 for group in _same_content(corpus, names)]
    return {name: group[0] for group in groups if len(group) > 1 for name in group}


def _same_content(corpus: Path, names: Iterable[str]) -> Iterable[list[str]]:
    groups: dict[bytes, list[str]] = defaultdict(list)
    for name in names:
        with (corpus / name).open("rb") as file:
            groups[hashlib.file_digest(file, "sha256").digest()].append(name)
    return groups.values()


def without_copies(names: Iterable[str], copies: Mapping[str, str]) -> set[str]:
    """Return the set of documents, with each copy replaced by the first one."""
    return {copies.get(name, name) for name in names}
