"""Keys and addresses of services: from the environment, from files that it names, or from the workspace's ``.env``.

The first of these that is not empty is used: ``NAME`` in the environment, ``NAME_FILE`` in the environment (a file that holds
nothing but the key), ``NAME`` in ``.env``, ``NAME_FILE`` in ``.env``. A file's path is relative to the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.config import dotenv
from pipeline.errors import UsageError
from pipeline.system.files import read_bytes
from pipeline.text.redaction import Secret

ENV_FILE = ".env"
_LARGEST = 65_536
_KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_PLAIN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Key:
    """A key that was found. ``source`` says where, in words; ``path`` is the file that holds it, None for the environment."""

    secret: Secret
    source: str
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that were found. ``problems`` says, by name, why a key that was meant to be there cannot be used."""

    folder: Path = Path()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    file: Mapping[str, str] = field(default_factory=dict, repr=False)
    faults: tuple[dotenv.LineFault, ...] = ()

    def find(self, name: str) -> Key | None:
        """Return the key called ``name``, e.g. ``BRAVE_API_KEY``; None when there is none.

        Raises:
            UsageError: it is set, but its file cannot be read or what it holds is no key.
        """
        for values, where, path in ((self.env, "the environment", None), (self.file, ENV_FILE, self.folder / ENV_FILE)):
            if value := values.get(name, "").strip():
                return Key(_checked(value, name, where), where, path)
            if named := values.get(f"{name}_FILE", "").strip():
                return self._from_file(name, self.folder / Path(named).expanduser())
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
        yield from sorted(name for name in names if name.endswith(("_API_KEY", "_TOKEN")) and _KEY_NAME.fullmatch(name))

    def secrets(self, *more: str) -> tuple[Secret, ...]:
        """Return every key that is set and can be read, those called ``more`` too: what is never to be written anywhere."""
        found = []
        for name in {*self.names(), *more}:
            try:
                key = self.find(name)
            except UsageError:
                continue
            if key is not None:
                found.append(key.secret)
        return tuple(found)

    def _from_file(self, name: str, path: Path) -> Key:
        try:
            value = read_bytes(path, _LARGEST).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise UsageError(
                f"{name}_FILE names {path}, which cannot be read: {reason}", hint=f"correct the path, or set {name} instead"
            ) from None
        return Key(_checked(value, name, str(path)), str(path), path)


def _checked(value: str, name: str, where: str) -> Secret:
    if not _PLAIN.fullmatch(value):
        what = "is empty" if not value else "holds white space or characters that no key has"
        raise UsageError(f"{name} in {where} {what}", hint="write the key alone, on one line")
    return Secret(value, name)


def read_keys(env: Mapping[str, str], folder: Path) -> Keys:
    """Return the keys of the workspace in ``folder``; ``env`` is the environment.

    Raises:
        UsageError: there is a ``.env`` that cannot be read.
    """
    path = folder / ENV_FILE
    try:
        values, faults = dotenv.parse(read_bytes(path, _LARGEST).decode())
    except FileNotFoundError:
        return Keys(folder, env)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{path} cannot be read: {reason}", hint="let this user read it, or remove it") from None
    return Keys(folder, env, values, faults)
