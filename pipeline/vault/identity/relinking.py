"""Changes the links of a rendered text, or of a line of a canvas: to another path, or into plain words.

``Links`` returns the path to link to for the path that is there, both without suffix; "" makes plain words of the link, None
leaves it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from pipeline.vault.output.escaping import inert

_LINK = re.compile(r"!?\[\[(?P<to>[^\[\]|#\\\n]+)(?P<place>#[^\[\]|\\\n]*)?(?:\\?\|(?P<words>[^\[\]\n]*))?\]\]")
_HIDDEN = "Hidden"  # what stands on the card of a hidden note


Links = Callable[[str], str | None]


def nowhere(_path: str) -> str:
    """Make plain words of every link."""
    return ""


def relinked(text: str, links: Links, plain: Callable[[str], str] = str) -> str:
    """Return a text with its links changed; ``plain`` makes the words of a removed link fit for where they stand."""
    return _LINK.sub(lambda found: _link(found, links, plain), text)


def _link(found: re.Match[str], links: Links, plain: Callable[[str], str]) -> str:
    path = links(found["to"])
    if path is None:
        return found[0]
    return found[0].replace(found["to"], path, 1) if path else plain(found["words"] or "")


def relinked_node(line: str, links: Links) -> str:
    """Return a line of a canvas, which has each node on a line of its own; a line that is not a node as it is."""
    inside = line.strip().removesuffix(",")
    try:
        node = json.loads(inside) if inside.startswith("{") and inside.endswith("}") else None
    except ValueError:
        node = None
    if not isinstance(node, dict) or (changed := _node(node, links)) == node:
        return line
    return line.replace(inside, json.dumps(changed, ensure_ascii=False, separators=(",", ":")))


def _node(node: Mapping[str, object], links: Links) -> dict[str, object]:
    file, text = node.get("file"), node.get("text")
    if isinstance(text, str):
        return {**node, "text": relinked(text, links, inert)}
    if not isinstance(file, str) or (path := links(file.removesuffix(".md"))) is None:
        return dict(node)
    if path:
        return {**node, "file": f"{path}.md"}
    return {("text" if name == "file" else name): value for name, value in {**node, "type": "text", "file": _HIDDEN}.items()}
