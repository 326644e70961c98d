"""Cache of extracted pages on disk, with the validators (ETag, Last-Modified) for conditional requests."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline import __version__
from pipeline.documents.extract import VERSION
from pipeline.ports import Page
from pipeline.system.files import read_bytes, write
from pipeline.text.normalise import digest_of

MOST_PAGES = 5_000


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A page and the validators that its server sent with it; at least one of them is not ""."""

    page: Page
    etag: str
    last_modified: str

    def conditions(self) -> dict[str, str]:
        """Return the headers of a conditional request for the page."""
        found = {"if-none-match": self.etag, "if-modified-since": self.last_modified}
        return {name: value for name, value in found.items() if value}


def cacheable(page: Page, headers: Mapping[str, str]) -> CachedPage | None:
    """Return the page with its validators, or None if its server sent none or forbids caching."""
    etag, modified = (_validator(headers.get(name, "")) for name in ("etag", "last-modified"))
    if not (etag or modified) or "no-store" in headers.get("cache-control", "").lower():
        return None
    return CachedPage(page, etag, modified)


def _validator(value: str) -> str:
    return value if value.isascii() and value.isprintable() and len(value) <= 200 else ""


class PageCache:
    """Keeps at most ``MOST_PAGES`` pages in ``folder``, one file each; ``redact`` removes API keys from what is written.

    No method raises an error: a page that cannot be cached is fetched again.
    """

    def __init__(self, folder: Path, redact: Callable[[bytes], bytes] = lambda data: data) -> None:
        self._folder, self._redact = folder, redact

    def get(self, url: str) -> CachedPage | None:
        """Return the cached page of the address ``url``, or None."""
        try:
            found = json.loads(gzip.decompress(read_bytes(self._path(url))))
            page = found["page"] | {name: tuple(found["page"].get(name, ())) for name in ("notices", "sheets")}
            return CachedPage(Page(**page), found["etag"], found["last_modified"])
        except (OSError, EOFError, ValueError, TypeError, KeyError):
            return None

    def put(self, url: str, cached: CachedPage) -> None:
        """Store a page; if there are too many, delete the oldest."""
        data = gzip.compress(self._redact(json.dumps(asdict(cached)).encode("ascii")), mtime=0)
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write(self._path(url), data, mode=0o600)
            self._shrink()

    def _path(self, url: str) -> Path:
        # The versions are part of the key because another version may extract other text.
        return self._folder / f"{digest_of(f'{__version__} {VERSION} {url}'.encode('utf-8', 'replace'))}.json.gz"

    def _shrink(self) -> None:
        with os.scandir(self._folder) as entries:
            files = [(entry.stat().st_mtime, entry.path) for entry in entries]
        for _, path in sorted(files)[: max(0, len(files) - MOST_PAGES)]:
            Path(path).unlink()
