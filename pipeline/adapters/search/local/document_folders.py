"""Several folders of documents, searched as one.

The first folder's addresses are as if it were alone: ``corpus:<path>``. Those of the others begin with the folder's name:
``corpus:@<name>/<path>``, so that they do not change when folders are put in another order. A name that is taken gets ``-2``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.adapters.search.local.document_folder import (
    SCHEME,
    FoundFile,
    SkippedFile,
    address_of,
    located,
    path_of,
    scan,
    usable,
)
from pipeline.errors import CorpusUnusable


class _Member(NamedTuple):
    """A folder; ``prefix`` is what its addresses have between scheme and path: "" or ``@<name>/``."""

    prefix: str
    folder: Path


class Corpus:
    """The folders, the first one first; one that is named twice counts once."""

    def __init__(self, folders: Path | Sequence[Path]) -> None:
        self._members = list(_named([folders] if isinstance(folders, Path) else folders))

    def __str__(self) -> str:
        return ", ".join(str(member.folder) for member in self._members)

    @property
    def identity(self) -> str:
        """What an index of these folders is known by: it changes when one of them is another."""
        return "\n".join(f"{member.prefix}{os.path.realpath(member.folder)}" for member in self._members)

    def unusable(self) -> list[CorpusUnusable]:
        """Return why folders are missing or cannot be listed; empty if all are there."""
        return [error for member in self._members if (error := _fault(member)) is not None]

    def scan(self) -> Iterator[FoundFile | SkippedFile]:
        """Yield the files of all folders, as ``scan`` does; a folder that is missing is a skipped file.

        Raises:
            CorpusUnusable: none of the folders can be used.
        """
        faults = self.unusable()
        if len(faults) == len(self._members):
            raise faults[0]
        for member in self._members:
            if error := _fault(member):
                yield SkippedFile(member.prefix.rstrip("/") or ".", error.message.rstrip("."))
            else:
                yield from (self._entry(member, entry) for entry in scan(member.folder))

    def _entry(self, member: _Member, entry: FoundFile | SkippedFile) -> FoundFile | SkippedFile:
        if isinstance(entry, SkippedFile):
            return entry._replace(path=member.prefix + entry.path)
        return entry._replace(url=self._address(member, path_of(entry.url)))

    def _address(self, member: _Member, path: str) -> str:
        plain = address_of(path).removeprefix(SCHEME)
        if not member.prefix and self._member_at(plain) is not member:  # a folder of the first that is called like another one
            plain = "%40" + plain[1:]
        return SCHEME + address_of(member.prefix).removeprefix(SCHEME) + plain

    def _member_at(self, plain: str) -> _Member:
        others = (member for member in self._members[1:] if plain.startswith(address_of(member.prefix).removeprefix(SCHEME)))
        return next(others, self._members[0])

    def path_at(self, url: str) -> Path:
        """Return the path that an address of ``scan`` names; nothing is checked."""
        member, own = self._taken_apart(url)
        return member.folder / path_of(own)

    def located(self, url: str) -> Path:
        """Return the file that the address ``url`` names.

        Raises:
            ReadFailed: no address of a document in one of the folders.
        """
        member, own = self._taken_apart(url)
        return located(member.folder, own)

    def _taken_apart(self, url: str) -> tuple[_Member, str]:
        plain = url.removeprefix(SCHEME)
        if plain == url:
            return self._members[0], url
        member = self._member_at(plain)
        return member, SCHEME + plain.removeprefix(address_of(member.prefix).removeprefix(SCHEME))


def _named(folders: Sequence[Path]) -> Iterator[_Member]:
    taken: set[str] = set()
    once = {os.path.realpath(folder): folder for folder in folders}
    for number, folder in enumerate(once.values()):
        base = Path(os.path.normpath(folder.absolute())).name or "folder"
        names = (base if n == 1 else f"{base}-{n}" for n in range(1, len(once) + 1))
        name = next(name for name in names if name not in taken) if number else ""
        taken.add(name)
        yield _Member(f"@{name}/" if name else "", folder)


def _fault(member: _Member) -> CorpusUnusable | None:
    try:
        usable(member.folder)
    except CorpusUnusable as error:
        return error
    return None
