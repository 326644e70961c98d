"""Other programs that turn a document into PDF, DOCX or EPUB, where they are installed. None of them reaches the network."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import SystemRefused, UsageError
from pipeline.system.files import read_bytes, write
from pipeline.vault.export.portable import Portable

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "microsoft-edge", "brave-browser")
_ON_A_MAC = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium")
PANDOC = "pandoc"
# Commonmark with what `portable` writes; raw HTML is text.
_FROM = "commonmark+footnotes+pipe_tables+strikeout+hard_line_breaks-raw_html"
_TIMEOUT_S = 120


def pdf(html: str) -> bytes:
    """Return an HTML page as PDF, printed by a Chromium of this machine.

    Raises:
        UsageError: there is none.
        SystemRefused: it fails, or takes more than two minutes.
    """
    browser = next(filter(None, map(shutil.which, (*BROWSERS, *_ON_A_MAC))), None)
    if browser is None:
        hint = "install Chromium or Chrome; or take --format html and print it from your browser"
        raise UsageError("PDF needs Chromium or Chrome, and none is installed", hint=hint)
    with tempfile.TemporaryDirectory(prefix="research-") as folder:
        page, out = Path(folder) / "page.html", Path(folder) / "page.pdf"
        write(page, html.encode())
        _run([browser, *_switches(folder), f"--print-to-pdf={out}", page.as_uri()], "")
        return _made(out, "the browser wrote no PDF")


def _switches(folder: str) -> Sequence[str]:
    """A browser without window, profile or network; as root it has no sandbox, and the page holds no script."""
    alone = ["--headless=new", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer", f"--user-data-dir={folder}/profile"]
    return [*alone, "--host-resolver-rules=MAP * ~NOTFOUND", *(["--no-sandbox"] if os.geteuid() == 0 else [])]


def office(document: Portable, form: str, date: str) -> bytes:
    """Return the document as ``docx`` or ``epub``, made by pandoc; ``date`` is its day.

    Raises:
        UsageError: pandoc is not installed.
        SystemRefused: it fails, or takes more than two minutes.
    """
    program = shutil.which(PANDOC)
    if program is None:
        hint = "install it (apt-get install pandoc, brew install pandoc, https://pandoc.org); or take --format html or markdown"
        raise UsageError(f"{form.upper()} needs pandoc, which is not installed", hint=hint)
    with tempfile.TemporaryDirectory(prefix="research-") as folder:
        out = Path(folder) / f"document.{form}"
        about = ["--metadata", f"title={document.title}", "--metadata", f"date={date}", "--metadata", "lang=en"]
        notes = "".join(f"\n[^{number}]: {text}\n" for number, text in enumerate(document.notes, start=1))
        _run([program, "--from", _FROM, "--to", form, *about, "--output", str(out)], f"{document.body}\n{notes}")
        return _made(out, "pandoc wrote no file")


def _run(command: Sequence[str], text: str) -> None:
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=_TIMEOUT_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise SystemRefused(f"{name} took more than {_TIMEOUT_S} seconds", hint="try again, or take --format html") from error
    except OSError as error:
        raise SystemRefused(f"{name} cannot be started: {error.strerror}", hint="try it by itself") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SystemRefused(f"{name} failed: {said or f'exit code {done.returncode}'}", hint="take --format html or markdown")


def _made(out: Path, otherwise: str) -> bytes:
    try:
        return read_bytes(out)
    except OSError as error:
        raise SystemRefused(otherwise, hint="take --format html or markdown") from error
