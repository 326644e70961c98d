"""``VaultWriter``: the only code that writes files of the vault. It writes files that differ and never loses a person's text.

A file that is neither in the catalogue nor recognisably generated is not touched. If somebody edited a generated part, which its
signature shows, a copy goes to ``attic/`` before the part is replaced. A file that is no longer generated is removed, or moved to
``attic/`` if somebody wrote in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress
from time import sleep

from pipeline.system.manifest import Look, Obstacle, Tree
from pipeline.text.cleaning import digest_of
from pipeline.vault.build_cache import ATTIC, Files
from pipeline.vault.note import ID, View
from pipeline.vault.output import user_text
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.user_text import NOTHING, UserText, compose, each, letters_of, sides, united

# A part of an owner's name that may stand in a note's id as it is.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,149}")


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A file without a person's text, and its owner. ``path`` has its suffix.

    ``kind`` is a note's, "" for a base, a picture, the style sheet. A note has its ``properties`` in order, and the values of its
    ``view``, from which its template makes the ``body``; ``key`` tells it from other notes of its kind that have the same owner.
    Of one with ``make`` only this is known before: what it is called, and ``value``, which is all that it is made from.
    ``doubles`` are other places of it, with a person's words that belong to it; ``former`` are notes that are no longer made: it
    takes over the texts of their blocks.
    """

    owner: str
    path: str
    body: str = ""
    kind: str = ""
    properties: Mapping[str, Property] = field(default_factory=dict)
    view: View = field(default_factory=dict)
    key: str = ""
    value: str = ""
    make: Callable[[], GeneratedFile] | None = None
    doubles: tuple[str, ...] = ()
    former: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of a note, which is one of its properties; "" for other files."""
        return note_id(self.owner, self.kind, self.key) if self.kind else ""

    def data(self, additions: UserText = NOTHING) -> bytes:
        """The bytes of the file, of a note with a person's additions."""
        return as_bytes(compose({**self.properties, ID: self.id}, self.body, additions) if self.kind else self.body)


def note_id(owner: str, kind: str, key: str = "") -> str:
    """Return the id of a note of an owner: ``report:<session>``, ``worker:<session>/<worker>``, ``source:<digest>``, ``home``."""
    parts = filter(None, (owner.partition(":")[2], key))
    name = "/".join(part if _PLAIN.fullmatch(part) else digest_of(as_bytes(part))[:16] for part in parts)
    return f"{kind}:{name}" if name else kind


