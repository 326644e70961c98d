"""``Layout``: renders pages with Jinja templates; the digest of each template decides which pages an edit affects."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.meta import find_referenced_templates

from pipeline.errors import TemplateInvalid
from pipeline.site.pages.page_values import Site
from pipeline.system.worker_pool import Bounded, TooMuch, bounded, place_in
from pipeline.text.normalise import digest_of

_ADVICE = (
    "correct it (templates/site/README.md lists what each template is given), then run `research build`; the site is as it was"
)
_RESTORE = "put it back: `research init` in an empty folder makes a fresh copy of all templates; the site is as it was"


class _PageEnvironment(Bounded, Environment):
    pass


class Layout:
    """The templates in ``folder``: ``<name>.html.j2``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = _PageEnvironment(
            loader=FileSystemLoader(folder), undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        self.digest = cache(self._digest)
        self._part = cache(self._read)

    def _digest(self, name: str) -> str:
        """Return the digest of a template and of all that it is made from.

        Raises:
            TemplateInvalid: it, or one of those, is missing or cannot be parsed.
        """
        parts, waiting = {}, [f"{name}.html.j2"]
        while waiting:
            file = waiting.pop()
            if file not in parts:
                parts[file], named = self._part(file)
                waiting += named
        return digest_of("\0".join(f"{file}\0{parts[file]}" for file in sorted(parts)).encode())

    def _read(self, file: str) -> tuple[str, list[str]]:
        """Return a template's text, and the templates that it names."""
        source = self._source(file)
        return source, self._named_in(file, source)

    def _source(self, file: str) -> str:
        try:
            return self._environment.loader.get_source(self._environment, file)[0]  # type: ignore[union-attr]
        except (TemplateNotFound, OSError, UnicodeDecodeError) as error:
            raise TemplateInvalid(f"{self._folder / file}: is missing or cannot be read", hint=_RESTORE) from error

    def _named_in(self, file: str, source: str) -> list[str]:
        try:
            return [named for named in find_referenced_templates(self._environment.parse(source, file)) if named]
        except TemplateSyntaxError as error:
            raise self._invalid(file, error.lineno, error.message or "syntax error") from error

    def render(self, name: str, site: Site, page: Any) -> bytes:
        """Return a page rendered with its template.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, fails on this page, or does not end.
        """
        file = f"{name}.html.j2"
        try:
            with bounded() as sized:
                return sized(self._environment.get_template(file).render(site=site, page=page)).encode("utf-8", "replace")
        except TemplateSyntaxError as error:
            raise self._invalid(error.name or file, error.lineno, error.message or "syntax error") from error
        except TemplateNotFound as error:
            raise TemplateInvalid(f"{self._folder / str(error.name)}: is missing", hint=_RESTORE) from error
        except Exception as error:
            place, line = place_in(self._folder, error, file)
            what = str(error) if isinstance(error, TemplateError | TooMuch) else f"{type(error).__name__}: {error}"
            raise self._invalid(place, line, f"{what} (while writing {page.path})") from error

    def _invalid(self, file: str, line: int, what: str) -> TemplateInvalid:
        where = str(self._folder / file) + (f", line {line}" if line else "")
        return TemplateInvalid(f"{where}: {what}", hint=_ADVICE)
