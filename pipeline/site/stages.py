"""One build of the site as its stages: what is public, notes read, pages, lists and search, files that differ put in place.

Every page has a key: a digest of all that it is made from, its note and what it shows of others included. A page is rendered only
if its key differs from the one kept, and written only if its bytes differ. A run with nothing to do does not import this module.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from os.path import isdir, isfile
from pathlib import Path

from pipeline.errors import SystemRefused
from pipeline.site import lists, paths, public, search
from pipeline.site.note_to_html import Record, read_into, unpacked
from pipeline.site.page_values import Composer, Layout, Site
from pipeline.site.paths import HOME, Folders, SiteReport, page_of, read
from pipeline.site.vault_reading import Notes, body_of, read_note
from pipeline.system.files import write_new
from pipeline.system.manifest import EMPTY, NO_FOLDER, TOO_DEEP, Drift, Folder, Look, all_folders, folder_of, is_seen, program_id
from pipeline.text.cleaning import digest_of, one_line
from pipeline.text.translations import in_all_languages
from pipeline.vault.build_cache import Kept
from pipeline.vault.note import View

ASSETS, SEARCH = "assets", "search"
_READ = frozenset({".md", ".base", *paths.IMAGES})
_PRIVATE, _PROGRAM = "private", "site program"  # kept entries
_TITLE = "Research"
_KEPT_BYTES = 60_000_000  # of HTML, from reading a note to its page
_MANY = 300  # changed notes: with more, the whole search index is made again
# What makes an SVG image run something; such an image is not copied.
_ACTIVE = re.compile(
    rb"<\s*(?:script|foreignobject|iframe|object|embed|!entity|[^>\s]*:script)|\son\w+\s*=|javascript:|data:text", re.IGNORECASE
)


@dataclass(slots=True)
class Staged:
    """Files below ``site`` that are written under temporary names and not yet renamed.

    Only when all are written are they put in the place of the old ones, so that a faulty template leaves the site as it was. No
    symbolic link is followed.
    """

    site: Path
    paths: list[str] = field(default_factory=list)
    _folders: set[str] = field(default_factory=set)

    def write_if_new(self, path: str, data: bytes) -> None:
        """Write a file under its temporary name, unless the present one is the same.

        Raises:
            SystemRefused: the disk cannot be written, or a link is in the place of a folder.
        """
        if read(self.site, path) == data:
            return
        with _refusing():  # what an interrupted build left is replaced
            self._make(path.rpartition("/")[0])
            write_new(f"{self.site}/{_temporary(path)}", data, leftover=True)
        self.paths.append(path)

    def _make(self, folder: str) -> None:
        if folder in self._folders:
            return
        if folder:
            self._make(folder.rpartition("/")[0])
        place = self.site / folder
        place.mkdir(parents=not folder, exist_ok=True)
        if folder and place.is_symlink():
            raise NotADirectoryError(20, "is a link to elsewhere", str(place))
        self._folders.add(folder)

    def put_in_place(self) -> dict[str, Look]:
        """Rename the files to their final names; return size and time of each.

        Raises:
            SystemRefused: the disk cannot be written.
        """
        placed = {}
        with _refusing():
            for path in self.paths:
                place = f"{self.site}/{path}"
                os.replace(f"{self.site}/{_temporary(path)}", place)  # noqa: PTH105 - `Path` takes longer than the disk
                found = os.lstat(place)
                placed[path] = Look(found.st_size, found.st_mtime_ns)
        return placed

    def discard(self, paths: Iterable[str]) -> None:
        """Remove what is left of these files under temporary names."""
        for path in paths:
            (self.site / _temporary(path)).unlink(missing_ok=True)

    def remove(self, path: str) -> bool:
        """Remove a file of the site and the folders that it leaves empty; return whether there was one.

        A file behind a symbolic link is not removed.
        """
        parents = [self.site / parent for parent in list(Path(path).parents)[:-1]]
        if any(parent.is_symlink() for parent in parents):
            return False
        try:
            (self.site / path).unlink()
            for parent in parents:
                parent.rmdir()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # a folder that is not empty
            pass
        return True


def _temporary(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.tmp"


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn an error of the disk into a ``SystemRefused`` with a hint."""
    try:
        yield
    except OSError as error:
        raise SystemRefused(
            f"the site cannot be written: {error.filename or 'the site'}: {error.strerror or error}",
            hint="free some space or allow writing there, then run `research build`; nothing is lost",
        ) from error


