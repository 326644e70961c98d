"""``moved_drawings``: drawings and canvases that a person moved or renamed; they are made again, and the build says so.

A note is followed by its id. A drawing has none: it is known by what it was when the last build left it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipeline.system.safe_tree import Obstacle, Tree
from pipeline.text.normalise import digest_of
from pipeline.vault.cache.built_files import Files
from pipeline.vault.identity.found_notes import seen_files
from pipeline.vault.identity.plain_files import bare_of

_DRAWN = (".canvas", ".svg")


def moved_drawings(tree: Tree, files: Files, missing: Iterable[str]) -> Mapping[str, str]:
    """Return where the ``missing`` drawings of the last build are now, by their path; read before anything is written.

    One that was changed since is not recognised, unless it kept its name.
    """
    lost = {path: found for path in sorted(missing) if path.endswith(_DRAWN) and (found := files.find(path))}
    if not lost:
        return {}
    by_digest = {found.digest: path for path, found in lost.items()}
    by_name = {path.rpartition("/")[2]: path for path in lost}
    moved: dict[str, str] = {}
    for path in seen_files(tree):
        if path.endswith(_DRAWN) and files.find(path) is None:
            data = _bytes_of(tree, path)
            old = by_digest.get(digest_of(data)) or by_name.get(path.rpartition("/")[2] if bare_of(path, data) != data else "")
            if old:
                moved.setdefault(old, path)
    return moved


def _bytes_of(tree: Tree, path: str) -> bytes:
    try:
        return tree.read(path) or b""
    except Obstacle:
        return b""
