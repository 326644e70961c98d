"""The worker process: real ones, small limits."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.documents.extractor import Extractor, Limits
from pipeline.errors import ReadFailed
from tests.documents.pdfs import nested_forms, pdf

GOOD = b"<html><title>Good</title><p>" + b"A sentence of the page that can be quoted. " * 5
URL = "https://example.org/x"
PATIENT = Limits(cpu_s=1, wall_s=600)  # computing time, which other work of the machine does not lengthen

# What stands for a page that makes a reader misbehave: a worker whose reader does so on a mark in the page.
MISBEHAVING = """
import os, sys, time
from pipeline.documents import extract

read = extract.extract

def reading(data, **hints):
    if b"spin" in data:
        while True: pass
    if b"sleep" in data: time.sleep(1000)
    if b"eat" in data: return bytearray(4_000_000_000)
    if b"crash" in data: os.abort()
    if b"exit" in data: os._exit(0)
    if b"fault" in data: raise KeyError("x")
    if b"deep" in data: raise RecursionError
    if b"chatter" in data: print("not json", flush=True)
    if b"write" in data: open(data.decode().split()[1], "w").write("x" * 10_000)
    return read(data, **hints)

extract.extract = reading
extract.serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[1]), int(sys.argv[2]))
"""


@pytest.fixture
def misbehaving(tmp_path: Path) -> tuple[str, ...]:
    script = tmp_path / "worker.py"
    script.write_text(MISBEHAVING)
    return (str(script),)


def with_extractor(limits: Limits, program: tuple[str, ...], scenario: Callable[[Extractor], Awaitable[None]]) -> None:
    async def run() -> None:
        async with aclosing(Extractor(limits, program=program) if program else Extractor(limits)) as extractor:
            await scenario(extractor)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (b"spin", "computing time or memory"),
        (b"sleep", "longer than 0.5 s"),
        (b"eat", "too much memory"),
        (b"crash", "computing time or memory"),
        (b"exit", "computing time or memory"),
        (b"fault", "KeyError"),
        (b"deep", "RecursionError"),
        (b"chatter", "computing time or memory"),
    ],
)
def test_a_page_that_misbehaves_fails_alone_and_the_next_is_read(page: bytes, why: str, misbehaving: tuple[str, ...]) -> None:
    async def scenario(extractor: Extractor) -> None:
        assert (await extractor.document(GOOD, "text/html", URL)).title == "Good"
        extractor._limits = replace(PATIENT, wall_s=0.5) if page == b"sleep" else PATIENT
        with pytest.raises(ReadFailed, match=why):
            await extractor.document(page, "text/html", URL)
        extractor._limits = PATIENT
        assert (await extractor.document(GOOD, "text/html", URL)).title == "Good"

    with_extractor(PATIENT, misbehaving, scenario)


def test_a_worker_can_write_nothing(tmp_path: Path, misbehaving: tuple[str, ...]) -> None:
    async def scenario(extractor: Extractor) -> None:
        with pytest.raises(ReadFailed):
            await extractor.document(b"write " + bytes(tmp_path / "out"), "text/html", URL)

    with_extractor(PATIENT, misbehaving, scenario)
    assert not (tmp_path / "out").exists() or (tmp_path / "out").stat().st_size == 0


def test_one_process_serves_many_pages_and_is_then_replaced() -> None:
    pids: list[int] = []

    async def scenario(extractor: Extractor) -> None:
        for _ in range(4):
            await extractor.document(GOOD, "text/html", URL)
            pids.append(extractor.pid)

    with_extractor(replace(PATIENT, pages=2), (), scenario)
    assert [pids[0] == pids[1], pids[1] == pids[2], pids[2] == pids[3]] == [True, False, True]


def test_a_reading_that_is_given_up_leaves_nothing_for_the_next(misbehaving: tuple[str, ...]) -> None:
    async def scenario(extractor: Extractor) -> None:
        task = asyncio.create_task(extractor.document(b"sleep", "text/html", URL))
        while not extractor.pid:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await extractor.document(GOOD, "text/html", URL)).title == "Good"

    with_extractor(PATIENT, misbehaving, scenario)


def test_the_worker_s_environment_holds_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")

    async def scenario(extractor: Extractor) -> None:
        await extractor.document(GOOD, "text/html", URL)
        assert b"canary" not in Path(f"/proc/{extractor.pid}/environ").read_bytes()

    with_extractor(PATIENT, (), scenario)


def squeezed(part: bytes, times: int) -> bytes:
    packer = zlib.compressobj(1)
    return b"".join(packer.compress(part) for _ in range(times)) + packer.flush()


def drawing(stream: bytes) -> bytes:
    """Return a PDF whose one page is drawn by ``stream``, which is packed twice."""
    return pdf([[(9, 700, "x")]]).replace(b"<< /Length", b"<< /Filter [/FlateDecode /FlateDecode] /Length", 2).replace(
        b"BT /F 9 Tf 50 700 Td (x) Tj ET", stream
    )  # fmt: skip


def hostile_files() -> dict[str, bytes]:
    """Return twenty files by name that would take hours or gigabytes."""
    return {
        "forms.pdf": nested_forms(9),
        "stream.pdf": drawing(zlib.compress(squeezed(b"BT /F 9 Tf 10 10 Td (bomb) Tj ET\n" * 9_000, 1_000), 9)),
        "own-child.pdf": pdf([[(9, 700, "x")]]).replace(b"/Kids [4 0 R] /Count 1", b"/Kids [2 0 R] /Count 2000000000"),
        "bomb.txt.gz": gzip.compress(bytes(300_000_000), 1),
        "nested.md.gz": gzip.compress(gzip.compress(b"word " * 2_000_000, 1)),
        "deep.html": b"<title>x</title>" + b"<div>" * 300_000 + b"the bottom" + b"<ul><li>" * 100_000,
        "deep.md": b"> " * 9_000 + b"x\n\n" + b"[" * 20_000 + b"a" + b"](b)" * 20_000 + b"\n\n" + b"*a_ " * 20_000,
        "zeros.txt": b"The file begins here." + bytes(9_900_000),
        "spans.html": b"<table>" + b"<tr><td rowspan=65534 colspan=1000>a<td rowspan=65534 colspan=1000>b" * 200,
        "cells.html": b"<table><tr>" + b"<td>" * 500_000,
        "marks.txt": b"a" + "\u0301\u0323\u0327\u200b\u202b".encode() * 400_000 + b"\n\n" + b"q" * 3_000_000,
        "broken.md": b"# x\n\n" + b"\xc0\xaf caf\xc3\xa9 \xed\xa0\x80 \xf4\x90\x80\x80 \xff\xfe " * 40_000,
        "attributes.html": b"<p " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b">x",
        "entities.html": b"<!doctype html [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;'>]><p>&b;</p>" + b"&" * 2_900_000,
        "tags.html": b"<html><p>" + b"<b><i>" * 400_000,
        "braces.html": b"<style>" + b"a{" * 900_000 + b"@media x {" * 200_000,
        "rules.html": b"<style>" + b".a{display:none}" * 150_000 + b"</style><p style='" + b"color:" * 300_000,
        "comments.html": b"<html><p>x" + b"<!--" * 700_000,
        "charsets.html": b"<html><p>" + b"<meta charset=" * 200_000,
        "fences.md": b"```\n" * 200_000 + b"|-" * 90_000 + b"\n\n" + b"%%" * 90_000 + b"{:" * 90_000,
    }


# Extracts the files of a folder, and prints a line for each (its name, and why it cannot be read), and the most memory taken.
MEASURED = """
import resource, sys
from pathlib import Path
from pipeline.documents.extractor import Extractor, Limits
from pipeline.errors import ReadFailed
extractor = Extractor(Limits(wall_s=600, cpu_s=1))
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        assert len(extractor.file(path.read_bytes(), path).text) < 12_000_000
        print(path.name, "read")
    except ReadFailed as error:
        print(path.name, error.message)
assert extractor.file(b"A good file.", Path("good.md")).title == "good"
extractor.close()
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_twenty_hostile_files_are_read_or_refused_within_300_mb_and_the_next_is_read(tmp_path: Path) -> None:
    hostile = hostile_files()
    for name, data in hostile.items():
        (tmp_path / name).write_bytes(data)
    done = subprocess.run([sys.executable, "-c", MEASURED, str(tmp_path)], capture_output=True, timeout=3_000, check=True)
    *said, kilobytes = done.stdout.decode().splitlines()
    reasons = dict(line.split(" ", 1) for line in said)
    assert reasons.keys() == hostile.keys()
    assert int(kilobytes) <= 300_000
    assert reasons["forms.pdf"] == "reading it takes too much computing time or memory"
    assert "larger than the limit" in reasons["bomb.txt.gz"]
