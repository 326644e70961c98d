"""A vault and its site in a folder of a test."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from pipeline.site.build_if_changed import build_site
from pipeline.site.note_to_html import Record, read_into
from pipeline.site.paths import Folders, Places, SiteReport

TEMPLATES = Path(__file__).parents[2] / "templates" / "site"


@dataclass(frozen=True)
class Scratch:
    """``folder`` holds ``vault``, ``site``, ``templates`` (a copy) and ``state``."""

    folder: Path

    def build(self, *, url: str = "", everything: bool = False) -> SiteReport:
        return build_site(self.folders, url=url, everything=everything)

    @property
    def folders(self) -> Folders:
        templates = self.folder / "templates"
        if not templates.exists():
            shutil.copytree(TEMPLATES, templates)
        return Folders(self.folder / "vault", templates, self.folder / "site", self.folder / "state")

    def write(self, path: str, text: str | bytes) -> None:
        file = self.folder / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def remove(self, path: str) -> None:
        (self.folder / "vault" / path).unlink()

    def html(self, page: str) -> str:
        return (self.folder / "site" / page).read_text("utf-8")

    def page(self, page: str) -> LexborHTMLParser:
        return LexborHTMLParser(self.html(page))

    def files(self) -> dict[str, bytes]:
        site = self.folder / "site"
        return {path.relative_to(site).as_posix(): path.read_bytes() for path in sorted(site.rglob("*")) if path.is_file()}


def cold(scratch: Scratch, folder: Path) -> dict[str, bytes]:
    """The site of the same vault and templates, made from nothing in another folder."""
    other = Scratch(folder)
    other.folder.mkdir(parents=True)
    (other.folder / "vault").symlink_to(scratch.folder / "vault")
    (other.folder / "templates").symlink_to(scratch.folder / "templates")
    other.build()
    return other.files()


def note(title: str, body: str, kind: str = "", **properties: str) -> str:
    """Return a note's text."""
    given = {"title": f'"{title}"', **({"kind": f'"{kind}"'} if kind else {}), **properties}
    lines = "".join(f"{name}: {value}\n" for name, value in given.items())
    return f"---\n{lines}---\n\n# {title}\n\n{body}\n"


def html_of(text: str) -> str:
    """A note's text as HTML."""
    read_into(made := Record("my/here.md", "note", "", ""), text, Places(["my/here.md"]), "../")
    return made.html


VAULT = {
    "Home.md": note("Research", "Newest: [[reports/2026/r1|First]].\n\n![[bases/sources.base#All]]"),
    "reports/2026/r1.md": note(
        "First report",
        "> [!abstract] In short\n> It is so.[[sources/2026-11/s1#^q-1|¹]]\n\n## Part\n\nMore.[[sources/2026-11/s2#^q-2|²]]",
        "report",
        created="2026-11-20T02:00:00",
        tags='["research/report", "topic/logs"]',
        sources="2",
        session='"[[sessions/2026/w1|how]]"',
    ),
    "reports/2026/r2.md": note("Second report", "See [[r1]] and [[nowhere]].", "report", created="2026-11-21T02:00:00"),
    "sessions/2026/w1.md": note("Session one", "[[sources/2026-11/s1#^q-1|¹]]", "session", created="2026-11-20T02:00:00"),
    "sources/2026-11/s1.md": note(
        "A source", "> “Word for word.”\n\n^q-1\n\n[[reports/2026/r1|cited]]", "source", tags='["research/source"]', quotes="1"
    ),
    "sources/2026-11/s2.md": note("Another", "> “Quoted too.”\n\n^q-2", "source", tags='["research/source"]', quotes="3"),
    "bases/sources.base": "views: [{type: table, name: All, order: [note.quotes]}]",
    "my/mine.md": "# Mine\n\n#idea about [[Home]].[[sources/2026-11/s1#^q-1|¹]]\n",
    "img/p.png": "no real picture",
}


def scratch_vault(folder: Path) -> Scratch:
    """Return a scratch whose vault has one note of most kinds, with links, a table and an image."""
    made = Scratch(folder)
    for path, text in VAULT.items():
        made.write(path, text)
    return made
