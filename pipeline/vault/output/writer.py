"""The only writer of generated files: what differs is written, what a person wrote is never lost.

The catalogue remembers outside the vault what was generated. A file that is neither in it nor recognisably ours is not touched; a
generated part that someone edited is set aside in ``attic/`` before it is replaced; a file that is no longer made goes away, or,
if anyone wrote in it, to ``attic/``. A file of which size and time are as they were left is taken to be as it was left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pipeline.errors import ResearchError
from pipeline.system.folder_fingerprint import Look, Step
from pipeline.system.safe_tree import Obstacle, Tree
from pipeline.text.normalise import digest_of
from pipeline.vault.cache.built_files import BuiltFile, Files
from pipeline.vault.output import merge_user_text, property_types
from pipeline.vault.output.note import Rendered
from pipeline.vault.rendering.generated_file import GeneratedFile

ATTIC = "attic"
_LEFT = "left as it is, so that no words are lost; put that right and build again"


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did, as vault paths with suffix, sorted; ``problems`` each name what was not written, why, and what to do.

    ``unchanged`` counts the files that are as they were. ``steps`` tell, by path ("" for the vault itself), of the folders that
    were looked at (such as hold notes or drawings) how they stood, how they stand, and which files were touched. ``marks`` are
    those of the log's streams.
    """

    written: tuple[str, ...] = ()
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    steps: Mapping[str, Step] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Done:
    """What was done so far. ``refused`` are the files that could not be put in place.

    ``left`` tells how each file looks that was put in place, or was there already; None: it was removed.
    """

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    refused: list[GeneratedFile] = field(default_factory=list)
    left: dict[str, Look | None] = field(default_factory=dict)


