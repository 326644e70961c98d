"""One build of the site as its stages: read the changes, widen the scope, render pages and files, put them in place, record.

A run with nothing to do does not import this module.
"""

from __future__ import annotations

from pipeline.site import files
from pipeline.site.cache.built_files import BuiltFiles
from pipeline.site.cache.catalogue import SETTLED, Catalogue, CataloguedPlaces
from pipeline.site.cache.note_record import KINDS, OTHER
from pipeline.site.change_scan import ChangeScan, ScanResult
from pipeline.site.files import Staged
from pipeline.site.markdown import table_order_update
from pipeline.site.pages.auxiliary_pages import AuxiliaryPages, long_name_notice
from pipeline.site.pages.list_pages import navigation
from pipeline.site.pages.page_values import Site
from pipeline.site.pages.sitemap import SiteMaps
from pipeline.site.paths import HOME, has_product, is_image, is_shortened, page_of, product_of
from pipeline.site.rendering.page_templates import Layout
from pipeline.site.rendering.render_pool import RenderPool
from pipeline.site.rendering.render_task import Job, Task, key_of
from pipeline.site.search_index.segments import Pending
from pipeline.site.search_index.update_index import Index
from pipeline.system.folder_fingerprint import Look

BuildResult = tuple[int, tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_TEMPLATES = (*KINDS, OTHER, "list", "tags", "search", "404")


class Build:
    """One build: reads the changed notes, renders the pages that show them, and only then puts the files that differ in place.

    ``inputs`` is the digest that is recorded under ``SETTLED`` once everything is done.
    """

    def __init__(self, job: Job, catalogue: Catalogue, built: BuiltFiles, scan: ChangeScan, inputs: str) -> None:
        self._job, self._catalogue, self._built, self._scan = job, catalogue, built, scan
        self._inputs = inputs
        self._public = scan.public
        self._layout = Layout(job.templates, job.compiled)
        self._digests = {name: self._layout.digest(name) for name in _TEMPLATES}
        self._changed_files = {page.path: page.source for page in self._built.changed_files()}

    def run(self, title: str, url: str) -> BuildResult:
        """Bring the site up to date; return the number of pages, the files written and removed, problems and notices."""
        files.discard(self._job.site, self._built.left_over)
        pool = RenderPool(self._job, CataloguedPlaces(self._catalogue), self._catalogue.paths)
        try:
            with self._catalogue.transaction():
                self._catalogue.remember(SETTLED, "")
                scope = self._scan.read_changes(pool.read)
                pending = Pending(self._catalogue, scope.changes, everything=scope.everything)
                site = Site(title, url, navigation(self._catalogue.kinds()))
                scope = self._widen(scope, site)
                self._order_tables(scope)
                self._mark_in_doubt(scope)
            return self._render(pool, site, scope, pending)
        finally:
            pool.close()

    def _widen(self, scope: ScanResult, site: Site) -> ScanResult:
        """Add the pages that changed because of templates or of what all pages share, and those that were lost."""
        changed = {name for name, digest in self._digests.items() if self._catalogue.recall(f"template {name}") != digest}
        for name in changed:
            self._layout.check(name)
        everywhere = self._catalogue.recall("site") != key_of(site)
        pages = self._scan.all_notes() if everywhere else scope.pages | self._lost_notes()
        if not everywhere and changed & {*KINDS, OTHER}:
            pages = pages | {face.path for kind in changed for face in self._catalogue.of_kind(kind)}
        every_list = scope.every_list or everywhere or "list" in changed or self._catalogue.recall("lists") != "made"
        return ScanResult(frozenset(pages), scope.changes, scope.everything, every_list)

    def _lost_notes(self) -> set[str]:
        """The notes whose page is missing or not as it was built."""
        sources = (source for source in self._changed_files.values() if source and source.endswith(".md"))
        return {source for source in sources if self._catalogue.face(source)}

    def _order_tables(self, scope: ScanResult) -> None:
        """Store the order of long tables for the processes that render the pages."""
        watching = self._catalogue.orders.watching()
        if scope.everything:
            self._catalogue.orders.forget()
        else:
            table_order_update.follow(self._catalogue, scope.changes)
        table_order_update.keep(self._catalogue, watching & scope.pages, self._public.read)

    def _mark_in_doubt(self, scope: ScanResult) -> None:
        """Record which files may be wrong until all are in place; after an interruption the next build repairs them."""
        sources = {*scope.pages, *filter(has_product, (*self._scan.gone, *self._scan.changed))}
        self._catalogue.doubt((product_of(path), path) for path in sources)
        if scope.lists:
            self._catalogue.remember("lists", "")

    def _render(self, pool: RenderPool, site: Site, scope: ScanResult, pending: Pending) -> BuildResult:
        """Render pages and other files under temporary names, then finish; after an error remove the temporary files."""
        staged = Staged(self._job.site)
        try:
            pool.begin(site, [Task(path, self._built.get(page_of(path))) for path in sorted(scope.pages)])
            auxiliary, others = self._render_others(site, scope, pending, staged)
            for page in pool.results():
                self._built.add(page.page, page.key, page.source)
                staged.paths += [page.page] if page.staged else []
                auxiliary.notices += [long_name_notice(page.source)] if page.staged and is_shortened(page.source) else []
            return self._finish(staged, site, pending, auxiliary, others)
        except BaseException:
            files.discard(self._job.site, [*staged.paths, *map(page_of, scope.pages)])
            raise

    def _render_others(self, site: Site, scope: ScanResult, pending: Pending, staged: Staged) -> tuple[AuxiliaryPages, set[str]]:
        """Render lists, search index and site map, copy images; return also the paths of all files without a note."""
        auxiliary = AuxiliaryPages(site, self._catalogue, self._layout, staged, self._built)
        auxiliary.copy_images(self._job.vault, self._changed_images())
        others = set(auxiliary.copy_assets(self._job.templates))
        list_paths = set(auxiliary.list_paths())
        auxiliary.render_lists(scope.changes, every=scope.every_list)
        notes = self._catalogue.note_count()
        others |= list_paths | auxiliary.render_single_pages(self._public)
        others |= Index(self._catalogue, staged, self._built, pending).write(notes)
        return auxiliary, others | SiteMaps(site, self._catalogue, staged, self._built, pending).write(notes, list_paths)

    def _changed_images(self) -> dict[str, Look]:
        """The images to copy, with size and time."""
        sources = {source for source in self._changed_files.values() if source and is_image(source)} | self._scan.changed.keys()
        known = {path: self._catalogue.digest_and_look(path) for path in sources if is_image(path)}
        return {path: found[1] for path, found in sorted(known.items()) if found}

    def _finish(self, staged: Staged, site: Site, pending: Pending, auxiliary: AuxiliaryPages, others: set[str]) -> BuildResult:
        """Put all files in place, remove stale ones, and record the build."""
        with self._catalogue.transaction():
            self._catalogue.doubt((path, None) for path in staged.paths)
        written = files.put_in_place(self._job.site, staged.paths)
        stale = sorted(self._stale_files(others))
        removed = tuple(path for path in stale if files.remove(self._job.site, path))
        problems = (*self._scan.unreadable, *auxiliary.problems)
        with self._catalogue.transaction():
            self._built.record(written, stale)
            for name, digest in self._digests.items():
                self._catalogue.remember(f"template {name}", digest)
            self._catalogue.remember("site", key_of(site))
            self._catalogue.remember("lists", "made")
            self._catalogue.remember(SETTLED, "" if problems else self._inputs)
            pending.done()
        return self._catalogue.note_count(), tuple(sorted(written)), removed, problems, (*self._scan.notices, *auxiliary.notices)

    def _stale_files(self, others: set[str]) -> set[str]:
        """The files to remove: those whose source is gone, and those without a source that this build does not have."""
        sources = (*self._scan.gone, *self._changed_files.values())
        gone = {source for source in sources if source and not self._catalogue.face(source)}
        home = {page_of(HOME)} if self._catalogue.face(HOME) else set()
        return (self._catalogue.pages_of(gone) | self._catalogue.pages_of_none()) - others - home
