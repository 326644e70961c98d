"""Jinja templates that the user may edit, with their versions, in a sandbox. An error names template and line, and what to do."""

from __future__ import annotations

import hashlib
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import jinja2
from jinja2 import Environment, StrictUndefined, TemplateNotFound, TemplateSyntaxError, meta
from jinja2.loaders import split_template_path
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pipeline.errors import TemplateInvalid
from pipeline.system.files import read_bytes

_UNKNOWN_NAME = re.compile(r"'(\w+)' is undefined\Z")  # what Jinja says of it
_VARIABLES = ("_block_vars", "_loop_vars")  # what Jinja gives beside the arguments, for functions that want a context
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Advice:
    """What a message about a faulty template adds: the page that lists what templates are given, and what was left as it was."""

    readme: str
    outcome: str

    @property
    def correct(self) -> str:
        """What to do about a fault."""
        return f"correct it ({self.readme} lists what each template is given), then run `research build`; {self.outcome}"

    @property
    def restore(self) -> str:
        """What to do about a missing template."""
        return f"put it back: `research templates update` copies what is missing; {self.outcome}"


def suggested(word: str, words: Iterable[str]) -> str:
    """Return ``; did you mean `facts`?`` for the one of ``words`` that was probably meant, "" if none is near."""
    near = get_close_matches(word[:40], sorted(words), n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else ""


class Unknown(StrictUndefined):
    """A name that does not exist. The message names what was probably meant."""

    @property
    def _undefined_message(self) -> str:
        if self._undefined_hint or self._undefined_obj is jinja2.utils.missing or not isinstance(self._undefined_name, str):
            return super()._undefined_message
        known = self._undefined_obj if isinstance(self._undefined_obj, Mapping) else dir(self._undefined_obj)
        names = [name for name in known if isinstance(name, str) and not name.startswith("_")]
        return f"'{self._undefined_name}' is not among its values{suggested(self._undefined_name, names)}"


@cache
def _is_open(kind: type, attribute: str) -> bool:
    """Whether a value is the program's own and an attribute of it not private; a text has ``format``, which Jinja wraps."""
    return kind.__module__.startswith("pipeline.") and not issubclass(kind, str) and not attribute.startswith("_")


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """Jinja as all templates use it: in its sandbox, strict about unknown names, nothing computed when compiling."""

    def __init__(self, **options: Any) -> None:
        defaults: dict[str, Any] = {"undefined": Unknown, "trim_blocks": True, "lstrip_blocks": True}
        super().__init__(**{**defaults, "auto_reload": False, "optimized": False, **options})

    def call(self, context: Any, called: Any, *arguments: Any, **named: Any) -> Any:
        """Call what a template calls."""
        if isinstance(called, Macro):  # nearly always; Jinja would ask it three times whether it wants a context
            for name in _VARIABLES:
                named.pop(name, None)
            return called(context.eval_ctx, *arguments, **named)
        return super().call(context, called, *arguments, **named)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return what is not private; of the program's own values and of maps no more has to be asked."""
        if _is_open(obj.__class__, attribute):
            found = getattr(obj, attribute, jinja2.utils.missing)
            if found is not jinja2.utils.missing:
                return found
        elif type(obj) is dict and attribute in obj and not hasattr(dict, attribute):
            return obj[attribute]
        return super().getattr(obj, attribute)


class _ParsedTemplates(jinja2.BaseLoader):
    """Compiles templates that ``tree`` parses: once, also where their versions were asked for before."""

    def __init__(self, folder: Path, tree: Callable[[str], jinja2.nodes.Template]) -> None:
        self._folder, self._tree = folder, tree

    def load(self, environment: Environment, name: str, globals: MutableMapping[str, Any] | None = None) -> jinja2.Template:
        code = environment.compile(self._tree(name), name, str(self._folder / name))
        return environment.template_class.from_code(environment, code, globals or {})


class TemplateFolder:
    """The templates ``*.j2`` in ``folder``, read once, rendered in ``environment``."""

    def __init__(self, folder: Path, environment: Environment, advice: Advice) -> None:
        self.folder, self._environment, self._advice = folder, environment, advice
        self._source = cache(self._read)
        self._tree = cache(self._parse)
        environment.loader = _ParsedTemplates(folder, self._tree)
        self.version_of = cache(self._version_of)
        self._drawn_on = cache(self._read_drawn_on)

    def _version_of(self, name: str) -> str:
        """Return a name for a template's text and those of all templates that it draws on; a missing one counts as empty.

        Raises:
            TemplateInvalid: one of them cannot be read.
        """
        parts = sorted((part, self._source(part)) for part in self._parts(name))
        texts = repr([(part, source or b"") for part, source in parts])
        return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()

    def render(self, name: str, given: Mapping[str, Any], target: str, finish: Callable[[str], str] = str) -> str:
        """Return the text of the file ``target``, made from a template and passed through ``finish``.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, or fails on this text.
        """

        def text() -> str:
            return finish(self._environment.get_template(name).render(given))

        return self._explained(name, f" (while writing {target})", text, given)

    def _explained(self, name: str, when: str, act: Callable[[], T], given: Iterable[str] = ()) -> T:
        try:
            return act()
        except TemplateInvalid:
            raise
        except TemplateNotFound as error:
            raise TemplateInvalid(f"{self.folder / str(error.name)}: is missing{when}", hint=self._advice.restore) from error
        except TemplateSyntaxError as error:
            raise self._invalid(error.name or name, error.lineno, (error.message or "syntax error") + when) from error
        except Exception as error:
            what = str(error) or "it fails without a message"
            unknown = _UNKNOWN_NAME.match(what)
            meant = suggested(unknown[1], {*given, *self._environment.globals}) if unknown else ""
            raise self._invalid(*self._place_of(error, name), what + meant + when) from error

    def _place_of(self, error: BaseException, name: str) -> tuple[str, int]:
        """The place in a template that raised the error: the innermost, or that which calls itself."""
        frames = [(Path(frame.filename), frame.lineno or 0) for frame in reversed(traceback.extract_tb(error.__traceback__))]
        places = Counter((path.relative_to(self.folder), line) for path, line in frames if path.is_relative_to(self.folder))
        if not places:
            return name, 0
        path, line = places.most_common(1)[0][0]
        return str(path), line

    def _invalid(self, file: str, line: int, what: str) -> TemplateInvalid:
        where = str(self.folder / file) + (f", line {line}" if line else "")
        return TemplateInvalid(f"{where}: {what}", hint=self._advice.correct)

    def _parse(self, name: str) -> jinja2.nodes.Template:
        source = self._source(name)
        if source is None:
            raise TemplateNotFound(name)
        return self._environment.parse(source.decode("utf-8"), name, str(self.folder / name))

    def _read(self, name: str) -> bytes | None:
        """The bytes of a template; None if there is none of that name."""
        try:
            return read_bytes(self.folder.joinpath(*split_template_path(name)))
        except (TemplateNotFound, FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise TemplateInvalid(f"{self.folder / name}: cannot be read: {error.strerror}", hint=self._advice.restore) from error

    def _parts(self, name: str) -> set[str]:
        """A template and all that it draws on, directly or not."""
        parts: set[str] = set()
        waiting = [name]
        while waiting:
            part = waiting.pop()
            if part not in parts:
                parts.add(part)
                waiting += self._drawn_on(part)
        return parts

    def _read_drawn_on(self, name: str) -> Sequence[str]:
        """The templates that one may draw on; all of them if it computes a name, none if it cannot be parsed."""
        try:
            named = list(meta.find_referenced_templates(self._tree(name)))
        except (TemplateNotFound, TemplateSyntaxError, UnicodeDecodeError):
            return ()
        if None in named:
            return [path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.j2")]
        return list(filter(None, named))
