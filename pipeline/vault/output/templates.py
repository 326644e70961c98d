"""``Renderer``: renders notes with Jinja templates, which the user may edit.

A template cannot forget to escape: every plain string that it prints goes through ``inert``; only what this program made
(``Link``, ``Inert``) and what macros have printed already passes as it is. Joining strings in a template with ``~`` gives a plain
string again, so a mistake shows too many backslashes, never too few.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, TemplateError
from jinja2.runtime import Macro

from pipeline.system.files import read_text
from pipeline.system.templates import Advice, TemplateEnvironment, TemplateFolder
from pipeline.text import translations
from pipeline.text.humanize import duration
from pipeline.text.times import clock_at
from pipeline.vault.output import escaping, passage_markdown
from pipeline.vault.output.escaping import Inert, Link
from pipeline.vault.output.user_text import empty_block, find_blocks
from pipeline.vault.output.writer import GeneratedFile

_PLACE = re.compile(r"\{(\w+)\}")  # where a label takes a value: str.format would read more than names
_BLANKS = re.compile(r"\n\n\n+")  # not `{3,}`: so it is looked for as quickly as a word
_ADVICE = Advice("templates/README.md", "no note was changed")


class _NoteEnvironment(TemplateEnvironment):
    def call(self, context: Any, called: Any, *arguments: Any, **named: Any) -> Any:
        """Call what a template calls; what a macro printed has been escaped piece by piece, and must not be again as a whole."""
        found = super().call(context, called, *arguments, **named)
        return Inert(found) if isinstance(called, Macro) else found


def _printed(value: object) -> object:
    """Jinja's last step before a value becomes text."""
    if type(value) is Inert:
        return value
    if isinstance(value, Link):
        return value.inline
    if value is None:
        raise TemplateError("a value is None; test for it before printing it")
    return value if isinstance(value, int | float) else escaping.inert(str(value))


def _listed(values: Iterable[Link | str], separator: str = ", ") -> Inert:
    return Inert(separator.join(str(_printed(value)) for value in values))


class Renderer:
    """Renders notes from the folder ``templates``: ``<kind>.md.j2`` for each kind of note. They are read once."""

    def __init__(self, templates: Path) -> None:
        self.folder = templates
        environment = _NoteEnvironment(autoescape=False, keep_trailing_newline=True, finalize=_printed)
        self._language = translations.ENGLISH  # of the note that is rendered: of its labels, counts and dates
        self.filters: dict[str, Callable[..., object]] = {
            "cell": lambda value: value.cell if isinstance(value, Link) else escaping.inert(value),
            "quote": passage_markdown.markdown,
            "within": passage_markdown.within,
            "listed": _listed,
            "sentence": escaping.sentence,
            "counted": lambda number, one, many="", lang="": translations.count(number, one, many, lang or self._language),
            "duration": lambda seconds: translations.label(duration(seconds), self._language),
            "clock": clock_at,
            "day": lambda at, lang="": translations.day(at, lang or self._language),
        }
        environment.filters.update(self.filters)
        environment.globals.update(user_block=lambda name: Inert(empty_block(name)), t=self._label)
        self._templates = TemplateFolder(templates, environment, _ADVICE)
        self.version_of = self._templates.version_of

    def render(self, note: GeneratedFile) -> str:
        """Return the body of a note rendered with the template of its kind.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, or fails on this note.
        """
        self._language = str(note.properties.get("lang", translations.ENGLISH))
        given = {**note.view, "view": note.view}  # all of them together, for a macro
        return self._templates.render(f"{note.kind}.md.j2", given, note.path, _finished)

    def _label(self, words: str, **values: object) -> Inert:
        """The label that is ``words`` in English, each ``{name}`` in it replaced by a value."""
        text = str(Inert(translations.label(words, self._language)) if translations.is_label(words) else escaping.inert(words))
        return Inert(_PLACE.sub(lambda found: str(_printed(values.get(found[1], found[0]))), text))


def shipped(name: str, **given: object) -> str:
    """Return a text, page or image made from a template of this package, which no user edits; all but text is escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    environment.autoescape = not name.endswith(".txt.j2")  # no reader of plain text obeys it
    return environment.from_string(read_text(Path(__file__).parents[1] / name)).render(given)


def _finished(text: str) -> str:
    """The body of a note: one blank line where a template left several, none at the ends. Raises if its blocks are faulty."""
    body = _BLANKS.sub("\n\n", "\n".join(map(str.rstrip, text.split("\n")))).strip("\n") + "\n"
    find_blocks(body)
    return body
