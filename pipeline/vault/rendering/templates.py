"""``Renderer``: renders notes with Jinja templates, which the user may edit.

A template cannot forget to escape: every plain string that it prints goes through ``inert``; only what this program made
(``Link``, ``Inert``) and what macros have printed already passes as it is. Joining strings in a template with ``~`` gives a plain
string again, so a mistake shows too many backslashes, never too few.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.compiler import CodeGenerator, Frame, MacroRef
from jinja2.runtime import Macro

from pipeline.config.workspace_files import later_templates
from pipeline.system.templates import Advice, TemplateEnvironment, TemplateFolder
from pipeline.text import labels
from pipeline.vault.output import escaping, formatting, page_markdown, user_blocks
from pipeline.vault.output.escaping import Inert, Link
from pipeline.vault.output.note import Kind, Note, Rendered

# Templates that workspaces of earlier versions lack.
_LATER = ("_worker.md.j2",)
_PLACE = re.compile(r"\{(\w+)\}")  # where a label takes a value: str.format would read more than names
_BLANKS = re.compile(r"\n\n\n+")  # not `{3,}`: so it is looked for as quickly as a word
_ADVICE = Advice("templates/README.md", "no note was changed")


class _PrintedMacro(Macro):
    """A macro whose result has been escaped piece by piece, and must not be escaped again as a whole."""

    def _invoke(self, arguments: list[Any], _autoescape: bool) -> str:
        return Inert(self._func(*arguments))


class _Code(CodeGenerator):
    def macro_def(self, macro_ref: MacroRef, frame: Frame) -> None:
        self.write("environment.printed(")
        super().macro_def(macro_ref, frame)
        self.write(")")


class _NoteEnvironment(TemplateEnvironment):
    code_generator_class = _Code

    @staticmethod
    def printed(macro: Macro) -> Macro:
        macro.__class__ = _PrintedMacro
        return macro


def _printed(value: object) -> object:
    """Jinja's last step before a value becomes text."""
    if type(value) is Inert:
        return value
    if isinstance(value, str):
        return escaping.inert(value)
    if isinstance(value, Link):
        return value.inline
    if value is None:
        raise TemplateError("a value is None; test for it before printing it")
    return value


def _cell(value: Link | str) -> Inert:
    return value.cell if isinstance(value, Link) else escaping.inert(value)


def _listed(values: Iterable[Link | str], separator: str = ", ") -> Inert:
    return Inert(separator.join(str(_printed(value)) for value in values))


def _passage(value: page_markdown.Passage) -> Inert:
    return page_markdown.markdown(value.text, value.lead, next(iter(value.citations), None))


def _quote(text: str, lead: str = "") -> Inert:
    return page_markdown.markdown(text, lead)


def _user_block(name: str) -> Inert:
    return Inert(user_blocks.empty_block(name))


class _Language:
    """The language of the note that is rendered: its labels, counts and dates."""

    def __init__(self) -> None:
        self.code = labels.ENGLISH

    def label(self, words: str, **values: object) -> Inert:
        """The label that is ``words`` in English, each ``{name}`` in it replaced by a value."""
        text = str(Inert(labels.label(words, self.code)) if labels.is_label(words) else escaping.inert(words))
        return Inert(_PLACE.sub(lambda found: str(_printed(values.get(found[1], found[0]))), text))

    def counted(self, number: int, one: str, many: str = "") -> str:
        return labels.count(number, one, many, self.code)

    def day(self, at: str) -> str:
        return labels.day(at, self.code)

    def duration(self, seconds: float) -> str:
        return labels.label(formatting.duration(seconds), self.code)


FILTERS = {
    "cell": _cell,
    "passage": _passage,
    "quote": _quote,
    "within": page_markdown.within,
    "listed": _listed,
    "money": formatting.money,
    "bill": formatting.bill,
    "clock": formatting.clock,
    "sentence": formatting.sentence,
}


OF_LANGUAGE = ("counted", "duration", "day")  # filters of the note's language


class Renderer:
    """Renders notes from the folder ``templates``: ``<kind>.md.j2`` for each kind of note. They are read once.

    ``compiled`` as in ``TemplateFolder``.
    """

    def __init__(self, templates: Path, compiled: Path | None = None) -> None:
        self.folder, self.compiled = templates, compiled
        environment = _NoteEnvironment(autoescape=False, keep_trailing_newline=True, finalize=_printed)
        self._language = _Language()
        environment.filters.update(FILTERS)
        environment.filters.update({name: getattr(self._language, name) for name in OF_LANGUAGE})
        environment.globals.update(user_block=_user_block, t=self._language.label)
        self._templates = TemplateFolder(templates, environment, _ADVICE, compiled, later_templates("vault", *_LATER))

    def version_of(self, kind: Kind) -> str:
        """Return a name for all that notes of a kind are rendered from: its template, and those that it may draw on."""
        return self._templates.version_of(f"{kind}.md.j2")

    def render(self, note: Note) -> Rendered:
        """Return the note rendered with its template.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, fails on this note, or does not end.
        """
        view: Any = note.view
        given = {name: getattr(view, name) for name in view.__dataclass_fields__}
        given["view"] = view  # all of them together, for a macro
        self._language.code = str(note.properties.get("lang", labels.ENGLISH))
        body = self._templates.render(f"{note.kind}.md.j2", given, f"{note.path}.md", _finished)
        return Rendered(note.path, note.properties, body)


def _finished(text: str) -> str:
    """The body of a note; raises if its user blocks are faulty."""
    body = _tidy(text)
    user_blocks.find(body)
    return body


def _tidy(text: str) -> str:
    """One blank line where a template left several, none at the ends, and no white space behind a line."""
    lines = "\n".join(map(str.rstrip, text.split("\n")))
    return _BLANKS.sub("\n\n", lines).strip("\n") + "\n"
