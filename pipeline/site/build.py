"""The site brought up to date with the vault: what changed is read, what shows it is made again, only what differs is written."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import ResearchError
from pipeline.site import files
from pipeline.site.cache.built_files import BuiltFiles
from pipeline.site.cache.catalogue import SETTLED, Catalogue
from pipeline.site.change_scan import Survey
from pipeline.system.folder_fingerprint import Step, digest_below
from pipeline.text.normalise import digest_of

CACHE = "site.sqlite"
_LOCK = "site.lock"


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What a build did, as site paths, sorted. ``pages`` counts the notes' pages; ``problems`` say what was left out, and why,
    ``notices`` what stands there otherwise than one may expect, or is never shown.
    """

    pages: int = 0
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a build: the vault, the site's templates, the site, and where caches are kept."""

    vault: Path
    templates: Path
    site: Path
    state: Path


def build_site(
    folders: Folders,
    *,
    title: str = "Research",
    url: str = "",
    everything: bool = False,
    steps: Mapping[str, Step] | None = None,
) -> SiteReport:
    """Make the site show the vault; return what was written and removed.

    ``url`` is the address where the site will stand, "" if that is not known. ``everything``: as if nothing had been built
    before; the bytes are the same. ``steps`` tell what somebody just did in the vault's folders, by path. A file that no build
    made is neither changed nor removed, unless a page has its name.

    Raises:
        TemplateInvalid: a template is missing or faulty; the site is as it was.
        ResearchError: the disk refuses.
    """
    address = url if not url or url.endswith("/") else f"{url}/"
    cache = folders.state / CACHE
    with _alone(folders.state):
        try:
            return _built(folders, title, address, steps or {}, everything)
        except sqlite3.OperationalError as error:
            hint = "free some space or allow writing there; the file may also be deleted: then all pages are made anew"
            raise ResearchError(f"{cache} cannot be written: {error}", hint=hint) from error
        except sqlite3.DatabaseError:
            cache.unlink(missing_ok=True)  # it is damaged, and no more than a cache
            return _built(folders, title, address, steps or {}, everything)


def _built(folders: Folders, title: str, url: str, steps: Mapping[str, Step], everything: bool) -> SiteReport:
    catalogue = Catalogue(folders.state / CACHE, writes=True)
    try:
        settled = _name_of(folders.templates, title, url)
        standing = BuiltFiles(catalogue, folders.site, everything=everything)
        survey = Survey(catalogue, folders.vault, steps, everything=everything)
        as_settled = settled and settled == catalogue.made(SETTLED) and not everything
        if as_settled and standing.is_sound and survey.is_empty:
            return SiteReport(catalogue.note_count())
        from pipeline.site.build_stages import Build  # all that makes pages
        from pipeline.site.rendering.render_task import Job

        job = Job(folders.vault, folders.templates, folders.site, folders.state / CACHE)
        return SiteReport(*Build(job, catalogue, standing, survey, settled).run(title, url))
    finally:
        catalogue.close()


def _name_of(templates: Path, title: str, url: str) -> str:
    """A name for what pages are made from beside the vault: templates, the site's name and address, this program."""
    try:
        parts = (title, url, digest_below(templates), digest_below(Path(__file__).parent, "*.py"))
    except OSError:
        return ""
    return digest_of("\0".join(parts).encode())


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
