"""Where the links of a vault lead, told from its files alone."""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from pipeline.vault.output import frontmatter
from tests.vault.scanner import body_of, scan

Files = Mapping[str, str]  # the text of each file by its path in the vault


def targets(text: str) -> set[str]:
    """What a note's links name, those in its properties too."""
    in_properties = re.findall(r"\[\[([^\[\]|]+)\|", frontmatter.split(text)[0])
    return {*(target for target, _ in scan(body_of(text)).links), *in_properties}


def embeds(text: str) -> set[str]:
    """What a note shows in place."""
    return {embed.partition("|")[0] for embed in scan(body_of(text)).embeds}


def leading_nowhere(files: Files) -> list[tuple[str, str]]:
    """The links and embeds, as (note, target), that have no file, heading, block or view at their end."""
    found = ((path, target) for path, text in files.items() if path.endswith(".md") for target in targets(text) | embeds(text))
    return [(path, target) for path, target in found if _leads_nowhere(files, path, target)]


def _leads_nowhere(files: Files, path: str, target: str) -> bool:
    name, sign, place = target.partition("#")
    if name.endswith(".base"):
        return name not in files or (bool(sign) and place not in {view["name"] for view in yaml.safe_load(files[name])["views"]})
    if "." in name:
        return name not in files or bool(sign)
    text = files.get(f"{name}.md") if name else files[path]
    if text is None:
        return True
    found = scan(body_of(text))
    if place.startswith("^"):
        return place[1:] not in found.blocks
    return bool(sign) and _words(place) not in map(_words, found.headings)


def _words(heading: str) -> str:
    """A heading as Obsidian compares it with the one that a link names."""
    return re.sub(r"""[!"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+""", " ", heading).strip().casefold()


def same_names(files: Files) -> list[str]:
    """The names, letter case aside, that more than one note has."""
    stems = [path.rpartition("/")[2].casefold() for path in files if path.endswith(".md")]
    return sorted({stem for stem in stems if stems.count(stem) > 1})
