"""Keys and addresses of services: from the environment, from files that it names, or from the workspace's ``.env``.

The first of these that is not empty is used: ``NAME`` in the environment, ``NAME_FILE`` in the environment (a file that holds
nothing but the key), ``NAME`` in ``.env``, ``NAME_FILE`` in ``.env``. A file's path is relative to the workspace.
A database's address is never shown with anything secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from pipeline.errors import UsageError
from pipeline.system.files import read_bytes
from pipeline.text.redaction import Secret

ENV_FILE = ".env"
FILES = "files"  # the word for the log in the workspace's own folder
STORE_VARIABLE = "RESEARCH_STORE"  # it says more than the setting
DATABASE_PASSWORD = "PGPASSWORD"  # noqa: S105 - the variable's name
_LARGEST = 65_536
# A line of .env: in quotes, with escapes in double ones; else up to a blank and #. Any shell's `export` is allowed.
_LINE = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?:'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<bare>[^'"#\s].*?)?)"""
    r"\s*(?:(?<![^\s='\"])#.*)?",
    re.ASCII,
)
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\"}


@dataclass(frozen=True, slots=True)
class Service:
    """What a service wants: the variable of its key, whether it answers without one, and where it is asked."""

    name: str
    key_name: str
    url: str
    key_needed: bool = False


SEARCHES = {
    service.name: service
    for service in (
        Service("brave", "BRAVE_API_KEY", "https://api.search.brave.com", True),
        Service("tavily", "TAVILY_API_KEY", "https://api.tavily.com", True),
        Service("searxng", "", ""),
        Service("wikipedia", "", "https://en.wikipedia.org"),
        Service("arxiv", "", "https://export.arxiv.org"),
        Service("openalex", "OPENALEX_API_KEY", "https://api.openalex.org"),
        Service("semanticscholar", "SEMANTIC_SCHOLAR_API_KEY", "https://api.semanticscholar.org"),
    )
}


@dataclass(frozen=True, slots=True)
class Key:
    """A key that was found. ``source`` says where, in words; ``path`` is the file that holds it, None for the environment."""

    secret: Secret
    source: str
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that were found. ``faults`` are the lines of ``.env`` that cannot be read, by number from 1, without a value."""

    folder: Path = Path()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    file: Mapping[str, str] = field(default_factory=dict, repr=False)
    faults: Mapping[int, str] = field(default_factory=dict)

    def find(self, name: str) -> Key | None:
        """Return the key called ``name``, e.g. ``BRAVE_API_KEY``; None when there is none.

        Raises:
            UsageError: it is set, but its file cannot be read or what it holds is no key.
        """
        for values, where, path in ((self.env, "the environment", None), (self.file, ENV_FILE, self.folder / ENV_FILE)):
            if value := values.get(name, "").strip():
                return Key(_checked(value, name, where), where, path)
            if named := values.get(f"{name}_FILE", "").strip():
                file = self.folder / Path(named).expanduser()
                try:
                    value = read_bytes(file, _LARGEST).decode().strip()
                except (OSError, UnicodeDecodeError) as error:
                    raise UsageError(
                        f"{name}_FILE names {file}, which cannot be read: {_reason(error)}",
                        hint=f"correct the path, or set {name} instead",
                    ) from None
                return Key(_checked(value, name, str(file)), str(file), file)
        return None

    def secret(self, name: str) -> Secret | None:
        """Return the key itself, or None. Raises: as ``find``."""
        found = self.find(name)
        return found.secret if found else None

    def value(self, name: str) -> str:
        """Return what is set under ``name`` and is no secret (an address), or ""."""
        return self.env.get(name, "").strip() or self.file.get(name, "").strip()

    def names(self) -> Iterator[str]:
        """Yield, sorted, the names of all that looks like a key: ``…_API_KEY`` and ``…_TOKEN``, also with ``_FILE``."""
        names = {name.removesuffix("_FILE") for name in (*self.env, *self.file)}
        yield from sorted(name for name in names if name.endswith(("_API_KEY", "_TOKEN")) and name.isupper())

    def secrets(self, *more: str) -> tuple[Secret, ...]:
        """Return every key that is set and can be read, those called ``more`` too: what is never to be written anywhere."""
        found = []
        for name in {*self.names(), *more}:
            try:
                found.append(self.secret(name))
            except UsageError:
                continue
        return tuple(filter(None, found))


def _checked(value: str, name: str, where: str) -> Secret:
    if not (value.isascii() and value.isprintable() and value and " " not in value):
        what = "is empty" if not value else "holds white space or characters that no key has"
        raise UsageError(f"{name} in {where} {what}", hint="write the key alone, on one line")
    return Secret(value, name)


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8 text"


def read_keys(env: Mapping[str, str], folder: Path) -> Keys:
    """Return the keys of the workspace in ``folder``; ``env`` is the environment.

    Raises:
        UsageError: there is a ``.env`` that cannot be read.
    """
    path = folder / ENV_FILE
    try:
        text = read_bytes(path, _LARGEST).decode().removeprefix("\ufeff")
    except FileNotFoundError:
        return Keys(folder, env)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {_reason(error)}", hint="let this user read it, or remove it") from None
    values: dict[str, str] = {}
    faults: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            faults[number] = "no NAME=value, with both quotation marks of a value or none"
        elif found["name"] in values:
            faults[number] = f"{found['name']} is set twice"
        else:
            escaped = re.sub(r"\\.", lambda mark: _ESCAPES.get(mark[0], mark[0][1]), found["double"] or "")
            values[found["name"]] = found["single"] or escaped or found["bare"] or ""
    return Keys(folder, env, values, faults)


def usable_store(text: str, source: str = "") -> str:
    """Return the address of a database, "" for ``files``. ``source`` is what names it, for the message.

    Raises:
        UsageError: it cannot be used. A password is not repeated.
    """
    wanted = "write store: postgresql://ROLE@HOST/DATABASE, or store: files"
    try:
        parts = urlsplit(text)
        named = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        password = parts.password
    except ValueError:
        raise UsageError(f"{source}the store's address cannot be read", hint=wanted) from None
    if password is not None or named & {"password", "sslpassword"}:
        hint = "leave it out; set PGPASSWORD, or put it into ~/.pgpass or a file that PGPASSWORD_FILE names"
        raise UsageError(f"{source}the store's address holds a password, which others could read", hint=hint)
    if text != FILES and parts.scheme not in ("postgresql", "postgres"):
        raise UsageError(f"{source}this is no address of a store", hint=wanted)
    return "" if text == FILES else text


def shown_store(text: str) -> str:
    """Return the address as messages name it: role, host, port and database, without parameters, of which one may be a key."""
    return text.partition("?")[0]
