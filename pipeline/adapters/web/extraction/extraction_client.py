"""Client of the extraction process: keeps one process running, kills it on a timeout, replaces it when it dies."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.adapters.documents.page_writer import Document
from pipeline.errors import ReadFailed

_ANSWER_BYTES = 40_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one page: wall-clock seconds, CPU seconds, bytes of memory; ``pages`` is how many one process reads."""

    wall_s: float = 20.0
    cpu_s: int = 10
    memory_bytes: int = 250_000_000
    pages: int = 500


class Extractor:
    """Extracts documents, one at a time. Belongs to one event loop; the process is started on first use.

    ``program`` are the arguments with which Python starts the extraction process.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        program: Sequence[str] = ("-m", "pipeline.adapters.web.extraction.extraction_process"),
    ) -> None:
        self._limits = limits or Limits()
        self._program = tuple(program)
        self._process: Process | None = None
        self._turn = asyncio.Lock()
        self._pages_read = 0

    @property
    def pid(self) -> int:
        """The id of the running extraction process; 0 if none runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else 0

    async def document(self, data: bytes, content_type: str, url: str) -> Document:
        """Return the document in ``data``, as ``extract.page_text`` does.

        Raises:
            ReadFailed: the page cannot be read, or reading it exceeded a limit.
        """
        async with self._turn:
            try:
                async with asyncio.timeout(self._limits.wall_s):
                    answer = await self._exchange(data, content_type, url)
            except TimeoutError:
                await self._kill()
                raise ReadFailed(f"reading it took longer than {self._limits.wall_s:g} s") from None
            except (OSError, EOFError, ValueError):
                await self._kill()
                raise ReadFailed("reading it takes too much computing time or memory") from None
            except BaseException:
                await self._kill()  # else the next page would get this page's answer
                raise
        return _document(answer)

    async def aclose(self) -> None:
        """End the process."""
        await self._kill()

    async def _exchange(self, data: bytes, content_type: str, url: str) -> dict[str, Any]:
        process = await self._live_process()
        requests, answers = process.stdin, process.stdout
        if requests is None or answers is None:
            raise EOFError
        head = json.dumps({"content_type": content_type, "url": url, "size": len(data)})
        requests.write(head.encode("ascii") + b"\n" + data)
        await requests.drain()
        line = await answers.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        self._pages_read += 1
        answer: dict[str, Any] = json.loads(line)
        if answer.get("spent"):
            await self._kill()
        return answer

    async def _live_process(self) -> Process:
        if self._process is not None and (self._process.returncode is not None or self._pages_read >= self._limits.pages):
            await self._kill()
        if self._process is None:
            self._process = await self._start_process()
            self._pages_read = 0
        return self._process

    async def _start_process(self) -> Process:
        limits = (str(self._limits.cpu_s), str(self._limits.memory_bytes))
        return await asyncio.create_subprocess_exec(
            sys.executable, *self._program, *limits,
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_ANSWER_BYTES, start_new_session=True,
            cwd=Path(__file__).parents[4], env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )  # fmt: skip

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _document(answer: dict[str, Any]) -> Document:
    if "failed" in answer:
        raise ReadFailed(str(answer["failed"]))
    found = answer["document"]
    return Document(**{**found, "notices": tuple(found["notices"])})
