"""What becomes of a note that is no longer made: the report that it led to takes over a person's words and links to it.

The writer moves the old file to ``attic/`` if a person wrote in it, and appends what stands in its blocks to the report's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipeline.system.safe_tree import Obstacle, Tree
from pipeline.text.normalise import digest_of
from pipeline.vault.identity.identity import relinked, seen_files, targets_in
from pipeline.vault.identity.moved_and_hidden import is_retired
from pipeline.vault.kept import Files
from pipeline.vault.output.files import GeneratedFile, as_bytes, as_text
from pipeline.vault.paths import HOME

_HEIRS = ("report", "session", "topic")  # of the notes that it led to, the first of these kinds


def taken_over(
    tree: Tree, files: Sequence[GeneratedFile], orphans: Mapping[str, str]
) -> tuple[list[GeneratedFile], dict[str, str]]:
    """Return the files with those that they take over, and the path to link to for each orphan, both without suffix.

    ``orphans`` are the files that are no longer made, with their kinds. Of the notes that one led to, the newest report takes it
    over. One that led to none of the files has no heir, except that the home note takes over what earlier versions made.
    """
    at = {one.path.removesuffix(".md"): one for one in files if one.id}
    home = next((one for one in files if one.id == "home"), None)
    former, links = dict[str, list[str]](), dict[str, str]()
    for path, kind in sorted(orphans.items()):
        led = [at[name] for name in targets_in(_bytes_of(tree, path)) if name in at and name != HOME]
        found = [one for one in led if one.kind in _HEIRS] if kind != "memory" else []  # what was remembered is about no report
        heir = max(found, key=_rank, default=home if is_retired(kind) else None)
        if heir is not None:
            former.setdefault(heir.id, []).append(path)
            name = path.removesuffix(".md")
            links |= dict.fromkeys((name, name.rpartition("/")[2]), heir.path.removesuffix(".md"))
    return [replace(one, former=tuple(former.get(one.id, ()))) if one.id in former else one for one in files], links


def _rank(one: GeneratedFile) -> tuple[int, str, str]:
    return -_HEIRS.index(one.kind), str((one.properties or {}).get("created")), one.path


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
