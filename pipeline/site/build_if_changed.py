"""``build_site``: brings the pages of the web site up to date with the vault, or finds that they are.

The stages are in ``stages``, which is imported only if there is work.
"""

from __future__ import annotations

from collections.abc import Collection

from pipeline.site.paths import SETTLED, Folders, SiteReport
from pipeline.system.manifest import Drift, all_folders, digest_below, program_id
from pipeline.text.cleaning import digest_of
from pipeline.vault.build_cache import Kept, with_kept

_ASIDE = frozenset({"attic"})


def build_site(folders: Folders, *, url: str = "", everything: bool = False, hidden: Collection[str] = ()) -> SiteReport:
    """Bring the site up to date with the vault; return what was written and removed.

    ``url`` is the site's public address, "" if it is not known. ``everything``: build as if for the first time; the bytes are the
    same. ``hidden`` are the ids of the notes that the vault leaves out. Files that no build wrote are not changed or removed,
    unless a page has the same name.

    Raises:
        TemplateInvalid: a template is missing or faulty; the site is as it was.
        SystemRefused: the disk cannot be written.
    """
    address = url if not url or url.endswith("/") else f"{url}/"
    return with_kept(folders.state, "", lambda kept: _build(folders, kept, address, everything, hidden))


def _build(folders: Folders, kept: Kept, url: str, everything: bool, hidden: Collection[str]) -> SiteReport:
    try:  # the digest of all inputs besides the vault; "" if the templates cannot be read
        parts = (program_id("site"), url, sorted(hidden), digest_below(folders.templates))
        inputs = digest_of(repr(parts).encode("utf-8", "replace"))
    except OSError:
        inputs = ""
    found = dict(all_folders(folders.vault, aside=_ASIDE, known=folders.known))
    notes = Drift(kept.read, found)
    pages = Drift(kept.pages, dict(all_folders(folders.site)))
    known = kept.recall(SETTLED)
    if inputs and known.startswith(f"{inputs} ") and not everything and not notes.folders and not pages.folders:
        count, _, notices = known.removeprefix(f"{inputs} ").partition("\n")
        return SiteReport(int(count), notices=tuple(notices.split("\n")) if notices else ())
    from pipeline.site.stages import Build  # imports everything that renders pages

    report = Build(folders, kept, notes, pages, url, everything, hidden).run()
    settled = f"{inputs} {report.pages}\n" + "\n".join(report.notices)
    kept.keep(SETTLED, "" if report.problems or not inputs else settled)
    kept.commit()
    return report
