"""Words that reading loses or alters, over real sets of documentation, each by another generator; pages a second.

    python -m bench.intake [--pages 200] [--root FOLDER] [--own] [NAME ...]

The reference of a page is the text of the element in which its generator is known to keep the content, without what only leads
elsewhere: marks of headings, lists of the page's own parts. A word is lost if it stands there and not in the stored text, altered
if it is stored and stands nowhere on the page, extra if it is stored and stands elsewhere on it. Indexes are left out.
``--root`` is where packages were unpacked that are not
installed. trafilatura and resiliparse are measured beside our reader when they are installed.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pipeline.documents.extract import extract
from pipeline.errors import ReadFailed

# name, folder, the element with the content
SETS = (
    ("Sphinx", "/usr/share/doc/python3.11-doc/html", "div.body[role=main]"),
    ("Sphinx, other theme", "/usr/share/developers-reference", "[role=main]"),
    ("DocBook", "/usr/share/doc/postgresql-doc-15/html", "div.sect1, div.refentry, div.chapter, div.appendix, div.part"),
    ("DocBook, GIMP", "/usr/share/doc/gimp-help-en/html", "div.sect1, div.sect2, div.chapter, div.appendix, div.preface"),
    ("Publican", "/usr/share/doc/debian-handbook/html/en-US", "div.section, div.chapter, div.appendix, div.preface"),
    ("AsciiDoc", "/usr/share/doc/git-doc", "#content"),
    ("Node", "/usr/share/doc/nodejs/api", "#apicontent"),
    ("SQLite", "/usr/share/doc/sqlite3", "body"),
    ("Postfix", "/usr/share/doc/postfix/html", "body"),
    ("Valgrind", "/usr/share/doc/valgrind/html", "div.sect1, div.chapter, div.preface, div.book"),
    ("Doxygen", "/usr/share/doc/libeigen3-dev/html", "div.contents"),
    ("Haddock", "/usr/share/doc/ghc-doc/html", "#content, div.body[role=main]"),
    ("MkDocs", "/usr/share/doc/mkdocs-doc", "[role=main]"),
    ("Texinfo", "/usr/share/doc/autoconf-doc", "body"),
    ("Texinfo, Octave", "/usr/share/doc/octave", "body"),
    ("rustdoc", "/usr/share/doc/rust-doc/html", "main, #content"),
    ("javadoc", "/usr/share/doc/openjdk-17-jre-headless/api", "main"),
    ("GTK-Doc", "/usr/share/gtk-doc/html/gtk3", "#main, div.refentry, div.chapter"),
    ("MediaWiki", "/usr/share/cppreference/doc/html/en", "#content, #cpp-content-base"),
    ("Django", "/usr/share/doc/python-django-doc/html", "[role=main], #docs-content, div.yui-g"),
    ("Maxima", "/usr/share/doc/maxima-doc/html", "body"),
    ("curl", "/usr/share/doc/libcurl4-doc", "body"),
    ("EDoc", "/usr/share/doc/erlang-doc", "#content"),
)  # fmt: skip
AROUND = (
    "script, style, nav, template, noscript, .headerlink, .mark, .navheader, .navfooter, .toc, .related, .footer, .header, "
    ".docnav, a.anchor, a.permalink, a.copiable-link, .srclink, svg, button, select, #toc, .contents.topic, .nav-panel, "
    ".sidebar, .toctree-wrapper > ul, .breadcrumb, .linenos, .lineno, .viewcode-link, sup.footnote, .t-navbar, "
    ".mw-editsection, footer"
)
INDEXES = re.compile(
    r"genindex|sitemap|modindex|-all|index-|allclasses|_index|search|toc|/index|identifier|annotated|hierarchy|contents|license"
)
WORD = re.compile(r"\w+")

Reader = Callable[[bytes, Path], str]


def own(data: bytes, path: Path) -> str:
    try:
        document = extract(data, content_type="text/html", url=f"https://example.org/{path.name}")
    except ReadFailed as error:
        print(path, error.message, file=sys.stderr)
        return ""
    return re.sub(r" \{#[^{}\s]+\}$", "", document.text, flags=re.MULTILINE)


def readers() -> dict[str, Reader]:
    """Return the readers that can be measured here."""
    found: dict[str, Reader] = {"own": own}
    try:
        trafilatura = importlib.import_module("trafilatura")
        found["trafilatura"] = lambda data, _: trafilatura.extract(data, favor_recall=True, include_tables=True) or ""
    except ImportError:
        print("trafilatura is not installed", file=sys.stderr)
    try:
        resiliparse = importlib.import_module("resiliparse.extract.html2text")
        encoding = importlib.import_module("resiliparse.parse.encoding")
        found["resiliparse"] = lambda data, _: resiliparse.extract_plain_text(encoding.bytes_to_str(data), main_content=True)
    except ImportError:
        print("resiliparse is not installed", file=sys.stderr)
    return found


def words(text: str) -> Counter[str]:
    return Counter(WORD.findall(text.lower()))


def texts_of(data: bytes, content: str) -> tuple[Counter[str], Counter[str]]:
    """Return the words of the content, without what stands around it, and all words of the page."""
    tree = LexborHTMLParser(data)
    whole = words(tree.html or "")
    for node in tree.css(AROUND):
        node.decompose()
    kept: list[LexborNode] = []
    for node in tree.css(content):
        if not any(node.mem_id in {inner.mem_id for inner in outer.css("*")} for outer in kept):
            kept.append(node)
    return sum((words(node.text(deep=True, separator=" ")) for node in kept), Counter[str]()), whole


def measured(files: Sequence[Path], content: str, reader: Reader) -> tuple[float, float, float, float]:
    """Return the shares of words lost, altered and extra, and pages a second."""
    lost = altered = extra = wanted = stored = 0
    seconds = 0.0
    for path in files:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        reference, whole = texts_of(data, content)
        if reference.total() < 20:
            continue
        began = time.perf_counter()
        text = reader(data, path)
        seconds += time.perf_counter() - began
        # Words are compared without what joins them: "a.b" beside "a<wbr>.b" is neither lost nor altered.
        found = words(text)
        lost += (reference - found).total()
        altered += sum(count for word, count in (found - whole).items() if not word.isdigit())
        extra += (found - reference).total()
        wanted += reference.total()
        stored += found.total()
    return lost / max(1, wanted), altered / max(1, stored), extra / max(1, stored), len(files) / (seconds or 1)


def main() -> None:
    """Print a line for each set and reader."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="NAME", help="only these sets")
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--root", default="/nowhere", help="where packages were unpacked that are not installed")
    parser.add_argument("--own", action="store_true", help="only our own reader")
    options = parser.parse_args()
    chosen = [one for one in SETS if not options.sets or one[0] in options.sets]
    for name, reader in readers().items():
        if options.own and name != "own":
            continue
        losses: list[float] = []
        for title, folder, content in chosen:
            found = sorted(
                path
                for root in (Path("/"), Path(options.root))
                for path in (root / folder.lstrip("/")).rglob("*.htm*")
                if path.is_file() and not INDEXES.search(path.relative_to(root).as_posix().lower())
            )
            if not found:
                continue
            files = random.Random(7).sample(found, min(options.pages, len(found)))
            lost, altered, extra, pace = measured(files, content, reader)
            losses.append(lost)
            print(
                f"{name:12} {title:22} {len(files):4} pages  lost {lost:6.2%}  altered {altered:6.2%}"
                f"  extra {extra:6.2%}  {pace:4.0f} pages/s",
                flush=True,
            )
        if losses:
            print(f"{name:12} mean {sum(losses) / len(losses):.2%}, worst {max(losses):.2%}")


if __name__ == "__main__":
    main()
