"""The making of a site's pages. Nothing here is imported by a run that has none to make."""

from __future__ import annotations

from functools import partial

from pipeline.site import files
from pipeline.site.cache.built_files import BuiltFiles
from pipeline.site.cache.catalogue import SETTLED, Catalogue, CataloguedPlaces
from pipeline.site.cache.note_record import KINDS, OTHER
from pipeline.site.change_scan import ScanResult, Survey
from pipeline.site.files import Staged
from pipeline.site.markdown import table_order_update
from pipeline.site.pages.auxiliary_pages import Extras, shortened
from pipeline.site.pages.list_pages import navigation
from pipeline.site.pages.page_values import Site
from pipeline.site.pages.sitemap import Maps
from pipeline.site.paths import has_product, is_image, is_shortened, page_of, product_of
from pipeline.site.rendering.page_templates import Layout
from pipeline.site.rendering.render_pool import Crew
from pipeline.site.rendering.render_task import Job, Task, key_of
from pipeline.site.search_index.segments import Pending
from pipeline.site.search_index.update_index import Index
from pipeline.system.folder_fingerprint import Look

Done = tuple[int, tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_TEMPLATES = (*KINDS, OTHER, "list", "tags", "search", "404")


class Build:
    """One build: what changed is read, what shows it is made, and only then what differs is put in place.

    ``settled`` is what is remembered under ``SETTLED`` once all is done.
    """

    def __init__(self, job: Job, catalogue: Catalogue, standing: BuiltFiles, survey: Survey, settled: str) -> None:
        self._job, self._catalogue, self._standing, self._survey = job, catalogue, standing, survey
        self._settled = settled
        self._layout = Layout(job.templates)
        self._digests = {name: self._layout.digest(name) for name in _TEMPLATES}
        self._unmade = {page.path: page.source for page in self._standing.unmade()}

    def run(self, title: str, url: str) -> Done:
        """Bring everything up to date; return the number of pages, what was written and removed, and the problems."""
        files.discard(self._job.site, self._standing.left_over)
        crew = Crew(self._job, CataloguedPlaces(self._catalogue), self._catalogue.paths)
        try:
            with self._catalogue.transaction():
                self._catalogue.remember(SETTLED, "")
                todo = self._survey.taken(crew.read)
                pending = Pending(self._catalogue, todo.changes, everything=todo.everything)
                site = Site(title, url, navigation(self._catalogue.kinds()))
                todo = self._widened(todo, site)
                self._order_tables(todo)
                self._doubt(todo)
            return self._made(crew, site, todo, pending)
        finally:
            crew.close()

    def _order_tables(self, todo: ScanResult) -> None:
        """Keep the order of long tables, for those who make the pages."""
        watching = self._catalogue.orders.watching()
        if todo.everything:
            self._catalogue.orders.forget()
        else:
            table_order_update.follow(self._catalogue, todo.changes)
        table_order_update.keep(self._catalogue, watching & todo.pages, partial(files.read, self._job.vault))

    def _widened(self, todo: ScanResult, site: Site) -> ScanResult:
        """What there is to do also because of templates, of what all pages share, and of pages that were lost."""
        changed = {name for name, digest in self._digests.items() if self._catalogue.made(f"template {name}") != digest}
        everywhere = self._catalogue.made("site") != key_of(site)
        pages = self._survey.all_notes() if everywhere else todo.pages | self._lost_notes()
        if not everywhere and changed & {*KINDS, OTHER}:
            pages = pages | {face.path for kind in changed for face in self._catalogue.of_kind(kind)}
        every_list = todo.every_list or everywhere or "list" in changed or self._catalogue.made("lists") != "made"
        return ScanResult(frozenset(pages), todo.changes, todo.everything, every_list)

    def _lost_notes(self) -> set[str]:
        """The notes of which the page does not stand as it was made."""
        sources = (source for source in self._unmade.values() if source and source.endswith(".md"))
        return {source for source in sources if self._catalogue.face(source)}

    def _doubt(self, todo: ScanResult) -> None:
        """Take note of what may not be as it shall be until all is in place: the next build makes good what is cut off here."""
        sources = {*todo.pages, *filter(has_product, (*self._survey.gone, *self._survey.changed))}
        self._catalogue.doubt((product_of(path), path) for path in sources)
        if todo.lists:
            self._catalogue.remember("lists", "")

    def _made(self, crew: Crew, site: Site, todo: ScanResult, pending: Pending) -> Done:
        staged = Staged(self._job.site)
        try:
            crew.begin(site, [Task(path, self._standing.get(page_of(path))) for path in sorted(todo.pages)])
            extras, others = self._extras(site, todo, pending, staged)
            for made in crew.made():
                self._standing.add(made.page, made.key, made.source)
                staged.paths += [made.page] if made.staged else []
                extras.notices += [shortened(made.source)] if made.staged and is_shortened(made.source) else []
            return self._placed(staged, site, pending, extras, others)
        except BaseException:
            files.discard(self._job.site, [*staged.paths, *map(page_of, todo.pages)])
            raise

    def _extras(self, site: Site, todo: ScanResult, pending: Pending, staged: Staged) -> tuple[Extras, set[str]]:
        """Make what no note makes; return also the site paths of all that shall stand and is made from no file of the vault."""
        extras = Extras(site, self._catalogue, self._layout, staged, self._standing)
        extras.copy_images(self._job.vault, self._images())
        others = set(extras.copy_assets(self._job.templates))
        leaves = set(extras.list_paths())
        extras.some_lists(todo.changes, every=todo.every_list)
        notes = self._catalogue.note_count()
        others |= leaves | extras.others() | Index(self._catalogue, staged, self._standing, pending).made(notes)
        return extras, others | Maps(site, self._catalogue, staged, self._standing, pending).made(notes, leaves)

    def _images(self) -> dict[str, Look]:
        """The images to be copied, and how they look."""
        sources = {source for source in self._unmade.values() if source and is_image(source)} | self._survey.changed.keys()
        known = {path: self._catalogue.digest_and_look(path) for path in sources if is_image(path)}
        return {path: found[1] for path, found in sorted(known.items()) if found}

    def _placed(self, staged: Staged, site: Site, pending: Pending, extras: Extras, others: set[str]) -> Done:
        """Put all in place, take away what is no longer made, and remember it."""
        with self._catalogue.transaction():
            self._catalogue.doubt((path, None) for path in staged.paths)
        written = files.put_in_place(self._job.site, staged.paths)
        stale = sorted(self._stale(others))
        removed = tuple(path for path in stale if files.remove(self._job.site, path))
        problems = (*self._survey.unreadable, *extras.problems)
        with self._catalogue.transaction():
            self._standing.settle(written, stale)
            for name, digest in self._digests.items():
                self._catalogue.remember(f"template {name}", digest)
            self._catalogue.remember("site", key_of(site))
            self._catalogue.remember("lists", "made")
            self._catalogue.remember(SETTLED, "" if problems else self._settled)
            pending.done()
        return self._catalogue.note_count(), tuple(sorted(written)), removed, problems, tuple(extras.notices)

    def _stale(self, others: set[str]) -> set[str]:
        """What was made once, and is no more: of files that are gone, and what no file makes."""
        gone = {source for source in (*self._survey.gone, *self._unmade.values()) if source and not self._catalogue.face(source)}
        return self._catalogue.pages_of(gone) | (self._catalogue.pages_of_none() - others)
