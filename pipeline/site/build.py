"""``build_site``: brings the pages of the web site up to date with the vault, or finds that they are.

``changed_pages`` renders and writes; it is imported only if there is work.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import SystemRefused
from pipeline.site import files
from pipeline.site.cache.built_files import BuiltFiles
from pipeline.site.cache.catalogue import SETTLED, Catalogue
from pipeline.site.change_scan import ChangeScan
from pipeline.system.files import open_lock
from pipeline.system.folder_fingerprint import Step, digest_below
from pipeline.system.process_lock import turn
from pipeline.system.program_id import program_id
from pipeline.text.normalise import digest_of

CACHE = "site.sqlite"
_LOCK = "site.lock"
_PROGRAM = "program"  # the catalogue's entry for the program that made the site


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What a build did, as sorted site paths. ``pages`` counts the notes with a page; ``problems`` say what was left out and
    why; ``notices`` list files that got another name or are never shown.
    """

    pages: int = 0
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a build: the vault, the site's templates, the site, where caches are kept, and compiled templates.

    ``compiled`` as in ``TemplateFolder``.
    """

    vault: Path
    templates: Path
    site: Path
    state: Path
    compiled: Path | None = None


def build_site(
    folders: Folders,
    *,
    title: str = "Research",
    url: str = "",
    everything: bool = False,
    steps: Mapping[str, Step] | None = None,
    hidden: Collection[str] = (),
) -> SiteReport:
    """Bring the site up to date with the vault; return what was written and removed.

    ``url`` is the site's public address, "" if it is not known. ``everything``: build as if for the first time; the bytes are the
    same. ``steps`` has, by path, what the vault's build just did in each folder; ``hidden`` are
    the ids of the notes that the vault leaves out. Files that no build wrote are not changed or
    removed, unless a page has the same name.

    Raises:
        TemplateInvalid: a template is missing or faulty; the site is as it was.
        SystemRefused: the disk cannot be written.
    """
    address = url if not url or url.endswith("/") else f"{url}/"
    cache = folders.state / CACHE
    with _build_lock(folders.state):
        try:
            return _build(folders, title, address, steps or {}, everything, hidden)
        except sqlite3.OperationalError as error:
            hint = "free some space or allow writing there; you may also delete the file, then all pages are built again"
            raise SystemRefused(f"{cache} cannot be written: {error}", hint=hint) from error
        except sqlite3.DatabaseError:
            cache.unlink(missing_ok=True)  # it is damaged; it is only a cache
            return _build(folders, title, address, steps or {}, everything, hidden)


def _build(
    folders: Folders, title: str, url: str, steps: Mapping[str, Step], everything: bool, hidden: Collection[str]
) -> SiteReport:
    catalogue = Catalogue(folders.state / CACHE, writes=True)
    try:
        inputs, program = _inputs_digest(folders.templates, title, url), program_id("site")
        everything = everything or program != catalogue.recall(_PROGRAM)  # an upgrade may show the same note in another way
        built = BuiltFiles(catalogue, folders.site, everything=everything)
        scan = ChangeScan(catalogue, folders.vault, steps, everything=everything, hidden=hidden)
        same_inputs = inputs and inputs == catalogue.recall(SETTLED) and not everything
        if same_inputs and built.is_sound and scan.is_empty:
            return SiteReport(catalogue.note_count(), notices=scan.notices)
        from pipeline.site.build_stages import Build  # imports everything that renders pages
        from pipeline.site.rendering.render_task import Job

        job = Job(folders.vault, folders.templates, folders.site, folders.state / CACHE, folders.compiled, scan.public)
        report = SiteReport(*Build(job, catalogue, built, scan, inputs).run(title, url))
        catalogue.remember(_PROGRAM, program)
        return report
    finally:
        catalogue.close()


def _inputs_digest(templates: Path, title: str, url: str) -> str:
    """A digest of all inputs besides vault and program: templates, title, address; "" if they cannot be read."""
    try:
        parts = (title, url, digest_below(templates))
    except OSError:
        return ""
    return digest_of("\0".join(parts).encode())


@contextmanager
def _build_lock(state: Path) -> Iterator[None]:
    """Wait until no other build is running."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        with turn(open_lock(state / _LOCK)):
            yield
    except OSError as error:
        raise files.refused(error) from error
