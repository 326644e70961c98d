"""The documentation that the questions are put to: where it stands, which of its files count, and their plain text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from pipeline.text import normalised

DEFAULT_DOCS = Path("/usr/share/doc/python3.11/html")
INSTALL_HINT = "install the Debian package python3.11-doc, or name the folder with --docs"
# Lists of links and search pages: they hold no statement, only every word of the other pages.
_NO_CONTENT = ("_", "genindex", "py-modindex", "search.html", "contents.html")


def pages(docs: Path) -> Iterator[Path]:
    """Yield the content pages below ``docs`` as relative paths, sorted."""
    for path in sorted(docs.rglob("*.html")):
        relative = path.relative_to(docs)
        if not relative.parts[0].startswith(_NO_CONTENT):
            yield relative


def gather(docs: Path, corpus: Path) -> int:
    """Copy the content pages of ``docs`` into the new folder ``corpus``; return their number."""
    count = 0
    for relative in pages(docs):
        target = corpus / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(docs / relative, target)
        count += 1
    return count


def text_of(page: Path) -> str:
    """Return a page's main text, white space and quotation marks normalised, without the marks beside headings."""
    tree = LexborHTMLParser(page.read_text(encoding="utf-8"))
    for mark in tree.css("a.headerlink, script, style"):
        mark.decompose()
    main = tree.css_first("[role=main]") or tree.body
    return normalised(main.text()) if main is not None else ""
