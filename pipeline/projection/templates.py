"""Notes through Jinja templates that are their user's to edit.

A template cannot forget to escape: every plain string that it prints goes through ``inert``; only what this program made
(``Link``, ``Inert``) and what macros have printed already passes as it is. Joining strings in a template with ``~`` gives a plain
string again, so a mistake shows too many backslashes, never too few.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError, meta
from jinja2.compiler import CodeGenerator, Frame, MacroRef
from jinja2.runtime import Macro

from pipeline.errors import TemplateInvalid
from pipeline.projection import blocks, inert, wording
from pipeline.projection.inert import Inert, Link
from pipeline.projection.notes import Kind, Note, Rendered
from pipeline.text import digest_of

_ADVICE = "correct it (templates/README.md lists what each template is given), then run `research build`; no note was changed"


class _PrintedMacro(Macro):
    """A macro whose result has been escaped piece by piece, and must not be escaped again as a whole."""

    def _invoke(self, arguments: list[Any], autoescape: bool) -> str:
        return Inert(super()._invoke(arguments, autoescape))


class _Code(CodeGenerator):
    def macro_def(self, macro_ref: MacroRef, frame: Frame) -> None:
        self.write("environment.printed(")
        super().macro_def(macro_ref, frame)
        self.write(")")


class _NoteEnvironment(Environment):
    code_generator_class = _Code

    @staticmethod
    def printed(macro: Macro) -> Macro:
        macro.__class__ = _PrintedMacro
        return macro


def _printed(value: object) -> object:
    """Jinja's last step before a value becomes text."""
    if isinstance(value, Link):
        return value.inline
    if isinstance(value, str):
        return inert.inert(value)
    if value is None:
        raise TemplateError("a value is None; test for it before printing it")
    return value


def _cell(value: Link | str) -> Inert:
    return value.cell if isinstance(value, Link) else inert.inert(value)


def _embed(value: Link) -> Inert:
    return value.embed


def _listed(values: Iterable[Link | str], separator: str = ", ") -> Inert:
    return Inert(separator.join(str(_printed(value)) for value in values))


def _user_block(name: str) -> Inert:
    return Inert(blocks.empty_block(name))


FILTERS = {
    "cell": _cell,
    "embed": _embed,
    "listed": _listed,
    "counted": wording.count,
    "duration": wording.duration,
    "money": wording.money,
    "day": wording.day,
    "clock": wording.clock,
    "sentence": wording.sentence,
}


class Renderer:
    """Renders notes from the folder ``templates``: ``<kind>.md.j2`` for each kind of note."""

    def __init__(self, templates: Path) -> None:
        self.folder = templates
        self._environment = _NoteEnvironment(
            loader=FileSystemLoader(self.folder),
            undefined=StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
            finalize=_printed,
        )
        self._environment.filters.update(FILTERS)
        self._environment.globals["user_block"] = _user_block

    def version_of_all(self) -> str:
        """Return a name for all templates of the folder together."""
        names = sorted(path.name for path in self.folder.glob("*.j2"))
        return digest_of(json.dumps([(name, self._source(name)) for name in names]).encode())

    def version(self, kind: Kind) -> str:
        """Return a name for all that notes of a kind are rendered from: its template, and those that it may draw on."""
        read: dict[str, str] = {}
        wanted = [f"{kind}.md.j2"]
        while wanted:
            name = wanted.pop()
            if name not in read:
                read[name] = self._source(name)
                wanted += self._drawn_on(read[name])
        return digest_of(json.dumps(sorted(read.items())).encode())

    def _source(self, name: str) -> str:
        try:
            return (self.folder / name).read_bytes().decode("utf-8", "backslashreplace")
        except OSError:
            return ""

    def _drawn_on(self, source: str) -> Iterable[str]:
        """The templates that one names; all of them if it works out a name, or cannot be parsed."""
        everything = [path.name for path in self.folder.glob("*.j2")]
        try:
            named = list(meta.find_referenced_templates(self._environment.parse(source)))
        except TemplateSyntaxError:
            return everything
        return everything if None in named else [name for name in named if name]

    def render(self, note: Note) -> Rendered:
        """Return the note as its template makes it.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, or fails on this note.
        """
        name = f"{note.kind}.md.j2"
        given = {part.name: getattr(note.view, part.name) for part in fields(note.view)}  # type: ignore[arg-type]
        try:
            body = _tidy(self._environment.get_template(name).render(given))
            blocks.find(body)
        except TemplateNotFound as error:
            raise self._invalid(str(error.name), 0, "is missing", note, _RESTORE) from error
        except TemplateSyntaxError as error:
            raise self._invalid(error.name or name, error.lineno, error.message or "syntax error", note) from error
        except Exception as error:
            file, line = self._place_of(error, name)
            raise self._invalid(file, line, str(error) or type(error).__name__, note) from error
        return Rendered(note.path, note.properties, body)

    def _place_of(self, error: BaseException, name: str) -> tuple[str, int]:
        """The innermost place in a template that the error went through."""
        inside = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == self.folder]
        return (Path(inside[-1].filename).name, inside[-1].lineno or 0) if inside else (name, 0)

    def _invalid(self, file: str, line: int, what: str, note: Note, advice: str = _ADVICE) -> TemplateInvalid:
        where = str(self.folder / file) + (f", line {line}" if line else "")
        return TemplateInvalid(f"{where}: {what} (while writing {note.path}.md)", hint=advice)


_RESTORE = "put it back: `research init` in an empty folder makes a fresh copy of all templates; no note was changed"


def _tidy(text: str) -> str:
    """One blank line where a template left several, none at the ends, and no white space behind a line."""
    lines: list[str] = []
    for line in (line.rstrip() for line in text.split("\n")):
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip("\n") + "\n"
