"""Which kind of property each of ours is, as Obsidian keeps it in ``.obsidian/types.json``: a file that belongs to its user."""

from __future__ import annotations

import json
from typing import Any

from pipeline.system.safe_tree import Obstacle, Tree

PATH = ".obsidian/types.json"
# A property that is no number, time or one of Obsidian's own lists is text.
_NUMBERS = (
    "quality",  # only earlier versions wrote it; it stays ours, or notes with it would count as edited
    "cost_usd", "tokens", "duration_s", "words", "sources", "facts", "quotes", "searches", "pages", "versions", "cited_by",
    "disputed", "disagreements", "changes", "open_questions", "questions", "done", "not_found", "failed", "skipped",
    "rounds", "workers", "sessions", "reports", "earlier_reports",
)  # fmt: skip
_TEXTS = (
    "title", "kind", "id", "status", "query", "session", "report", "night", "previous", "perspective", "source_url", "host",
    "origin", "author", "published", "superseded_by", "lang",
)  # fmt: skip
TYPES: dict[str, str] = {
    **dict.fromkeys(_TEXTS, "text"),
    **dict.fromkeys(_NUMBERS, "number"),
    "aliases": "aliases",
    "tags": "tags",
    "cssclasses": "multitext",
    "read_for": "multitext",
    "created": "datetime",
    "archived": "checkbox",
}


def complete(tree: Tree, *, dry: bool = False) -> tuple[bool, str]:
    """Add the types that the vault's ``types.json`` lacks; return whether it lacked any, and the obstacle or "".

    ``dry``: nothing is written.

    Raises:
        OSError: the disk refuses.
    """
    try:
        data = tree.read(PATH)
        text = completed(data.decode("utf-8") if data is not None else None)
        if text is not None and not dry:
            tree.write(PATH, text.encode())
    except (ValueError, Obstacle) as error:
        return False, f"{PATH}: {error}; left as it is, so Obsidian may show some properties as text"
    return text is not None, ""


def are_complete(tree: Tree) -> bool:
    """Return whether ``complete`` has nothing to do, and nothing to report."""
    try:
        return complete(tree, dry=True) == (False, "")
    except OSError:
        return False


def completed(text: str | None) -> str | None:
    """Return ``types.json`` with the types that it lacks; None if it lacks none. ``text`` None: there is no such file.

    A type that its user chose for one of our properties stays.

    Raises:
        ValueError: it is not what Obsidian writes; only its user can say what was meant.
    """
    whole = _parsed(text) if text is not None and text.strip() else {}
    types = whole.get("types", {})
    if not isinstance(types, dict):
        raise ValueError("“types” is no list of properties")
    missing = {name: kind for name, kind in TYPES.items() if name not in types}
    if not missing:
        return None
    return json.dumps({**whole, "types": {**types, **missing}}, ensure_ascii=False, indent=2) + "\n"


def _parsed(text: str) -> dict[str, Any]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not valid JSON") from error
    if not isinstance(whole, dict):
        raise ValueError("it holds no settings")
    return whole
