"""Rendering of prompts from Jinja templates, which the user may edit.

Every plain string that a template prints is cleaned of delimiter look-alikes; ``Material``, already inside delimiters, is printed
unchanged. A page's text is a value, never a template: ``{{ … }}`` in it is printed verbatim.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pipeline.adapters.reasoners.openai.capabilities import Message
from pipeline.adapters.reasoners.openai.prompting.delimiters import Material, harmless
from pipeline.errors import TemplateInvalid

SYSTEM = "_shared"
EVIDENCE = "_evidence"

_ADVICE = "correct it (templates/prompts/README.md lists what each template is given), then run again"
_RESTORE = "put it back: `research templates update` copies what is missing"


class PromptTemplates:
    """Renders prompts from the folder ``templates``: ``<question>.md.j2``, and ``_shared.md.j2`` for the system message.

    What it does not contain is taken from ``supplied``: a workspace may be older than a question.
    """

    def __init__(self, templates: Path, supplied: Path | None = None) -> None:
        self._folder = templates
        self._environment = _environment_of((templates, supplied or templates))

    def messages(self, name: str, view: Mapping[str, Any]) -> list[Message]:
        """Return the system and the user message of the question ``name``.

        The system message is the same for all questions, so that a cache can serve it. The reply's schema is not part of the
        prompt: it goes with the request, or behind the prompt where the server takes none (``Capabilities.body``). What several
        questions begin with, the evidence, is a part of its own.

        Raises:
            TemplateInvalid: a template is missing, cannot be parsed, uses an unknown name, or fails.
        """
        text = self._rendered(name, view)
        shared = self._rendered(EVIDENCE, view) if "evidence" in view else ""
        return [
            {"role": "system", "content": self._rendered(SYSTEM, {"schema": ""})},  # a template of an earlier version prints it
            {"role": "user", "content": [shared, text.removeprefix(shared)] if shared and text.startswith(shared) else text},
        ]

    def _rendered(self, name: str, view: Mapping[str, Any]) -> str:
        file = f"{name}.md.j2"
        try:
            return self._environment.get_template(file).render(view).strip()
        except TemplateNotFound as error:
            raise self._invalid(str(error.name), 0, "is missing", _RESTORE) from error
        except TemplateSyntaxError as error:
            raise self._invalid(error.name or file, error.lineno, error.message or "syntax error") from error
        except Exception as error:
            where, line = self._place_of(error, file)
            raise self._invalid(where, line, str(error) or type(error).__name__) from error

    def _place_of(self, error: BaseException, file: str) -> tuple[str, int]:
        """Return the file and line of the innermost template frame in the error's traceback."""
        inside = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == self._folder]
        return (Path(inside[-1].filename).name, inside[-1].lineno or 0) if inside else (file, 0)

    def _invalid(self, file: str, line: int, what: str, advice: str = _ADVICE) -> TemplateInvalid:
        where = str(self._folder / file) + (f", line {line}" if line else "")
        return TemplateInvalid(f"{where}: {what}", hint=advice)


@cache
def _environment_of(folders: tuple[Path, ...]) -> ImmutableSandboxedEnvironment:
    """Return one environment for the same folders, so that a template is compiled once; Jinja reloads a changed file."""
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printed,
    )


def _printed(value: object) -> object:
    """Return the value to print, as Jinja's ``finalize``; plain strings are made harmless."""
    if value is None:
        raise TemplateError("a value is None; test for it before printing it")
    return harmless(value) if isinstance(value, str) and not isinstance(value, Material) else value
