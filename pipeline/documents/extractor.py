"""Client of the extraction process: keeps one process running, kills it on a timeout, replaces it when it dies.

Files of the folder and pages of the web are read by the same process under the same limits. It is started on first use, and ends
with the program that started it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.documents.page_writer import megabytes
from pipeline.errors import ReadFailed, ReadTimedOut
from pipeline.ports import Page

_ANSWER_BYTES = 40_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one document: wall-clock seconds and CPU seconds for each begun megabyte, bytes of memory.

    ``pages`` is how many one process reads.
    """

    wall_s: float = 20.0
    cpu_s: int = 10
    memory_bytes: int = 300_000_000
    pages: int = 500


class Extractor:
    """Extracts documents, one at a time, for any thread and any event loop.

    ``program`` are the arguments with which Python starts the extraction process.
    """

    def __init__(self, limits: Limits | None = None, *, program: Sequence[str] = ("-m", "pipeline.documents.extract")) -> None:
        self._limits = limits or Limits()
        self._program = tuple(program)
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "extraction")  # where an event loop's documents wait for their turn
        self._read = 0

    @property
    def pid(self) -> int:
        """The id of the running extraction process; 0 if none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    async def document(self, data: bytes, content_type: str, url: str) -> Page:
        """Return the document in ``data``, the body that a server sent for ``url`` with the header ``content_type``.

        Raises:
            ReadFailed: the page cannot be read, or reading it exceeded a limit.
        """
        reading = self._thread.submit(self._document, data, {"content_type": content_type, "url": url})
        try:
            return await asyncio.wrap_future(reading)
        except asyncio.CancelledError:
            if reading.running():
                self.close()
            raise

    def file(self, data: bytes, path: Path) -> Page:
        """Return the document in ``data``, the bytes of the file ``path``.

        Raises:
            ReadFailed: the file cannot be read as a document, or reading it exceeded a limit.
        """
        return self._document(data, {"path": os.fsencode(path).decode("utf-8", "replace")})

    async def aclose(self) -> None:
        """End the process, as ``close`` does."""
        self.close()

    def _document(self, data: bytes, hints: dict[str, str]) -> Page:
        with self._turn:
            process = self._process
            if process is None or process.poll() is not None or self._read >= self._limits.pages:
                self.close()
                limits = (str(self._limits.cpu_s), str(self._limits.memory_bytes))
                process = self._process = subprocess.Popen(  # noqa: S603 - our own module
                    [sys.executable, *self._program, *limits],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                    cwd=Path(__file__).parents[2], env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                )  # fmt: skip
                self._read = 0
                weakref.finalize(self, _end, process)
            wall_s, began = self._limits.wall_s * megabytes(len(data)), time.monotonic()
            timer = threading.Timer(wall_s, process.kill)
            timer.start()
            assert process.stdin is not None  # noqa: S101 - both are pipes
            assert process.stdout is not None  # noqa: S101
            try:
                process.stdin.write(json.dumps({**hints, "size": len(data)}).encode("ascii") + b"\n" + data)
                process.stdin.flush()
                line = process.stdout.readline(_ANSWER_BYTES)
                if not line.endswith(b"\n"):
                    raise OSError("no whole answer")
                answer: dict[str, Any] = json.loads(line)
            except (OSError, ValueError):  # a dead process closes its pipes
                self.close()
                if time.monotonic() - began >= wall_s:
                    raise ReadTimedOut(f"reading it took longer than {wall_s:g} s") from None
                raise ReadFailed("reading it takes too much computing time or memory") from None
            except BaseException:
                self.close()  # else the next document would get this one's answer
                raise
            finally:
                timer.cancel()
            self._read += 1
            if answer.get("spent"):
                self.close()
        if "failed" in answer:
            raise ReadFailed(str(answer["failed"]))
        found: dict[str, Any] = answer["document"]
        return Page(**{**found, "notices": tuple(found["notices"]), "sheets": tuple(found["sheets"])})

    def close(self) -> None:
        """End the process; the next document starts another."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    process.wait()