class Build:
    """One build. ``notes`` and ``pages`` compare vault and site with what the last build left; nothing was written since."""

    def __init__(
        self, folders: Folders, kept: Kept, notes: Drift, pages: Drift, url: str, everything: bool, hidden: Collection[str]
    ) -> None:
        self._folders, self._kept, program = folders, kept, program_id("site")
        self._everything = everything or kept.recall(_PROGRAM) != program  # an upgrade may show the same note in another way
        kept.keep(_PROGRAM, program)
        self._drift, self._url = pages, url
        self._found: Mapping[str, Folder] = notes.found
        self._layout = Layout(folders.templates)
        self._staged = Staged(folders.site)
        self._room = _KEPT_BYTES
        self._frames: dict[str, str] = {}  # by template: the digest of all that its pages have alike
        self._keys: dict[str, str] = {}  # of all files of the site that this build has
        self._problems: list[str] = []
        self._notices: list[str] = []
        known = dict(kept.rows("SELECT path, key FROM pages"))
        files = {f"{folder}/{name}".lstrip("/") for folder, found in pages.found.items() for name in found.files}
        # Without the cache, the site's own map says which pages are ours: what a note said must not stay once it is private.
        mapped = set() if known else lists.mapped(read(folders.site, lists.MAP) or b"", url)
        ours = {path for path in files if path in mapped or path.startswith(f"{SEARCH}/")} if mapped else set()
        self._known_paths = known.keys() | ours
        # Of a new page that a killed build left, no build knows; and its note may be elsewhere or private since.
        new = {path for path in files if "/." in f"/{path}" and path.endswith(".html.tmp")}
        self._left_over = new | (files & set(map(_temporary, self._known_paths)))
        changed = {} if self._everything else pages.files
        self._known = {} if self._everything else {path: key for path, key in known.items() if key and path not in changed}
        self._public = self._decided(hidden)

    def run(self) -> SiteReport:
        """Bring the site up to date; return what was done."""
        for path in self._left_over:
            (self._folders.site / path).unlink(missing_ok=True)
        try:
            notes = self._read_notes()
            site = Site(_TITLE, self._url, lists.navigation(notes.of_kind))
            composer = Composer(notes, self._places)
            for path, note in notes.by_path.items():
                make = lambda note=note: self._page(composer, note)  # noqa: E731
                self._put_page(note.kind, site, page_of(path), self._shown(notes, note), make)
            self._copy(notes)
            self._render_lists(notes, site)
            self._write_search(notes)
            return self._finish(len(notes.by_path))
        except BaseException:
            self._staged.discard(self._staged.paths)
            raise

    def _decided(self, hidden: Collection[str]) -> public.PublicVault:
        """Find which files there are, and which differ from what was read; return what of them is public.

        If that changed, every note is read again. Only what is public was read: any other is looked at each time.
        """
        self._looks = dict(self._wanted())
        rows = self._kept.rows("SELECT path, size, mtime, value FROM records")
        stored = {path: (Look(size, mtime), value) for path, size, mtime, value in rows}
        self._records, self._stored = {} if self._everything else stored, stored.keys()
        fresh = [path for path, look in self._looks.items() if path not in self._records or self._records[path][0] != look]
        notes = (path for path in sorted(fresh) if path.endswith(".md"))
        said = ((path, public.marks_of(read(self._folders.vault, path) or b"")) for path in notes)
        marks = {path: value for path, value in said if value is not None}
        all_notes = sorted(path for path in self._looks if path.endswith(".md"))
        decided = public.public_vault(self._folders.vault, all_notes, marks.keys(), hidden)
        self._notices += public.unknown(marks)
        private = json.dumps([sorted(decided.private), sorted(decided.unsaid)])
        if private != self._kept.recall(_PRIVATE):
            self._records = {}
        self._kept.keep(_PRIVATE, private)
        return decided

    def _wanted(self) -> Iterator[tuple[str, Look]]:
        """The files that the site shows or copies, with size and time; a folder that cannot be read is a problem."""
        for folder, found in self._found.items():
            if found is NO_FOLDER and isdir(self._folders.vault / folder):  # noqa: PTH112 - a path's own method may raise
                self._problems.append(f"{folder}: the folder cannot be read")
            elif found is TOO_DEEP:
                self._problems.append(
                    f"{one_line(folder, 60)}: a folder in it has a path too long for this system; it is not on the site"
                )
            for name, look in found.files.items():
                if paths.suffix_of(name) in _READ and is_seen(name):
                    yield f"{folder}/{name}" if folder else name, look

    def _read_notes(self) -> Notes:
        """Read the files that changed, and those with a link that may lead elsewhere now; return all."""
        found = sorted(self._looks.keys() - self._public.private)
        self._places = paths.Places(found)
        known = {path: unpacked(value) for path, (_, value) in self._records.items() if path in self._looks}
        gone = self._records.keys() - set(found)
        names = {form for key in map(paths.key_of, gone | (set(found) - known.keys())) for form in (key, paths.name_of(key))}
        records: dict[str, Record] = {}
        rows = []
        self._before: dict[str, search.Entry | None] = {}  # what was searched of notes that changed
        unread = set()
        for path in found:
            record = known.get(path)
            is_same = record is not None and self._records[path][0] == self._looks[path]
            if record and is_same and names.isdisjoint(record.names) and gone.isdisjoint(record.links):
                records[path] = record
            elif (made := self._read(path)) is None:
                unread.add(path)
                records |= {path: record} if record else {}  # its page stays as it is
                self._problems += [f"{path}: the file cannot be read"] if isfile(self._folders.vault / path) else []  # noqa: PTH113
            else:
                records[path], words = made
                self._before[path] = self._searched(record, path)
                rows.append((path, *self._looks[path], records[path].packed(), words))
        self._before |= {path: self._searched(unpacked(self._records[path][1]), path) for path in gone}
        self._kept.read.drop(self._stored - set(found))
        self._words = {row[0]: row[-1] for row in rows}
        self._kept.put("records", rows)
        marks = dict.fromkeys(self._kept.read.marks(), EMPTY) | {folder: found.mark for folder, found in self._found.items()}
        self._kept.read.put_marks(marks | dict.fromkeys(map(folder_of, unread), ""))
        return Notes(records)

    def _read(self, path: str) -> tuple[Record, str] | None:
        """A file's record, and what is searched of it; None if it is gone or cannot be read."""
        suffix = paths.suffix_of(path)
        if suffix in paths.IMAGES:
            return Record(path, "image", path, ""), ""
        data = self._public.read(path)
        if data is None:
            return None
        if suffix != ".md":
            return Record(path, suffix[1:], path, digest_of(data)), ""
        record, text = read_note(path, data, self._places)
        self._room -= len(record.html)
        record.html = record.html if self._room > 0 else ""  # then it is read again for its page
        return record, search.content_of(record.title, text)

    def _searched(self, record: Record | None, path: str) -> search.Entry | None:
        """What was searched of a note before it was read now."""
        words = self._words_read(path) if record and path.endswith(".md") else ""
        return (record, words) if record and words else None

    def _words_read(self, path: str) -> str:
        """What is searched of a note as it was last read, "" if none was."""
        return next((words for (words,) in self._kept.rows("SELECT words FROM records WHERE path = ?", path)), "")

    def _put(self, path: str, key: str, make: Callable[[], bytes]) -> None:
        """Write a file unless the present one has this key."""
        self._keys[path] = key
        if self._known.get(path) != key:
            self._staged.write_if_new(path, make())

    def _put_data(self, path: str, data: bytes) -> None:
        self._put(path, digest_of(data), lambda: data)

    def _put_page(self, template: str, site: Site, path: str, shown: object, make: Callable[[], View]) -> None:
        if template not in self._frames:
            self._frames[template] = _key(self._layout.digest(template), site)
        key = _key(self._frames[template], shown)
        self._put(path, key, lambda: self._layout.render(template, site, make()))

    def _shown(self, notes: Notes, note: Record) -> object:
        """What a note's page is made from: its own record, what it shows of those that lead to it, and the records it quotes."""
        linkers = [notes.marks[one.path] for one in notes.linkers(note.path)]
        quoted = [notes.files[path].digest for path in note.quoted if path in notes.files]
        return note.digest, note.links, note.names, notes.marks[note.path], linkers, quoted

    def _page(self, composer: Composer, note: Record) -> View:
        whole = note if note.html else read_note(note.path, self._public.read(note.path) or b"", self._places)[0]
        return composer.page(whole)

    def _render_lists(self, notes: Notes, site: Site) -> None:
        """Write the pages of lists, tags, search and missing addresses, the feed and the site map."""
        for one in lists.lists_of(notes):
            for month in one.pages:
                make = lambda one=one, month=month: one.page(month)  # noqa: E731
                self._put_page("list", site, paths.list_page(one.name, month), one.shown(month, notes.marks), make)
        for page in (lists.tags_page(notes), lists.SEARCH_PAGE, lists.missing_page(site)):
            self._put_page(page["kind"], site, page["path"], page, lambda page=page: page)  # type: ignore[misc]
        if HOME not in notes.by_path:
            self._put_data("index.html", lists.front_page(notes))
        nights = notes.of_kind["night"][: -lists.NEWEST - 1 : -1]
        self._put_data(lists.FEED, lists.feed(site, [(night, self._night_html(night)) for night in nights]))
        pages = [(path, "") for path in self._keys if path.startswith("browse/") and path != lists.TAGS]
        pages += [(page_of(note.path), note.date) for note in notes.by_path.values()]
        self._put_data(lists.MAP, lists.site_map(site, pages))

    def _night_html(self, night: Record) -> str:
        """What a night found and what failed, with links as in the feed; the tables of its runs are left to its page."""
        text = body_of(self._public.read(night.path) or b"")
        for runs in in_all_languages("Runs"):
            text = text.partition(f"\n## {runs}\n")[0]
        read_into(found := Record(night.path, night.kind, "", ""), text, self._places, self._url)
        return found.html.strip()

    def _copy(self, notes: Notes) -> None:
        """Copy the templates' assets, and the images of the vault that are harmless."""
        assets = self._folders.templates / ASSETS
        for folder, found in all_folders(assets):
            for path in (f"{folder}/{name}".lstrip("/") for name in found.files if is_seen(name)):
                self._put_data(f"{ASSETS}/{path}", read(assets, path) or b"")
        for path in filter(paths.is_image, notes.files):
            place, key = paths.file_of(path), repr(tuple(self._looks[path]))
            if self._known.get(place) == key:
                self._keys[place] = key
                continue
            data = read(self._folders.vault, path)
            if data is None:
                self._problems.append(f"{path}: not copied, because it cannot be read")
            elif paths.suffix_of(path) == ".svg" and _ACTIVE.search(data):
                self._notices.append(f"{path} is not copied: it may run scripts")
            else:
                self._put(place, key, lambda data=data: data)  # type: ignore[misc]

    def _write_search(self, notes: Notes) -> None:
        """Write the files of the search index that change; all, if many notes did, or if a file is not as it was built."""
        meta = f"{SEARCH}/meta.js"
        self._put_data(meta, search.script("meta", {"notes": len(notes.by_path), "stop": sorted(search.STOP)}))
        known = {path for path in self._known_paths if path.startswith(f"{SEARCH}/") and path != meta}
        changes = [(before, after) for path, before in self._before.items() if before != (after := self._entry(notes, path))]
        written = None
        if known and known <= self._known.keys() and self._records and len(changes) <= _MANY:
            try:
                written = list(search.changed(changes, lambda file: self._held(file, known)))
                self._keys |= {path: self._known[path] for path in known}
            except ValueError:
                pass
        if written is None:
            entries = (entry for path in notes.by_path if (entry := self._entry(notes, path)))
            written = list(search.changed(((None, entry) for entry in entries), lambda _file: {}))
        for file, held in written:
            self._keys.pop(f"{SEARCH}/{file}.js", None)
            if held:
                self._put_data(f"{SEARCH}/{file}.js", search.script(file, held))

    def _entry(self, notes: Notes, path: str) -> search.Entry | None:
        """What is searched of a note now."""
        if path not in notes.by_path:
            return None
        return notes.by_path[path], self._words[path] if path in self._words else self._words_read(path)

    def _held(self, file: str, known: set[str]) -> search.Held:
        path = f"{SEARCH}/{file}.js"
        return search.loaded(read(self._folders.site, path) or b"") if path in known else {}

    def _finish(self, count: int) -> SiteReport:
        """Put all files in place, remove stale ones, and keep what the site is made from.

        That these files may be wrong is kept before; if this process ends meanwhile, the next build makes them again.
        """
        self._kept.put("pages", ((path, -1, -1, "") for path in self._staged.paths))
        self._kept.keep(paths.SETTLED, "")
        self._kept.commit()
        written = self._staged.put_in_place()
        stale = sorted(self._known_paths - self._keys.keys())
        removed = tuple(path for path in stale if self._staged.remove(path))
        self._kept.pages.drop(stale)
        fresh = [path for path, key in self._keys.items() if path in written or self._known.get(path) != key]
        looks = {path: written.get(path) or self._drift.look(path) for path in fresh}
        self._kept.put("pages", ((path, *look, self._keys[path]) for path, look in looks.items() if look))
        self._drift.record(written | dict.fromkeys(stale), self._keys)
        return SiteReport(count, tuple(sorted(written)), removed, tuple(self._problems), tuple(self._notices))


def _key(*parts: object) -> str:
    """The digest of everything that a page shows."""
    return digest_of(repr(parts).encode("utf-8", "replace"))
