"""Pages as last read, with what their servers need to tell whether they have changed. A cache: it may vanish at any time."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from pipeline import __version__
from pipeline.ports import Page
from pipeline.text.normalise import digest_of

MOST_PAGES = 5_000


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A page, and the validators its server sent with it; at least one of them is not ""."""

    page: Page
    etag: str
    last_modified: str

    def conditions(self) -> dict[str, str]:
        """Return the request headers that ask for the page only if it has changed."""
        found = {"if-none-match": self.etag, "if-modified-since": self.last_modified}
        return {name: value for name, value in found.items() if value}


def keepable(page: Page, headers: Mapping[str, str]) -> CachedPage | None:
    """Return the page for keeping, or None when its server sent nothing to ask with or forbids it."""
    etag, modified = (_sendable(headers.get(name, "")) for name in ("etag", "last-modified"))
    if not (etag or modified) or "no-store" in headers.get("cache-control", "").lower():
        return None
    return CachedPage(page, etag, modified)


def _sendable(value: str) -> str:
    return value if value.isascii() and value.isprintable() and len(value) <= 200 else ""


class PageCache:
    """Keeps pages in ``folder``, one file each, at most 5,000; ``redact`` takes keys out of what is written.

    Nothing here ever raises: what cannot be kept is read anew.
    """

    def __init__(self, folder: Path, redact: Callable[[bytes], bytes] = lambda data: data) -> None:
        self._folder, self._redact = folder, redact

    def get(self, url: str) -> CachedPage | None:
        """Return the page last kept for the address ``url``."""
        try:
            found = json.loads(gzip.decompress(self._path(url).read_bytes()))
            return CachedPage(Page(**found["page"]), found["etag"], found["last_modified"])
        except (OSError, EOFError, ValueError, TypeError, KeyError):
            return None

    def put(self, url: str, kept: CachedPage) -> None:
        """Keep a page; the oldest go when there are too many."""
        data = gzip.compress(self._redact(json.dumps(asdict(kept)).encode("ascii")), mtime=0)
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=self._folder, prefix=".", delete=False) as file:
                file.write(data)
            Path(file.name).replace(self._path(url))
            self._shrink()

    def _path(self, url: str) -> Path:
        # Another version of the program may read the same page differently.
        return self._folder / f"{digest_of(f'{__version__} {url}'.encode('utf-8', 'replace'))}.json.gz"

    def _shrink(self) -> None:
        with os.scandir(self._folder) as entries:
            files = [(entry.stat().st_mtime, entry.path) for entry in entries]
        for _, path in sorted(files)[: max(0, len(files) - MOST_PAGES)]:
            Path(path).unlink()
