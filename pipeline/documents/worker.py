"""What runs in the extraction process: it reads documents from stdin one by one, each under its own limits.

``extraction_process`` starts it. A request is a line of JSON (size, and the path of a file or the content type and address of a
page) followed by that many bytes; an answer is one line of JSON. The process's environment holds no keys, and it neither writes
files nor opens connections.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from dataclasses import asdict
from tempfile import TemporaryDirectory
from typing import BinaryIO

from pipeline.documents.extract import extract
from pipeline.documents.page import megabytes
from pipeline.errors import ReadFailed


def serve(requests: BinaryIO, answers: BinaryIO, cpu_s: int, memory_bytes: int) -> None:
    """Answer requests until stdin ends; ``cpu_s`` are seconds of CPU time for each begun megabyte."""
    with TemporaryDirectory() as folder:
        os.chdir(folder)  # which is gone after this line: no file has a name here
    for what, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_AS, memory_bytes)):
        resource.setrlimit(what, (value, value))
    while line := requests.readline():
        request = json.loads(line)
        data = requests.read(request.pop("size"))
        used, hard = resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_CPU)[1]
        allowed = int(used.ru_utime + used.ru_stime) + cpu_s * megabytes(len(data)) + 1  # after that the kernel ends the process
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, hard))
        answers.write(json.dumps(_answer(data, request)).encode("ascii") + b"\n")
        answers.flush()


def _answer(data: bytes, request: dict[str, str]) -> dict[str, object]:
    """Return the answer; ``spent`` in it means that this process should be replaced."""
    try:
        return {"document": asdict(extract(data, **request))}
    except ReadFailed as error:
        return {"failed": error.message}
    except MemoryError:
        return {"failed": "reading it takes too much memory", "spent": True}
    except Exception as error:  # noqa: BLE001 - a bug in a parser costs one page, never the night
        return {"failed": f"reading it failed ({type(error).__name__})", "spent": True}


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer, cpu_s=int(sys.argv[1]), memory_bytes=int(sys.argv[2]))
