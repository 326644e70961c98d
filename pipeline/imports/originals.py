"""What is imported: files that are listed without following links, JSON of others, and what is wrong with both."""

from __future__ import annotations

import io
import json
import os
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.system.files import read_bytes
from pipeline.text.cleaning import one_line
from pipeline.text.times import timestamp

LARGEST = 64_000_000  # bytes of a file
LONGEST = 4_000  # characters of a claim or a message
LONGEST_REPORT = 100_000  # characters
_SKIPPED = {".git", "node_modules", "__pycache__", ".venv"}
Redact = Callable[[bytes], bytes]


@dataclass
class Faults:
    """What is wrong with an original, by kind: how often, where first, and how many records were left out because of it."""

    kinds: dict[str, tuple[int, str, int]] = field(default_factory=dict)

    def add(self, what: str, where: str, left_out: int = 0, times: int = 1) -> None:
        """Count one more fault of a kind."""
        count, first, lost = self.kinds.get(what, (0, where, 0))
        self.kinds[what] = (count + times, first, lost + left_out)

    def take(self, others: Faults) -> None:
        """Count the faults of another part too."""
        for what, (times, where, lost) in others.kinds.items():
            self.add(what, where, lost, times)

    @property
    def left_out(self) -> int:
        """How many records were left out."""
        return sum(lost for _, _, lost in self.kinds.values())

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each kind, what was left out first."""
        found = sorted(self.kinds.items(), key=lambda one: not one[1][2])
        words = (f"{where}: {what}" + (f" ({times:,} times)" if times > 1 else "") for what, (times, where, _) in found)
        return tuple(one_line(line, 400) for line in words)


class Unreadable(Exception):
    """A file or a record cannot be read; the text says why."""


class Source:
    """The regular files of a folder, or one file. ``redact`` takes the user's own keys out before anything else sees a text."""

    def __init__(self, root: Path, redact: Redact) -> None:
        self.root, self.redact, self.faults = root, redact, Faults()

    def names(self) -> list[str]:
        """Return the names of all regular files by their path below the folder, sorted."""
        if not self.root.is_dir():
            return [self.root.name]
        found: list[str] = []
        for folder, folders, files in os.walk(self.root, onerror=lambda error: self.faults.add("cannot be listed", str(error))):
            folders[:] = [name for name in folders if name not in _SKIPPED]
            links = [name for name in folders if Path(folder, name).is_symlink()]
            for path in (Path(folder, name) for name in sorted((*files, *links))):
                shown = os.fsencode(path.relative_to(self.root)).decode("utf-8", "backslashreplace")
                if not stat.S_ISREG(path.lstat().st_mode):
                    self.faults.add("is a link or no regular file, and is not read", shown)
                elif "\\x" in shown:
                    self.faults.add("has a name that is not UTF-8; rename it to import it", shown)
                else:
                    found.append(shown)
        return sorted(found)

    def path(self, name: str) -> Path:
        """Return where a file is."""
        return self.root / name if self.root.is_dir() else self.root

    def read(self, name: str) -> bytes:
        """Return a file's bytes without the user's own keys.

        Raises:
            Unreadable: the system refuses, or the file is too large.
        """
        try:
            data = read_bytes(self.path(name), LARGEST + 1)
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror or error}") from error
        if len(data) > LARGEST:
            raise Unreadable(f"has more than {LARGEST // 1_000_000} MB; nothing of it is read")
        return self.redact(data)


class Record:
    """The fields of one record of another program; a field of an unexpected type is a fault, and is read as empty."""

    def __init__(self, values: Mapping[str, Any], where: str, faults: Faults) -> None:
        self.values, self.where, self.faults = values, where, faults

    def text(self, *names: str, limit: int = LONGEST) -> str:
        """Return the first of these fields that has words, as text that UTF-8 can hold; "" if none has."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                value = str(value)[:40]
            if value is not None and not isinstance(value, str):
                self.faults.add(f"“{name}” should be text; it is read as empty", self.where)
            elif value:
                if len(value) > limit:
                    self.faults.add("has texts that are cut here; the stored original has them whole", self.where)
                return value[:limit].encode("utf-8", "replace").decode()
        return ""

    def words(self, *names: str) -> str:
        """Return all of these fields that hold anything, a line each; what is no text as JSON."""
        held = [value for value in map(self.values.get, names) if value not in (None, "", [], {})]
        found = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in held)
        return Record({"words": "\n".join(found)}, self.where, self.faults).text("words")

    def time(self, *names: str) -> str:
        """Return the first time among these fields in UTC; "" if there is none, or it was never set."""
        text = self.text(*names).strip()
        try:
            moment = datetime.fromisoformat(text.removesuffix(" UTC")) if text else datetime.min
            return timestamp((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)) if moment.year > 1 else ""
        except (ValueError, OverflowError):
            self.faults.add(f"“{names[0]}” is no time; it is read as unknown", self.where)
            return ""

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of a list; of an object in it its address."""
        named = (one.get("url") if isinstance(one, dict) else one for one in self._list(name))
        return tuple(Record({name: one}, self.where, self.faults).text(name) for one in named if one)

    def records(self, name: str) -> Iterator[Record]:
        """Yield the records of a list; an entry that is no object is left out."""
        for value in self._list(name):
            if isinstance(value, dict):
                yield Record(value, f"{self.where}, {name}", self.faults)
            else:
                self.faults.add(f"an entry of “{name}” should be an object; it is left out", self.where, 1)

    def inner(self, name: str) -> Record:
        """Return the fields of an object in a field."""
        value = self.values.get(name)
        return Record(value if isinstance(value, dict) else {}, self.where, self.faults)

    def _list(self, name: str) -> list[Any]:
        value = self.values.get(name)
        if value is not None and not isinstance(value, list):
            self.faults.add(f"“{name}” should be a list; it is read as empty", self.where)
        return value if isinstance(value, list) else []


def record_of(data: bytes, where: str, faults: Faults) -> Record:
    """Return the object of a JSON text; a number that JSON does not have is read as no value.

    Raises:
        Unreadable: it is no JSON in UTF-8, or no object.
    """
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=lambda _name: None)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not valid JSON in UTF-8 ({type(error).__name__})") from None
    if not isinstance(value, dict):
        raise Unreadable("is no JSON object")
    return Record(value, where, faults)


def archived(files: Mapping[str, bytes]) -> bytes:
    """Return files as a tar archive that depends on their names and bytes alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(files[name]), 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    return buffer.getvalue()