class Output:
    """Puts files into a vault. ``trusting``: a file that looks as it was left is not read; ``dry``: nothing is written."""

    def __init__(self, tree: Tree, files: Files, *, trusting: bool, dry: bool) -> None:
        self._tree, self._files = tree, files
        self._trusting, self._dry = trusting, dry
        self.done = Done()

    def place(self, files: Iterable[GeneratedFile], stale: Iterable[str]) -> None:
        """Put ``files`` in place and take the ``stale`` ones away.

        Raises:
            ResearchError: the disk refuses; each file is as it was or as it should be.
        """
        try:
            for fresh in files:
                self._place(fresh)
            for path in stale:
                self._remove(path)
            self._complete_types()
        except OSError as error:
            where = error.filename or "the vault"
            raise ResearchError(
                f"the vault cannot be written: {where}: {error.strerror or error}",
                hint="free some space or allow writing there, then run `research build`; nothing is lost",
            ) from error

    def _place(self, fresh: GeneratedFile) -> None:
        try:
            if fresh.properties is None:
                self._put_plain(fresh)
            else:
                self._put_note(fresh)
        except Obstacle as obstacle:
            self._refuse(fresh, f"{obstacle}; move it away and run `research build` again")

    def _refuse(self, fresh: GeneratedFile, why: str) -> None:
        self.done.problems.append(f"{fresh.path}: {why}")
        self.done.refused.append(fresh)

    def _put_note(self, fresh: GeneratedFile) -> None:
        made, state = self._files.made(fresh.path), self._tree.state(fresh.path)
        if state is None or self._as_left(made, state):
            unchanged = state is not None and made is not None and made.digest == digest_of(fresh.data)
            self._leave(fresh, state if unchanged else None, made)
            return
        disk = self._tree.read(fresh.path)
        if disk == fresh.data:
            self._leave(fresh, state, made)
        elif disk is not None and (additions := self._reconciled(fresh, made, disk)) is not None:
            whole = _with(fresh, additions)
            self._leave(whole, state if whole.data == disk else None, made, mixed=bool(additions))

    def _as_left(self, made: BuiltFile | None, state: Look) -> bool:
        """Tell whether a file holds what was generated and nothing else, by its looks."""
        return self._trusting and made is not None and made.digest != "" and state == Look(made.size, made.mtime)

    def _reconciled(self, fresh: GeneratedFile, made: BuiltFile | None, data: bytes) -> merge_user_text.UserText | None:
        """What a person added to the file that stands there, after an edited one was set aside; None if it must stay."""
        try:
            disk = merge_user_text.parse(data.decode("utf-8", "surrogateescape"))
        except ValueError as error:
            self._refuse(fresh, f"{error}; {_LEFT}")
            return None
        if made is None and not disk.is_ours:
            self._refuse(fresh, "a file that is not ours stands there; rename or move it and build again")
            return None
        additions = merge_user_text.kept(disk, fresh.note, made.aliases if made else ())
        edited = made is None or made.skeleton != disk.skeleton
        if edited and _composed(fresh.note, additions) != data:
            self._set_aside(fresh.path, data)
        return additions

    def _leave(self, fresh: GeneratedFile, state: Look | None, made: BuiltFile | None, *, mixed: bool = False) -> None:
        """Write a file, unless it stands there already, in the given ``state``; ``made`` is what was known of it.

        ``mixed``: with a person's words in it.
        """
        if state is None:
            self.done.written.append(fresh.path)
            state = Look(0, 0) if self._dry else self._tree.write(fresh.path, fresh.data, durable=mixed)
        else:
            self.done.unchanged.append(fresh.path)
        digest = "" if mixed else digest_of(fresh.data)
        left = BuiltFile(fresh.path, fresh.owner, fresh.kind, fresh.skeleton, fresh.aliases, digest, *state)
        self.done.left[fresh.path] = state
        if left != made:
            self._files.put_made(left)

    def _put_plain(self, fresh: GeneratedFile) -> None:
        made, disk = self._files.made(fresh.path), self._tree.read(fresh.path)
        edited = disk is not None and disk != fresh.data and (made is None or made.digest != digest_of(disk))
        if edited and fresh.yields:
            self.done.unchanged.append(fresh.path)
            return
        if edited and disk is not None:
            self._set_aside(fresh.path, disk)
        self._leave(fresh, self._tree.state(fresh.path) if disk == fresh.data else None, made)

    def _complete_types(self) -> None:
        lacked, problem = property_types.complete(self._tree, dry=self._dry)
        self.done.written += [property_types.PATH] if lacked else []
        self.done.problems += [problem] if problem else []

    def _set_aside(self, path: str, data: bytes) -> None:
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        copy = f"{ATTIC}/{stem}.{digest_of(data)[:8]}{dot}{suffix}"
        if not self._dry and self._tree.read(copy) != data:
            self._tree.write(copy, data, durable=True)
        self.done.set_aside.append(copy)

    def _remove(self, path: str) -> None:
        try:
            self._take_away(path)
        except Obstacle as obstacle:
            self.done.problems.append(f"{path}: no longer made, but left where it is: {obstacle}")

    def _take_away(self, path: str) -> None:
        data = self._tree.read(path)
        if data is not None:
            if self._was_touched(path, data):
                self._set_aside(path, data)
            if not self._dry:
                self._tree.remove(path)
            self.done.removed.append(path)
        self._files.drop_made(path)
        self.done.left[path] = None

    def _was_touched(self, path: str, data: bytes) -> bool:
        """Tell whether anyone wrote in a file since it was generated; what cannot be parsed counts as touched."""
        made = self._files.made(path)
        if made is not None and made.digest == digest_of(data):
            return False
        if not path.endswith(".md"):
            return True
        try:
            disk = merge_user_text.parse(data.decode("utf-8", "surrogateescape"))
        except ValueError:
            return True
        added = merge_user_text.kept(disk, Rendered(path, {}, ""), made.aliases if made else ())
        return bool(added) or made is None or made.skeleton != disk.skeleton


def _with(fresh: GeneratedFile, additions: merge_user_text.UserText) -> GeneratedFile:
    """The note with a person's additions in it."""
    return replace(fresh, data=_composed(fresh.note, additions), skeleton=merge_user_text.skeleton_of(fresh.note, additions))


def _composed(note: Rendered, additions: merge_user_text.UserText) -> bytes:
    return merge_user_text.compose(note, additions).encode("utf-8", "surrogateescape")
