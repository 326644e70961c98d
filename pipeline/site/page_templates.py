"""``Layout``: renders pages with Jinja templates; the version of each template decides which pages an edit affects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.config.scaffold import later_templates
from pipeline.site.pages.page_values import Site
from pipeline.system.templates import Advice, TemplateEnvironment, TemplateFolder
from pipeline.text.labels import label

_ADVICE = Advice("templates/site/README.md", "the site is as it was")


class Layout:
    """The templates in ``folder``: ``<name>.html.j2``. ``compiled`` as in ``TemplateFolder``."""

    def __init__(self, folder: Path, compiled: Path | None = None) -> None:
        later = later_templates("site", "earlier.html.j2")
        self._templates = TemplateFolder(folder, TemplateEnvironment(autoescape=True), _ADVICE, compiled, later)

    def digest(self, name: str) -> str:
        """Return the digest of a template and of all that it is made from."""
        return self._templates.version_of(_file(name))

    def check(self, name: str) -> None:
        """Compile a template and all that it is made from.

        Raises:
            TemplateInvalid: one of them is missing or cannot be parsed.
        """
        self._templates.check(_file(name))

    def render(self, name: str, site: Site, page: Any) -> bytes:
        """Return a page rendered with its template.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, fails on this page, or does not end.
        """
        given = {"site": site, "page": page, "t": lambda words: label(words, page.lang)}
        return self._templates.render(_file(name), given, page.path).encode("utf-8", "replace")


def _file(name: str) -> str:
    return f"{name}.html.j2"
