"""How much of a folder's manual pages is read: ``python -m bench.manual_pages FOLDER [CACHE]``.

Holds the words of each page's text against those that ``man`` prints. ``man`` and ``col`` must be installed; CACHE keeps what
they printed for the next time. Prints the pages that failed, the share of words kept, and the ten worst pages with the words
that are missing.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pipeline.documents.page_writer import Document
from pipeline.documents.read_document import parse
from pipeline.errors import ReadFailed

_WORD = re.compile(r"\w+")
_ANCHOR = re.compile(r" \{#[^{}\s]+\}$", re.MULTILINE)


def main(folder: Path, cache: Path) -> None:
    """Read every page of ``folder`` and print what was kept."""
    shares: list[tuple[float, str, str]] = []
    failed: list[str] = []
    added: list[float] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            ours = words(_ANCHOR.sub("", body(parse(path.read_bytes(), path))))
        except ReadFailed as error:
            failed.append(f"{path.name}: {error.message}")
            continue
        theirs = words(printed(path, cache))
        missing = theirs - ours
        shares.append((1 - missing.total() / max(1, theirs.total()), path.name, " ".join(list(missing.elements())[:30])))
        added.append((ours - theirs).total() / max(1, theirs.total()))
    print(f"{len(shares)} pages read, {len(failed)} refused", *failed, sep="\n  ")
    kept = [share for share, _, _ in shares]
    print(f"words kept: median {statistics.median(kept):.2%}, mean {statistics.mean(kept):.2%}, worst {min(kept):.2%}")
    print(f"words that man does not print: median {statistics.median(added):.2%}, mean {statistics.mean(added):.2%}")
    for share, name, missing_words in sorted(shares)[:10]:
        print(f"  {share:.1%} {name}: {missing_words[:200]}")


def body(document: Document) -> str:
    """Return the text below the title."""
    return document.text.partition("\n")[2]


def words(text: str) -> Counter[str]:
    """Return how often each word occurs; signs do not count."""
    return Counter(_WORD.findall(text.casefold()))


def printed(path: Path, cache: Path) -> str:
    """Return what ``man`` prints of a page, without the lines at its top and its foot."""
    kept = cache / f"{path.name}.txt"
    if not kept.exists():
        environment = {**os.environ, "MANWIDTH": "2000", "LC_ALL": "C.UTF-8"}
        page = subprocess.run(["man", "-l", str(path)], env=environment, capture_output=True, check=False, timeout=120)
        plain = subprocess.run(["col", "-bx"], input=page.stdout, env=environment, capture_output=True, check=False)
        kept.write_bytes(plain.stdout)
    lines = kept.read_text("utf-8", "replace").strip("\n").split("\n")
    return "\n".join(lines[1:-1])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="manual-") as place:
        main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else Path(place))
