"""Several folders of documents, searched as one.

Addresses in the first folder are ``corpus:<path>``. Those in the others contain the folder's name, ``corpus:@<name>/<path>``,
so that they do not change when the folders are reordered. If two folders have the same name, the second gets ``-2``.
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
    locate,
    path_of,
    resolved_folder,
    scan,
)
from pipeline.errors import CorpusUnusable


class _Member(NamedTuple):
    """A folder; ``prefix`` is the part of its addresses between scheme and path: "" or ``@<name>/``."""

    prefix: str
    folder: Path


class Corpus:
    """The folders of documents in the order of the settings; a folder listed twice counts once."""

    def __init__(self, folders: Path | Sequence[Path]) -> None:
        self._members = list(_members_of([folders] if isinstance(folders, Path) else folders))

    def __str__(self) -> str:
        return ", ".join(str(member.folder) for member in self._members)

    @property
    def identity(self) -> str:
        """A key of these folders for their index; it changes when a folder is added, removed or replaced."""
        return "\n".join(f"{member.prefix}{os.path.realpath(member.folder)}" for member in self._members)

    def unusable(self) -> list[CorpusUnusable]:
        """Return one error for each folder that is missing or cannot be listed."""
        return [error for member in self._members if (error := _fault(member)) is not None]

    def scan(self) -> Iterator[FoundFile | SkippedFile]:
        """Yield the files of all folders, as ``document_folder.scan`` does; an unusable folder is yielded as a skipped file.

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
        if not member.prefix and self._member_at(plain) is not member:  # its "@" would be read as another folder's prefix
            plain = "%40" + plain[1:]
        return SCHEME + address_of(member.prefix).removeprefix(SCHEME) + plain

    def _member_at(self, plain: str) -> _Member:
        others = (member for member in self._members[1:] if plain.startswith(address_of(member.prefix).removeprefix(SCHEME)))
        return next(others, self._members[0])

    def path_at(self, url: str) -> Path:
        """Return the path of an address that ``scan`` yielded; it is not checked."""
        member, inner = self._split(url)
        return member.folder / path_of(inner)

    def locate(self, url: str) -> Path:
        """Return the path of the document at ``url``.

        Raises:
            ReadFailed: ``url`` is no address of a document in one of the folders.
        """
        member, inner = self._split(url)
        return locate(member.folder, inner)

    def _split(self, url: str) -> tuple[_Member, str]:
        plain = url.removeprefix(SCHEME)
        if plain == url:
            return self._members[0], url
        member = self._member_at(plain)
        return member, SCHEME + plain.removeprefix(address_of(member.prefix).removeprefix(SCHEME))


def _members_of(folders: Sequence[Path]) -> Iterator[_Member]:
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
        resolved_folder(member.folder)
    except CorpusUnusable as error:
        return error
    return None
