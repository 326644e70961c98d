"""The readers of foreign formats, for the command ``import``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.adapters.imports.formats import FORMATS, read_all
from pipeline.domain.imports.import_events import ImportFinding
from pipeline.domain.imports.parsed import ParsedImport
from pipeline.errors import UsageError

__all__ = ["FORMATS", "read_foreign"]


def read_foreign(path: Path, form: str | None, redact: Callable[[bytes], bytes]) -> Iterator[ParsedImport | ImportFinding]:
    """Yield the sessions at ``path`` and the findings that belong to none. ``form`` is one of ``FORMATS``, None for all.

    Raises:
        UsageError: there is no such file or folder, or it cannot be opened.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist", hint="name a file or a folder of another program")
    if not (path.is_dir() or path.is_file()):
        raise UsageError(f"{path} is neither a file nor a folder", hint="name a file or a folder of another program")
    return read_all(path, form, redact)
