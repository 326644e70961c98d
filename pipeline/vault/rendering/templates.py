"""``Renderer``: renders notes with Jinja templates, which the user may edit.

A template cannot forget to escape: every plain string that it prints goes through ``inert``; only what this program made
(``Link``, ``Inert``) and what macros have printed already passes as it is. Joining strings in a template with ``~`` gives a plain
string again, so a mistake shows too many backslashes, never too few.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.compiler import CodeGenerator, Frame, MacroRef
from jinja2.runtime import Macro

from pipeline.errors import TemplateInvalid
from pipeline.system.folder_fingerprint import plain_bytes
from pipeline.system.worker_pool import Bounded, bounded
from pipeline.text.normalise import digest_of
from pipeline.vault.output import escaping, formatting, page_markdown, user_blocks
from pipeline.vault.output.escaping import Inert, Link
from pipeline.vault.output.note import Kind, Note, Rendered

# Where a template draws on another, and the plain way of naming it.
_DRAWING = re.compile(rb"{%[-+]?\s*(?:import|include|extends|from)\b(.*?)%}", re.DOTALL)
_NAMED = re.compile(rb"""\s*(?:"[^"]*"|'[^']*')(?:\s+(?!if\b)[\w\s,]*)?[-+]?\s*""")
_BLANKS = re.compile(r"\n\n\n+")  # not `{3,}`: so it is looked for as quickly as a word
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


class _NoteEnvironment(Bounded, Environment):
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


def _embed(value: Link) -> Inert:
    return value.embed


def _listed(values: Iterable[Link | str], separator: str = ", ") -> Inert:
    return Inert(separator.join(str(_printed(value)) for value in values))


def _passage(value: page_markdown.Passage) -> Inert:
    return page_markdown.markdown(value.text, value.lead, next(iter(value.citations), None))


def _quote(text: str, lead: str = "") -> Inert:
    return page_markdown.markdown(text, lead)


def _user_block(name: str) -> Inert:
    return Inert(user_blocks.empty_block(name))


FILTERS = {
    "cell": _cell,
    "embed": _embed,
    "passage": _passage,
    "quote": _quote,
    "within": page_markdown.within,
    "listed": _listed,
    "counted": formatting.count,
    "duration": formatting.duration,
    "money": formatting.money,
    "bill": formatting.bill,
    "day": formatting.day,
    "clock": formatting.clock,
    "sentence": formatting.sentence,
}


@lru_cache(maxsize=2)
def _environment(folder: Path, sources: frozenset[tuple[str, bytes]]) -> Environment:
    """The compiled templates of a folder, as long as none of them changes."""
    texts = dict(sources)

    def load(name: str) -> tuple[str, str, None] | None:
        return (texts[name].decode("utf-8"), str(folder / name), None) if name in texts else None

    environment = _NoteEnvironment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        finalize=_printed,
    )
    environment.filters.update(FILTERS)
    environment.globals["user_block"] = _user_block
    return environment


class Renderer:
    """Renders notes from the folder ``templates``: ``<kind>.md.j2`` for each kind of note. They are read once."""

    def __init__(self, templates: Path) -> None:
        self.folder = templates
        self._sources = {path.name: _bytes_of(path) for path in sorted(templates.glob("*.j2"))}
        self._environment = _environment(templates, frozenset(self._sources.items()))

    @property
    def version(self) -> str:
        """A name for all the templates together."""
        return _name_of(self._sources)

    def version_of(self, kind: Kind) -> str:
        """Return a name for all that notes of a kind are rendered from: its template, and those that it may draw on."""
        read: dict[str, bytes] = {}
        wanted = [f"{kind}.md.j2"]
        while wanted:
            name = wanted.pop()
            if name not in read:
                read[name] = self._sources.get(name, b"")
                wanted += self._drawn_on(read[name])
        return _name_of(read)

    def _drawn_on(self, source: bytes) -> Iterable[str]:
        """The templates that one may draw on: those whose name it contains; all of them if it computes a name."""
        if not all(map(_NAMED.fullmatch, _DRAWING.findall(source))):
            return self._sources
        return [name for name in self._sources if name.encode() in source]

    def render(self, note: Note) -> Rendered:
        """Return the note rendered with its template.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, fails on this note, or does not end.
        """
        name = f"{note.kind}.md.j2"
        given = {part.name: getattr(note.view, part.name) for part in fields(note.view)}  # type: ignore[arg-type]
        try:
            with bounded() as sized:
                body = _tidy(sized(self._environment.get_template(name).render(given)))
                user_blocks.find(body)
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


def _bytes_of(path: Path) -> bytes:
    try:
        return plain_bytes(path)
    except OSError as error:
        raise TemplateInvalid(f"{path}: cannot be read: {error.strerror}", hint=_RESTORE) from error


def _name_of(sources: Mapping[str, bytes]) -> str:
    return digest_of(repr(sorted(sources.items())).encode())


_RESTORE = "put it back: `research init` in an empty folder makes a fresh copy of all templates; no note was changed"


def _tidy(text: str) -> str:
    """One blank line where a template left several, none at the ends, and no white space behind a line."""
    lines = "\n".join(map(str.rstrip, text.split("\n")))
    return _BLANKS.sub("\n\n", lines).strip("\n") + "\n"
