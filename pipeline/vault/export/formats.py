"""``report_file``: a report's document in one of the formats that it can be exported to.

PDF, DOCX and EPUB are made by other programs where they are installed. None of them reaches the network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from pipeline.errors import SystemRefused, UsageError
from pipeline.system.files import read_bytes, read_text, write
from pipeline.vault.export.portable import Portable

SUFFIXES: Mapping[str, str] = {"html": ".html", "markdown": ".md", "pdf": ".pdf", "docx": ".docx", "epub": ".epub"}
TEXTS = frozenset({"html", "markdown"})
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "microsoft-edge", "brave-browser")
_ON_A_MAC = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium")
PANDOC = "pandoc"
# Commonmark with what `portable` writes; raw HTML is text.
_FROM = "commonmark+footnotes+pipe_tables+strikeout+hard_line_breaks-raw_html"
_TIMEOUT_S = 120
# A citation as `portable` writes it; the schemes that a link may have.
_REFERENCE, _SAFE = re.compile(r"\[\^(\d+)\]"), re.compile(r"(?:https?:|mailto:|#)", re.IGNORECASE)


def report_file(document: Portable, form: str, date: str) -> bytes:
    """Return the document in the format ``form`` (one of ``SUFFIXES``); ``date`` is the report's day.

    Raises:
        UsageError: the format needs a program that is not installed.
        SystemRefused: that program fails, or takes more than two minutes.
    """
    if form == "markdown":
        return document.markdown.encode()
    if form in ("docx", "epub"):
        return _office(document, form, date)
    html = page(document).encode()
    return _pdf(html) if form == "pdf" else html


def page(document: Portable) -> str:
    """Return the document as an HTML file, in which each citation is a link to its footnote, and the first one the way back."""
    here, seen = Path(__file__).parent, set[str]()

    def reference(found: re.Match[str]) -> str:
        number = found[1]
        if not 1 <= int(number) <= len(document.notes):
            return found[0]
        name = "" if number in seen else f' id="from-{number}"'
        seen.add(number)
        return f'<sup><a href="#note-{number}"{name} aria-label="Footnote {number}">{number}</a></sup>'

    def text(_renderer: Any, tokens: Sequence[Token], place: int, _options: Any, _env: Any) -> str:
        return _REFERENCE.sub(reference, str(escape(tokens[place].content)))

    reader = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable("image")
    reader.validateLink = lambda url: bool(_SAFE.match(url))  # type: ignore[method-assign]
    reader.add_render_rule("text", text)
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(read_text(here / "page.html.j2"))
    return template.render(
        title=document.title,
        style=Markup(read_text(here / "page.css")),  # noqa: S704 - a file of ours
        body=Markup(reader.render(document.body)),  # noqa: S704 - the Markdown reader lets no HTML through
        notes=[Markup(reader.renderInline(note)) for note in document.notes],  # noqa: S704 - as above
    )


def _pdf(html: bytes) -> bytes:
    """An HTML page printed by a Chromium of this machine, without window, profile or network; the page holds no script."""
    browser = next(filter(None, map(shutil.which, (*BROWSERS, *_ON_A_MAC))), None)
    if browser is None:
        hint = "install Chromium or Chrome; or take --format html and print it from your browser"
        raise UsageError("PDF needs Chromium or Chrome, and none is installed", hint=hint)
    alone = ["--headless=new", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
    alone += ["--host-resolver-rules=MAP * ~NOTFOUND", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with tempfile.TemporaryDirectory(prefix="research-") as folder:
        source, out = Path(folder) / "page.html", Path(folder) / "page.pdf"
        write(source, html)
        return _made_by([browser, *alone, f"--user-data-dir={folder}/profile", f"--print-to-pdf={out}", source.as_uri()], "", out)


def _office(document: Portable, form: str, date: str) -> bytes:
    program = shutil.which(PANDOC)
    if program is None:
        hint = "install it (apt-get install pandoc, brew install pandoc, https://pandoc.org); or take --format html or markdown"
        raise UsageError(f"{form.upper()} needs pandoc, which is not installed", hint=hint)
    with tempfile.TemporaryDirectory(prefix="research-") as folder:
        out = Path(folder) / f"document.{form}"
        about = ["--metadata", f"title={document.title}", "--metadata", f"date={date}", "--metadata", "lang=en"]
        return _made_by([program, "--from", _FROM, "--to", form, *about, "--output", str(out)], document.text, out)


def _made_by(command: Sequence[str], text: str, out: Path) -> bytes:
    """The file ``out`` that a command writes; the command is given ``text``."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=_TIMEOUT_S, check=False)  # noqa: S603
        if not done.returncode:
            return read_bytes(out)
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or f"exit code {done.returncode}"
    except subprocess.TimeoutExpired:
        said = f"it took more than {_TIMEOUT_S} seconds"
    except OSError as error:
        said = f"{error.filename or name}: {error.strerror}"
    raise SystemRefused(f"{name} failed: {said}", hint="take --format html or markdown")
