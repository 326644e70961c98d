"""The site brought up to date with the vault: what changed is read, what shows it is made again, only what differs is written."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline.errors import ResearchError
from pipeline.site import files, tables
from pipeline.site.catalogue import Catalogue
from pipeline.site.crew import Crew
from pipeline.site.extras import Extras
from pipeline.site.files import Staged
from pipeline.site.layout import Layout
from pipeline.site.lists import navigation
from pipeline.site.notes import KINDS, OTHER
from pipeline.site.pages import Site
from pipeline.site.paths import page_of
from pipeline.site.survey import Survey, Todo
from pipeline.site.words import FOLDER as INDEX
from pipeline.site.workshop import Job, Task, key_of

CACHE = "site.sqlite"
_MANY = 300  # notes that changed: above that the whole search index is made anew
_LOCK = "site.lock"
_TEMPLATES = (*KINDS, OTHER, "list", "tags", "search", "404")


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What a build did, as site paths, sorted. ``pages`` counts the notes' pages; ``problems`` say what was left out, and why."""

    pages: int = 0
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a build: the vault, the site's templates, the site, and where caches are kept."""

    vault: Path
    templates: Path
    site: Path
    state: Path


def build_site(folders: Folders, *, title: str = "Research", url: str = "", everything: bool = False) -> SiteReport:
    """Make the site show the vault; return what was written and removed.

    ``url`` is the address where the site will stand, "" if that is not known. ``everything``: as if nothing had been built
    before; the bytes are the same. A file that no build made is neither changed nor removed, unless a page has its name.

    Raises:
        TemplateInvalid: a template is missing or faulty; the site is as it was.
        ResearchError: the disk refuses.
    """
    address = url if not url or url.endswith("/") else f"{url}/"
    cache = folders.state / CACHE
    with _alone(folders.state):
        try:
            return _built(folders, title, address, everything)
        except sqlite3.OperationalError as error:
            hint = "free some space or allow writing there; the file may also be deleted: then all pages are made anew"
            raise ResearchError(f"{cache} cannot be written: {error}", hint=hint) from error
        except sqlite3.DatabaseError:
            cache.unlink(missing_ok=True)  # it is damaged, and no more than a cache
            return _built(folders, title, address, everything)


def _built(folders: Folders, title: str, url: str, everything: bool) -> SiteReport:
    catalogue = Catalogue(folders.state / CACHE, writes=True)
    try:
        return _Build(folders, catalogue, everything).run(title, url)
    finally:
        catalogue.close()


