"""``PageRenderer``: reads notes and renders their pages, alone or as one of several processes.

A renderer keeps what it read, so that a note need not be read again for its page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.cache.note_record import Face, Record, read_note
from pipeline.site.files import Staged
from pipeline.site.markdown.embeds import EmbedRenderer, watched
from pipeline.site.markdown.note_draft import Draft
from pipeline.site.markdown.note_to_html import Reader
from pipeline.site.pages.note_page_builder import Composer, filled
from pipeline.site.pages.page_values import Site
from pipeline.site.paths import IMAGES, Places, suffix_of
from pipeline.site.public import PublicVault
from pipeline.site.rendering.page_templates import Layout
from pipeline.site.search_index.terms import content_of
from pipeline.text.normalise import digest_of

_KEPT_BYTES = 60_000_000  # of HTML, in all renderers together


@dataclass(frozen=True, slots=True)
class Job:
    """The folders and the catalogue file of a build; ``compiled`` as in ``TemplateFolder``.

    ``public`` is what of the vault is public.
    """

    vault: Path
    templates: Path
    site: Path
    catalogue: Path
    compiled: Path | None = None
    public: PublicVault | None = None


class Task(NamedTuple):
    """A page to render: its note, and the key of the present page ("" to render it in any case)."""

    path: str
    key: str


class RenderResult(NamedTuple):
    """A page, its note, its key, and whether it was staged because it differs."""

    page: str
    source: str
    key: str
    staged: bool


class PageRenderer:
    """Reads notes and renders their pages; ``renderers`` is the number of processes that do."""

    def __init__(self, job: Job, places: Places, renderers: int = 1) -> None:
        self._job = job
        self._vault = job.public or PublicVault(job.vault)
        self._places = places
        self._reader = Reader()
        self._layout = Layout(job.templates, job.compiled)
        self._drafts: dict[str, tuple[str, Draft]] = {}
        self._room = _KEPT_BYTES // renderers
        self._staged = Staged(job.site)

    def read(self, paths: Sequence[str]) -> list[tuple[Record, str]]:
        """Read files; return the record and search terms of each. Files that are gone are left out."""
        return [found for path in paths if (found := self._read(path))]

    def _read(self, path: str) -> tuple[Record, str] | None:
        suffix = suffix_of(path)
        if suffix in IMAGES:
            return Record(Face(path, "image", path), ""), ""
        data = self._vault.read(path)
        if data is None:
            return None
        if suffix != ".md":
            return Record(Face(path, suffix[1:], path), digest_of(data)), ""
        record, draft = read_note(path, data, self._places, self._reader)
        terms = content_of(record.face.title, record.tags, record.text).packed()
        tags = frozenset(tag for slot in record.slots for tag in watched(slot, self._vault.read))
        self._keep(path, record.digest, draft)
        return replace(record, text="", watched=tags), terms

    def _keep(self, path: str, digest: str, draft: Draft) -> None:
        draft.text, draft.blocks, draft.around, draft.names, draft.links = [], {}, {}, {}, {}
        self._room -= len(draft.html)
        if self._room > 0:
            self._drafts[path] = digest, draft

    def render(self, site: Site, tasks: Sequence[Task]) -> list[RenderResult]:
        """Render pages, and write those whose key changed under a temporary name.

        Raises:
            TemplateInvalid: a template is faulty.
            SystemRefused: the disk cannot be written.
        """
        catalogue = Catalogue(self._job.catalogue)
        inside = EmbedRenderer(self._vault.read, self._reader, self._places, catalogue)
        composer = Composer(site, catalogue, self._places, inside)
        try:
            return list(self._pages(composer, catalogue, tasks))
        finally:
            catalogue.close()

    def _pages(self, composer: Composer, catalogue: Catalogue, tasks: Sequence[Task]) -> Iterator[RenderResult]:
        for task in tasks:
            face = catalogue.face(task.path)
            if face is None:
                continue
            page, inside, rest = composer.frame(face)
            key = key_of(self._layout.digest(face.kind), composer.site, page, rest.digest, rest.names, inside)
            staged = False
            if key != task.key:
                body = filled(self._draft(task.path, rest.digest), page, inside)
                data = self._layout.render(face.kind, composer.site, replace(page, body=body))
                staged = self._staged.write_if_new(page.path, data)
            yield RenderResult(page.path, task.path, key, staged)

    def _draft(self, path: str, digest: str) -> Draft:
        known, draft = self._drafts.pop(path, ("", None))
        if draft and known == digest:
            return draft
        return read_note(path, self._vault.read(path) or b"", self._places, self._reader)[1]


def key_of(*parts: object) -> str:
    """Return the digest of everything that a page shows."""
    return digest_of(repr(parts).encode("utf-8", "replace"))
