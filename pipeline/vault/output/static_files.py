"""Files of the vault that are copied from the templates as they stand: the bases, and the style sheet of the notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import TemplateInvalid
from pipeline.system.folder_fingerprint import plain_bytes
from pipeline.vault.output.note import Plain

STYLE_SHEET = "research.css"
SNIPPET = f".obsidian/snippets/{STYLE_SHEET}"
_RESTORE = "put it back: `research init` in an empty folder makes a fresh copy of all templates; no file was changed"


def copies(templates: Path) -> Iterator[Plain]:
    """Yield the bases and the style sheet that stand among the ``templates``; a base edited in the vault is its reader's.

    Raises:
        TemplateInvalid: one cannot be read, or is not UTF-8.
    """
    for file in sorted((templates / "bases").glob("*.base")):
        yield Plain(f"bases/{file.name}", _text(file), yields=True)
    yield Plain(SNIPPET, _text(templates / STYLE_SHEET))


def _text(file: Path) -> str:
    try:
        return plain_bytes(file).decode()
    except (OSError, ValueError) as error:
        what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise TemplateInvalid(f"{file}: {what}", hint=_RESTORE) from error
