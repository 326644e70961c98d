"""``page``: a document as one HTML file with nothing beside it: no script, nothing to load, styles inside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from pipeline.system.files import read_text
from pipeline.vault.export.portable import Portable

_REFERENCE = re.compile(r"\[\^(\d+)\]")


def page(document: Portable) -> str:
    """Return the document as an HTML file."""
    here = Path(__file__).parent
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(read_text(here / "page.html.j2"))
    reader, env = _reader(), {"notes": len(document.notes), "seen": set[str]()}
    return template.render(
        title=document.title,
        style=Markup(read_text(here / "page.css")),  # noqa: S704 - a file of ours
        body=Markup(reader.render(document.body, env)),  # noqa: S704 - the Markdown reader lets no HTML through
        notes=[Markup(reader.renderInline(note, env)) for note in document.notes],  # noqa: S704 - as above
    )


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable("image")
    reader.validateLink = _is_safe  # type: ignore[method-assign]
    reader.add_render_rule("text", _text)
    return reader


def _text(_renderer: Any, tokens: Sequence[Token], place: int, _options: Any, env: dict[str, Any]) -> str:
    """Text in which a citation is a link to its footnote, the first one of each also the place to go back to."""

    def reference(found: re.Match[str]) -> str:
        number = found[1]
        if not 1 <= int(number) <= env["notes"]:
            return found[0]
        name = "" if number in env["seen"] else f' id="from-{number}"'
        env["seen"].add(number)
        return f'<sup><a href="#note-{number}"{name} aria-label="Footnote {number}">{number}</a></sup>'

    return _REFERENCE.sub(reference, str(escape(tokens[place].content)))


def _is_safe(url: str) -> bool:
    return bool(re.match(r"(?:https?:|mailto:|#)", url, re.IGNORECASE))
