"""The folders of a build and what it did; site paths of the vault's files and of lists, and the files that links lead to.

A note keeps its place: ``reports/2026/x.md`` becomes ``reports/2026/x.html``, and ``Home.md`` the first page. A note that would
stand where the site has a page of its own goes below ``notes/``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote

from pipeline.system.files import read_bytes
from pipeline.system.manifest import Folder
from pipeline.text.cleaning import digest_of

SETTLED = "site"  # the kept entry for what all was made from when a build ended; "" if work was left
HOME = "Home.md"
PLURALS = {
    "home": "Home",
    "report": "Questions",
    "earlier": "Earlier",
    "topic": "Topics",
    "night": "Nights",
    "session": "Sessions",
    "source": "Sources",
    "worker": "Workers",
    "note": "Notes",
}
# Each list's name, and the kind of what is in it.
LISTS = {kind if kind == "earlier" else f"{kind}s": kind for kind in PLURALS if kind != "home"}
NAMES = {kind: name for name, kind in LISTS.items()}
BROWSE = "browse"
_OWN = {"assets", BROWSE, "search", "notes", "index", "404", "feed.xml", "sitemap.xml", "robots.txt"}
IMAGES = frozenset({".avif", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp"})
_PLAIN = re.compile(r"[A-Za-z0-9/._-]*")
_NO_WORD = re.compile(r"[^\w]+")
_PART_BYTES = 150
_NAME_BYTES = 250  # most file systems take 255; until it is in place, a file has a longer name


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What a build did, as sorted site paths. ``pages`` counts the notes with a page; ``problems`` say what was left out and
    why; ``notices`` list files that got another name or are never shown.
    """

    pages: int = 0
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a build: the vault, the site's templates, the site, and where derived values are kept.

    ``known`` are folders of the vault that were looked at just now.
    """

    vault: Path
    templates: Path
    site: Path
    state: Path
    known: Mapping[str, Folder] = field(default_factory=dict)


def read(root: Path, path: str) -> bytes | None:
    """Return the bytes of a plain file, None if there is none any more or it may not be read."""
    try:
        return read_bytes(f"{root}/{path}", follow=False)
    except OSError:
        return None


def stem_of(path: str) -> str:
    """Return a note's name without folder and suffix."""
    return path.rpartition("/")[2].removesuffix(".md")


def suffix_of(path: str) -> str:
    """Return a file's suffix in small letters, with its dot, or ""."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


@lru_cache(maxsize=20_000)
def page_of(path: str) -> str:
    """Return the site's path of a note's page."""
    return "index.html" if path == HOME else _fitting(_free(path.removesuffix(".md")) + ".html")


def file_of(path: str) -> str:
    """Return the site's path of an image."""
    return _fitting(_free(path))


def is_image(path: str) -> bool:
    """Tell whether a file of the vault is an image, which the site copies."""
    return suffix_of(path) in IMAGES


def _free(path: str) -> str:
    first = path.partition("/")[0].lower()
    return f"notes/{path}" if first in _OWN else path


def _fitting(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    data = name.encode()
    return path if len(data) <= _NAME_BYTES else f"{folder}{slash}{digest_of(data)[:32]}{suffix_of(name)}"


def root_of(page: str) -> str:
    """Return the way from a page to the top of the site: "" or some ``../``."""
    return "../" * page.count("/")


@lru_cache(maxsize=20_000)  # as many as pages
def encoded(path: str) -> str:
    """Return a site path as it may stand in an address."""
    return path if _PLAIN.fullmatch(path) else quote(path, safe="/._-~")


def fragment(anchor: str) -> str:
    """Return ``#anchor`` as it may stand in an address, "" for none."""
    return "#" + (anchor if _PLAIN.fullmatch(anchor) else quote(anchor, safe="-._~")) if anchor else ""


def heading_anchor(title: str) -> str:
    """Return the id that a heading has on its page; never one that a template uses."""
    return "h-" + (_NO_WORD.sub("-", title.lower()).strip("-") or "section")


def list_page(name: str, month: str = "") -> str:
    """Return the site's path of a page of the list called ``name``: the newest notes, or those of a month such as ``2026-11``."""
    return f"{BROWSE}/{name}.{month}.html" if month else f"{BROWSE}/{name}.html"


def tag_list(tag: str) -> str:
    """Return the name of a tag's list; tags that differ in letter case alone are one.

    A dot in it never stands before a digit, as that of a page's month does, and never alone.
    """
    parts = [
        part if len(part.encode()) <= _PART_BYTES else digest_of(part.encode())[:16] for part in tag.lower().split("/") if part
    ]
    return "/".join(["tags", *parts]).replace(".", "._")


def key_of(target: str) -> str:
    """Return the form of a path or name in which those that mean the same file are equal."""
    return target.lower().strip().strip("/").removesuffix(".md")


def whole(target: str, base: str) -> str:
    """Return the path that a Markdown link in the note ``base`` spells, whether there is such a file or not."""
    parts = [] if target.startswith("/") else base.split("/")[:-1]
    for part in unquote(target).split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


class Places:
    """The files of a vault, found by what a link says. Like Obsidian it takes a whole path or a bare name, in any letter case.

    Of several files with a name that one is meant which is least deep.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for path in sorted(paths, key=lambda path: (path.count("/"), path)):
            key = key_of(path)
            self._paths.setdefault(key, path)
            self._names.setdefault(name_of(key), path)

    def find(self, target: str, base: str = "") -> str:
        """Return the path of the file that a link to ``target`` in the note ``base`` leads to, "" if there is none."""
        if not target:
            return base
        key = key_of(target)
        return self._paths.get(key, "") or ("" if "/" in key else self._names.get(key, ""))

    def find_relative(self, target: str, base: str) -> str:
        """Return the path of the file that a Markdown link in the note ``base`` leads to, "" if there is none."""
        return self.find(whole(target, base)) or self.find(unquote(target))


def name_of(key: str) -> str:
    """Return the bare name in the key of a path."""
    return key.rpartition("/")[2]