@contextmanager
def _alone(state: Path) -> Iterator[None]:
    """One build at a time: another waits."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        with (state / _LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise files.refused(error) from error


class _Build:
    """One build. ``keys`` are those of the pages that stand as they were made."""

    def __init__(self, folders: Folders, catalogue: Catalogue, everything: bool) -> None:
        self._folders = folders
        self._catalogue = catalogue
        self._layout = Layout(folders.templates)
        self._digests = {name: self._layout.digest(name) for name in _TEMPLATES}
        self._rows = catalogue.pages()
        self._standing = files.site_files(folders.site)
        self._found = files.vault_files(folders.vault)
        intact = {path for path, (key, *stat) in self._rows.items() if key and self._standing.get(path) == tuple(stat)}
        self._keys = {} if everything else {path: self._rows[path][0] for path in intact}
        self._survey = Survey(catalogue, self._found, everything)

    def run(self, title: str, url: str) -> SiteReport:
        """Bring everything up to date."""
        folders = self._folders
        job = Job(folders.vault, folders.templates, folders.site, folders.state / CACHE, tuple(self._found))
        looked_at = len(self._survey.notes) if self._unmade() or self._templates_changed() else len(self._survey.to_read)
        crew = Crew(job, looked_at)
        try:
            with self._catalogue.transaction():
                todo = self._survey.taken(crew.read)
                site = Site(title, url, navigation(self._catalogue.kinds()))
                todo = self._widened(todo, site)
                self._order_tables(todo)
                self._catalogue.doubt(map(page_of, todo.pages))
                if todo.lists:
                    self._catalogue.remember("lists", "")
            return self._made(crew, site, todo)
        finally:
            crew.close()

    def _order_tables(self, todo: Todo) -> None:
        """Keep the order of long tables, for those who make the pages."""
        watching = self._catalogue.watching()
        if todo.everything:
            self._catalogue.forget_tables()
        else:
            tables.follow(self._catalogue, todo.changes)
        tables.keep(self._catalogue, watching & todo.pages, partial(files.read, self._folders.vault))

    def _unmade(self) -> set[str]:
        """The notes whose page does not stand as it was made."""
        return {path for path in self._survey.notes if page_of(path) not in self._keys}

    def _templates_changed(self) -> set[str]:
        return {name for name, digest in self._digests.items() if self._catalogue.made(f"template {name}") != digest}

    def _widened(self, todo: Todo, site: Site) -> Todo:
        """What there is to do also because of templates, of what all pages share, and of pages that were lost."""
        changed = self._templates_changed()
        everywhere = self._catalogue.made("site") != key_of(site)
        pages = self._survey.notes if everywhere else todo.pages | self._unmade()
        if not everywhere and changed & {*KINDS, OTHER}:
            pages = pages | {face.path for kind in changed for face in self._catalogue.of_kind(kind)}
        lists = everywhere or "list" in changed or self._catalogue.made("lists") != "made"
        return Todo(frozenset(pages), todo.changes, todo.everything, todo.everything or lists)

    def _made(self, crew: Crew, site: Site, todo: Todo) -> SiteReport:
        staged = Staged(self._folders.site)
        try:
            crew.begin(site, [Task(path, self._keys.get(page_of(path), "")) for path in sorted(todo.pages)])
            extras, expected = self._extras(site, todo, staged)
            for made in crew.made():
                self._keys[made.page] = made.key
                staged.paths += [made.page] if made.staged else []
        except BaseException:
            files.discard(self._folders.site, [*staged.paths, *map(page_of, todo.pages)])
            raise
        return self._placed(staged, site, extras, expected)

    def _extras(self, site: Site, todo: Todo, staged: Staged) -> tuple[Extras, set[str]]:
        """Make what no note makes; return also the site paths of all that the site should hold."""
        extras = Extras(site, self._catalogue, self._layout, staged, self._keys)
        expected = {page_of(path) for path in self._survey.notes} | set(
            extras.copies(self._folders.templates, self._folders.vault, self._found)
        )
        leaves = set(extras.list_paths())
        extras.some_lists(todo.changes, every=todo.every_list)
        expected |= leaves | extras.others() | self._index(extras, todo)
        return extras, expected

    def _index(self, extras: Extras, todo: Todo) -> set[str]:
        """Bring the search index up to date; return the site paths of its files."""
        files_now = {path for path in self._rows if path.startswith(f"{INDEX}/")}
        if not files_now or not files_now <= self._keys.keys() or todo.everything or len(todo.changes) > _MANY:
            return set(extras.whole_index(self._catalogue.terms()))
        needed = extras.changed_index(todo.changes, len(self._survey.notes))
        return {path for path in files_now | needed.keys() if needed.get(path, True)}

    def _placed(self, staged: Staged, site: Site, extras: Extras, expected: set[str]) -> SiteReport:
        """Put all in place, take away what is no longer made, and remember it."""
        stats = files.put_in_place(self._folders.site, staged.paths)
        stale = sorted(self._rows.keys() - expected)
        for path in stale:
            files.remove(self._folders.site, path)
        rows = {path: (key, *(stats.get(path) or self._standing[path])) for path, key in self._keys.items() if path in expected}
        with self._catalogue.transaction():
            self._catalogue.put_pages((path, *row) for path, row in rows.items() if self._rows.get(path) != row)
            self._catalogue.drop_pages(stale)
            for name, digest in self._digests.items():
                self._catalogue.remember(f"template {name}", digest)
            self._catalogue.remember("site", key_of(site))
            self._catalogue.remember("lists", "made")
        removed = tuple(path for path in stale if path in self._standing)
        return SiteReport(len(self._survey.notes), tuple(sorted(stats)), removed, tuple(extras.problems))