def as_text(data: bytes) -> str:
    """Return a file's text; bytes that are no UTF-8 are kept."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    """Return the bytes of ``as_text``."""
    return text.encode("utf-8", "surrogateescape")


def signed(text: str, comment: str) -> str:
    """Return a text with a last line that shows whether somebody edited it: a ``comment``, ``{}`` in it replaced by a digest."""
    text = text.removesuffix("\n") + "\n"
    return f"{text}{comment.format(f'generated: {digest_of(as_bytes(text))[:16]}')}\n"


def _is_signed(data: bytes) -> bool:
    """Tell whether a file is as this version of the program signed it, or an earlier one, which signed each line."""
    text, line_end, last = data.rstrip(b"\n").rpartition(b"\n")
    lines = (line.rstrip().removesuffix(b",") for line in text.split(b"\n"))
    marks = digest_of(text + line_end)[:16], letters_of(filter(None, lines))
    return last.removesuffix(b" */").endswith(tuple(f"generated: {mark}".encode() for mark in marks))


_LEFT = "not changed, so that no text is lost; correct this and run `research build` again"


class VaultWriter:
    """Writes files to a vault. ``dry``: it says what it would do, and writes nothing.

    What it did so far is as in ``BuildReport``, with ``problems`` that are its ``left_alone``; ``refused`` are the files that it
    could not write. ``left`` has size and time of each file that it wrote or that may stay as it is, None if it removed it.
    """

    def __init__(self, tree: Tree, files: Files, *, dry: bool) -> None:
        self._tree, self._files, self._dry = tree, files, dry
        self.written, self.removed, self.set_aside, self.problems = list[str](), list[str](), list[str](), list[str]()
        self.refused, self.left, self.united = list[GeneratedFile](), dict[str, Look | None](), dict[str, str]()

    def place(self, files: Iterable[GeneratedFile], stale: Iterable[str]) -> None:
        """Write ``files`` and remove the ``stale`` ones.

        Raises:
            OSError: the disk cannot be written; no file is half written.
        """
        for fresh in files:
            try:
                (self._put_note if fresh.kind else self._put_plain)(fresh)
            except Obstacle as obstacle:
                self._refuse(fresh, f"{obstacle}; move it away and run `research build` again")
        for path in stale:
            self._remove(path)

    def _refuse(self, fresh: GeneratedFile, why: str) -> None:
        self.problems.append(f"{fresh.path}: {why}")
        self.refused.append(fresh)

    def _put_note(self, fresh: GeneratedFile) -> None:
        state, data = self._tree.state(fresh.path), fresh.data()
        disk = self._read(fresh.path)
        is_as_made = disk in (None, data) or self._is_as_made(fresh.path, disk or b"")
        if is_as_made and not fresh.doubles and not fresh.former:  # nothing of a person is in it
            self._leave(fresh, data, state if disk == data else None)
            return
        places = [path for path in (fresh.path, *fresh.doubles) if self._tree.state(path)]
        versions = [self._user_text(fresh, path, self._read(path) or b"") for path in places]
        if None in versions:
            return
        # What the note has already is not added again: an earlier build may have been cut off.
        additions = united(*filter(None, versions), *map(self._words_of, fresh.former))
        whole = fresh.data(additions)
        self._leave(fresh, whole, state if whole == disk else None, mixed=bool(additions))
        for path in fresh.doubles:
            self._drop(path)
            self.united[path] = fresh.path
        for path in fresh.former:
            self._remove(path)

    def _is_as_made(self, path: str, data: bytes) -> bool:
        return self._files.digest(path) == digest_of(data)

    def _read(self, path: str) -> bytes | None:
        """What a note has, None if there is none; an editor empties it before it writes it, for far less than 0.1 s."""
        if (data := self._tree.read(path)) == b"":
            sleep(0.1)
            data = self._tree.read(path)
        return data

    def _words_of(self, path: str) -> UserText:
        """What stands in the blocks of a note that is no longer made, and its path as an alias; nothing if nobody wrote in it."""
        data = self._read(path)
        if data is None or not self._was_edited(path, data):
            return NOTHING
        found = [UserText(lists={"aliases": (path.removesuffix(".md"),)})]
        for side in sides(as_text(data)):
            try:
                found.append(UserText(texts=user_text.texts(user_text.parse(side).body)))
            except ValueError as error:
                self.problems.append(f"{path}: no longer made, and moved to {ATTIC}/ as it is: {error}")
        return united(*found)

    def _user_text(self, fresh: GeneratedFile, path: str, data: bytes) -> UserText | None:
        """A person's text in a file on disk (a copy of an edited file is set aside); None if it must not be replaced.

        Of a file with git's conflict marks both sides count.
        """
        texts = sides(as_text(data))
        try:
            versions = [user_text.parse(text) for text in texts]
        except ValueError as error:
            self._refuse(fresh, f"{error}; {_LEFT}")
            return None
        if self._files.digest(path) is None and not all(version.is_ours for version in versions):
            self._refuse(fresh, "this program did not write the file that is there; rename or move it and build again")
            return None
        additions = united(*(user_text.kept(version, fresh.properties) for version in versions))
        if len(versions) > 1:
            known = {letters for version in versions for letters in each(version.lines)}
            edited = [not known.issuperset(each(letters_of(version.generated))) for version in versions]
        else:
            untouched = self._is_as_made(path, data) or versions[0].is_untouched
            edited = [not untouched and fresh.data(additions) != data]
        for text in compress(texts, edited):
            self._set_aside(fresh.path, as_bytes(text))
        return additions

    def _leave(self, fresh: GeneratedFile, data: bytes, state: Look | None, *, mixed: bool = False) -> None:
        """Write a file unless it is on disk already, in the given ``state``; ``mixed``: it contains a person's text."""
        if state is None:
            self.written.append(fresh.path)
            state = Look(0, 0) if self._dry else self._tree.write(fresh.path, data, durable=mixed)
        self._files.put(fresh.path, fresh.owner, "" if mixed else digest_of(data), state)
        self.left[fresh.path] = state

    def _put_plain(self, fresh: GeneratedFile) -> None:
        """What a person changed stays, such as a table with Obsidian's own tools; but nobody edits a picture."""
        data, disk = fresh.data(), self._tree.read(fresh.path)
        is_ours = disk is None or disk == data or _is_signed(disk) or self._is_as_made(fresh.path, disk)
        state = self._tree.state(fresh.path)
        if is_ours or fresh.path.endswith(".svg"):
            self._leave(fresh, data, state if disk == data else None)
        else:
            self.left[fresh.path] = state

    def _set_aside(self, path: str, data: bytes) -> None:
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        copy = f"{ATTIC}/{stem}.{digest_of(data)[:8]}{dot}{suffix}"
        if not self._dry and self._tree.read(copy) != data:
            self._tree.write(copy, data, durable=True)
        self.set_aside.append(copy)

    def _remove(self, path: str) -> None:
        try:
            data = self._read(path)
            if data is not None:
                if self._was_edited(path, data):
                    self._set_aside(path, data)
                self.removed.append(path)
            self._drop(path, exists=data is not None)
        except Obstacle as obstacle:
            self.problems.append(f"{path}: no longer generated, but it was not removed: {obstacle}")

    def _drop(self, path: str, *, exists: bool = True) -> None:
        """Remove a file, nothing in which is lost by that."""
        if exists and not self._dry:
            self._tree.remove(path)
        self._files.drop([path])
        self.left[path] = None

    def _was_edited(self, path: str, data: bytes) -> bool:
        """Return whether somebody edited a file since it was generated; a note that cannot be parsed counts as edited."""
        if self._is_as_made(path, data):
            return False
        try:
            disk = user_text.parse(as_text(data))
        except ValueError:
            return True
        return bool(user_text.kept(disk, {})) or not disk.is_untouched
