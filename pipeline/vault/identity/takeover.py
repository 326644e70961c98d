"""What becomes of a note that is no longer made: the report that it led to takes over a person's words and links to it.

The writer moves the old file to ``attic/`` if a person wrote in it, and appends what stands in its blocks to the report's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipeline.system.safe_tree import Obstacle, Tree
from pipeline.text.normalise import digest_of
from pipeline.vault.identity.decisions import is_retired
from pipeline.vault.identity.identity import seen_files
from pipeline.vault.identity.placement import relinked, targets_in
from pipeline.vault.kept import Files
from pipeline.vault.output.files import PlacedFile, as_bytes, as_text
from pipeline.vault.paths import HOME

_HEIRS = ("report", "session", "topic")  # of the notes that it led to, the first of these kinds


def taken_over(tree: Tree, files: Sequence[PlacedFile], orphans: Mapping[str, str]) -> tuple[list[PlacedFile], dict[str, str]]:
    """Return the files with those that they take over, and the path to link to for each orphan, both without suffix.

    ``orphans`` are the files that are no longer made, with their kinds. One that led to none of the files has no heir, except
    that the home note takes over what earlier versions made, and what was remembered in any case.
    """
    at = {placed.file.path.removesuffix(".md"): place for place, placed in enumerate(files) if placed.file.id}
    homes = (place for place, placed in enumerate(files) if placed.file.id == "home")
    home, former, links = next(homes, None), dict[int, list[str]](), dict[str, str]()
    for path, kind in sorted(orphans.items()):
        found = None if kind == "memory" else _heir(_bytes_of(tree, path), kind, files, at)
        place = home if found is None and is_retired(kind) else found
        if place is not None:
            former.setdefault(place, []).append(path)
            heir = files[place].file.path.removesuffix(".md")
            links |= dict.fromkeys((path.removesuffix(".md"), path.removesuffix(".md").rpartition("/")[2]), heir)
    return [replace(one, former=tuple(former.get(place, ()))) for place, one in enumerate(files)], links


def _heir(data: bytes, kind: str, files: Sequence[PlacedFile], at: Mapping[str, int]) -> int | None:
    """The place of the file that takes over: of a talk the report on what it is about, of others the newest that they led to."""
    head = data.partition(b"\n---")[0]
    about = next((line for line in head.split(b"\n") if line.startswith(b"session:")), b"") if kind == "talk" else b""
    if found := [at[path] for path in targets_in(about) if path in at]:
        return found[0]
    led = [at[path] for path in targets_in(data) if path in at and path != HOME]
    for wanted in _HEIRS:
        if found := [place for place in led if files[place].file.kind == wanted]:
            newest = max(found, key=lambda place: (str((files[place].file.properties or {}).get("created")), place))
            return _latest(newest, files, at) if kind == "question" else newest
    return None


def _latest(place: int, files: Sequence[PlacedFile], at: Mapping[str, int]) -> int:
    """The latest report on the question of this one."""
    seen = set[int]()
    while place not in seen:
        seen.add(place)
        later = targets_in(str((files[place].file.properties or {}).get("superseded_by", "")).encode())
        place = next((at[path] for path in later if path in at), place)
    return place


def relink(tree: Tree, files: Files, links: Mapping[str, str]) -> Iterator[str]:
    """Change a person's links in all notes of the vault; yield the paths of a person's own files that were changed.

    ``files`` are those of the last build: one that is as it left them has nothing of a person. Only the targets of links change,
    as when Obsidian renames a note.
    """
    for path in list(seen_files(tree)) if links else ():
        data, made = _bytes_of(tree, path) if path.endswith(".md") else b"", files.find(path)
        if targets_in(data).isdisjoint(links) or (made and made.digest == digest_of(data)):
            continue
        tree.write(path, as_bytes(relinked(as_text(data), links.get)), durable=True)
        if made is None:
            yield path


def _bytes_of(tree: Tree, path: str) -> bytes:
    try:
        return tree.read(path) or b""
    except Obstacle:
        return b""
