"""Text of real documentation pages: ms a page, failures, and how much of the content comes out, without what surrounds it.

    python -m bench.extraction [--pages 600] [FOLDER ...]

The reference is what stands in the element that each set of pages is known to keep its content in. ``bare`` repeats the
measurement on the same pages robbed of every hint (class, id and role attributes, semantic elements), as pages from nowhere in
particular are. trafilatura and resiliparse are measured beside our own reader when they are installed. ``worker`` is our reader
through the process that can be killed, as a night uses it.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from pipeline.documents.extract import page_text
from pipeline.documents.extractor import Extractor
from pipeline.errors import ReadFailed

FOLDERS = ("/usr/share/doc/python3.11/html", "/usr/share/doc/postgresql-doc-15/html", "/usr/share/doc/nodejs/api")
CONTENT = "div.body[role=main], #apicontent, div.sect1, div.refentry, div.chapter, div.appendix, div.preface, div.part"
AROUND = ".headerlink, .mark, .navheader, .navfooter, script, style, .toc, .related"
ANCHOR = re.compile(r" \{#[^{}\s]+\}$", re.MULTILINE)
WORD = re.compile(r"\w+")
HINTS = re.compile(r"""\s(?:class|id|role|aria-[a-z]+)\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)""")
SEMANTIC = re.compile(r"<(/?)(?:main|nav|article|header|footer|aside|section)\b", re.IGNORECASE)

Reader = Callable[[str], str]


def own(source: str) -> str:
    try:
        document = page_text(source.encode(), "text/html; charset=utf-8", "https://example.org/page")
    except ReadFailed:
        return ""
    return ANCHOR.sub("", document.text)


def readers() -> dict[str, Reader]:
    """Return the readers that can be measured here."""
    found: dict[str, Reader] = {"own": own}
    try:
        trafilatura = importlib.import_module("trafilatura")
        found["trafilatura"] = lambda source: trafilatura.extract(source, favor_recall=True, include_tables=True) or ""
    except ImportError:
        print("trafilatura is not installed", file=sys.stderr)
    try:
        resiliparse = importlib.import_module("resiliparse.extract.html2text")
        found["resiliparse"] = lambda source: resiliparse.extract_plain_text(source, main_content=True)
    except ImportError:
        print("resiliparse is not installed", file=sys.stderr)
    return found


def words(text: str) -> Counter[str]:
    return Counter(WORD.findall(text.lower()))


def reference(source: str) -> Counter[str]:
    """Return the words of the content's element, none when the page has no such element."""
    tree = LexborHTMLParser(source)
    content = tree.css_first(CONTENT)
    if content is None:
        return Counter()
    for node in content.css(AROUND):
        node.decompose()
    return words(content.text(deep=True, separator=" "))


def bare(source: str) -> str:
    return SEMANTIC.sub(r"<\1div", HINTS.sub("", source))


def chosen(folders: Sequence[Path], count: int) -> list[str]:
    """Return the sources of ``count`` pages with content, the same ones every time."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.html"))
    random.Random(7).shuffle(paths)
    found: list[str] = []
    for path in paths:
        source = path.read_text("utf-8", "replace")
        if len(found) < count and reference(source).total() > 50 and len(source) < 3_000_000:
            found.append(source)
    return found


def measure(name: str, reader: Reader, pages: Sequence[str], wanted: Sequence[Counter[str]]) -> None:
    times, recalls, precisions, failures = [], [], [], 0
    for source, expected in zip(pages, wanted, strict=True):
        began = time.perf_counter()
        got = words(reader(source))
        times.append(1_000 * (time.perf_counter() - began))
        common = (got & expected).total()
        failures += common == 0
        recalls.append(common / expected.total())
        precisions.append(common / got.total() if got else 0.0)
    print(
        f"{name:20} {statistics.median(times):8.2f} {statistics.mean(times):8.2f} {max(times):8.0f} {failures:8}"
        f" {statistics.mean(recalls):8.3f} {sum(r < 0.5 for r in recalls):8} {statistics.mean(precisions):9.3f}"
    )


async def through_worker(pages: Sequence[str]) -> None:
    extractor = Extractor()
    failures = 0
    began = time.perf_counter()
    for source in pages:
        try:
            await extractor.document(source.encode(), "text/html; charset=utf-8", "https://example.org/page")
        except ReadFailed:
            failures += 1
    each = 1_000 * (time.perf_counter() - began) / len(pages)
    status = Path(f"/proc/{extractor.pid}/status").read_text()
    peak = int(re.findall(r"VmHWM:\s*(\d+)", status)[0]) / 1_000
    print(f"worker: {each:.2f} ms a page, {failures} failures, {peak:.0f} MB at most")
    await extractor.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[Path(name) for name in FOLDERS])
    parser.add_argument("--pages", type=int, default=600)
    options = parser.parse_args()
    pages = chosen(options.folders, options.pages)
    if not pages:
        raise SystemExit("no pages there: name a folder of HTML documentation")
    wanted = [reference(source) for source in pages]
    print(f"{len(pages)} pages, {sum(map(len, pages)) / len(pages) / 1_000:.0f} KB on average")
    print(f"{'reader':20} {'ms p50':>8} {'ms mean':>8} {'ms max':>8} {'failed':>8} {'recall':>8} {'<half':>8} {'precision':>9}")
    robbed = [bare(source) for source in pages]
    for name, reader in readers().items():
        measure(name, reader, pages, wanted)
        measure(f"{name}, bare", reader, robbed, wanted)
    asyncio.run(through_worker(pages))


if __name__ == "__main__":
    main()
