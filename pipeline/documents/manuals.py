"""Manual pages → page, by ``mandoc`` where it is installed, else as plain text.

A manual page may ask for other files to be shown in it. Such requests are taken out; and as they may be hidden, the extraction
process has no folder in which mandoc could find one: mandoc itself refuses names that lead out of its folder.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from html import escape, unescape

from pipeline.documents.html_reader import read_html
from pipeline.documents.page import squash
from pipeline.documents.text_reader import is_manual, read_text
from pipeline.errors import ReadFailed
from pipeline.ports import Page

_PLACES = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/opt/local/bin"
_SECONDS = 8
_INCLUDES = ("so", "mso", "soquiet", "open", "sy", "pso")  # a name may hide in a string: this is not what keeps files unread
_HEADINGS, _BREAKS = ("SH", "SS", "Sh", "Ss"), ("PP", "P", "LP", "Pp", "TP", "IP", "HP", "sp", "br")
# Roff's escapes in the usual cases, for a machine without mandoc, so that the words remain.
_ESCAPE = re.compile(r"\\(?:f(?:\[[^\]\n]*\]|\(..|.)|[&|^/,%:]|s[-+]?\d|\*(?:\(..|\[[^\]\n]*\]|.))")


@cache
def mandoc() -> str:
    """Return the path of ``mandoc``, or "" if it is not installed."""
    return shutil.which("mandoc", path=_PLACES) or ""


def read_manual(source: str, name: str) -> Page:
    """Return the document in the roff text ``source``; ``name`` is the title if it has none.

    Raises:
        ReadFailed: it holds no text, or only the name of another page.
    """
    own = "\n".join(line for line in source.split("\n") if _request(line)[0] not in _INCLUDES)
    if not is_manual(own):
        raise ReadFailed("it is only a reference to another manual page" if own != source else "it holds no text")
    if not mandoc():
        plain = ""
        for macro, rest in map(_request, own.split("\n")):
            parted = "\n\n" if macro in _HEADINGS + _BREAKS else ""
            plain += f"{parted}{_ESCAPE.sub('', rest) if macro not in _BREAKS else ''}{parted}\n"
        return read_text(plain.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\"), name)
    command = [mandoc(), "-T", "html", "-K", "utf-8", "-O", "fragment"]
    try:
        shown = subprocess.run(command, input=own.encode(), capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (subprocess.TimeoutExpired, OSError) as error:
        raise ReadFailed(f"mandoc did not read it ({type(error).__name__})") from error
    head, _, html = shown.stdout.decode("utf-8", "replace").partition('<div class="manual-text">')
    document = read_html(f"<title>{escape(name)}</title>{html.rpartition('<table class=')[0]}", name, all_is_content=True)
    title = _title(head, document.text) or name
    return replace(document, title=title, text=f"# {title}\n" + document.text.partition("\n")[2], media_type="text/troff")


def _request(line: str) -> tuple[str, str]:
    """Return the name of the request or macro that a line of roff consists of, "" without one, and the rest of the line."""
    line = line.partition('\\"')[0]
    if line[:1] not in (".", "'"):
        return "", line
    name, _, rest = line[1:].lstrip().partition(" ")
    return name, rest.strip().strip('"')


def _title(head: str, text: str) -> str:
    """Return "ls(1): list directory contents": the table that mandoc puts above a page, and the page's first section."""
    head = unescape(head.partition('class="head-ltitle">')[2].partition("</")[0].strip())
    head = head.lower() if head.partition("(")[0].isupper() else head
    about = text.partition("{#NAME}\n\n")[2].partition("\n")[0]
    does = next((about.partition(dash)[2] for dash in (" — ", " – ", " - ") if dash in about), "").strip(" .")
    return squash(f"{head}: {does}" if does else head)
