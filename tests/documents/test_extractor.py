"""The worker process: real ones, small limits."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.documents.extractor import Extractor, Limits
from pipeline.errors import ReadFailed
from tests.documents.pdfs import nested_forms

GOOD = b"<html><title>Good</title><p>" + b"A sentence of the page that can be quoted. " * 5
URL = "https://example.org/x"

# What stands for a page that makes a reader misbehave: a worker whose reader does so on a mark in the page.
MISBEHAVING = """
import os, sys, time
from pipeline.documents import extract, worker

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
    return extract.extract(data, **hints)

worker.extract = reading
worker.serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[1]), int(sys.argv[2]))
"""


@pytest.fixture
def misbehaving(tmp_path: Path) -> tuple[str, ...]:
    script = tmp_path / "worker.py"
    script.write_text(MISBEHAVING)
    return (str(script),)


def with_extractor(limits: Limits, program: tuple[str, ...], scenario: Callable[[Extractor], Awaitable[None]]) -> None:
    async def run() -> None:
        extractor = Extractor(limits, program=program) if program else Extractor(limits)
        try:
            await scenario(extractor)
        finally:
            await extractor.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("page", "limits", "why"),
    [
        (b"spin", Limits(cpu_s=1, wall_s=30), "computing time or memory"),
        (b"sleep", Limits(wall_s=1), "longer than 1 s"),
        (b"eat", Limits(), "too much memory"),
        (b"crash", Limits(), "computing time or memory"),
        (b"exit", Limits(), "computing time or memory"),
        (b"fault", Limits(), "KeyError"),
        (b"deep", Limits(), "RecursionError"),
        (b"chatter", Limits(), "computing time or memory"),
    ],
)
def test_a_page_that_misbehaves_fails_alone_and_the_next_is_read(
    page: bytes, limits: Limits, why: str, misbehaving: tuple[str, ...]
) -> None:
    async def scenario(extractor: Extractor) -> None:
        assert (await extractor.document(GOOD, "text/html", URL)).title == "Good"
        with pytest.raises(ReadFailed, match=why):
            await extractor.document(page, "text/html", URL)
        assert (await extractor.document(GOOD, "text/html", URL)).title == "Good"

    with_extractor(limits, misbehaving, scenario)


def test_a_worker_can_write_nothing(tmp_path: Path, misbehaving: tuple[str, ...]) -> None:
    async def scenario(extractor: Extractor) -> None:
        with pytest.raises(ReadFailed):
            await extractor.document(b"write " + bytes(tmp_path / "out"), "text/html", URL)

    with_extractor(Limits(), misbehaving, scenario)
    assert not (tmp_path / "out").exists() or (tmp_path / "out").stat().st_size == 0


def test_one_process_serves_many_pages_and_is_then_replaced() -> None:
    pids: list[int] = []

    async def scenario(extractor: Extractor) -> None:
        for _ in range(4):
            await extractor.document(GOOD, "text/html", URL)
            pids.append(extractor.pid)

    with_extractor(Limits(pages=2), (), scenario)
    assert [pids[0] == pids[1], pids[1] == pids[2], pids[2] == pids[3]] == [True, False, True]


def test_pages_asked_for_at_once_each_get_their_own_document() -> None:
    async def scenario(extractor: Extractor) -> None:
        pages = [GOOD.replace(b"Good", b"Page %d" % n) for n in range(10)]
        found = await asyncio.gather(*(extractor.document(page, "text/html", URL) for page in pages))
        assert [document.title for document in found] == [f"Page {n}" for n in range(10)]

    with_extractor(Limits(), (), scenario)


def test_a_reading_that_is_given_up_leaves_nothing_for_the_next(misbehaving: tuple[str, ...]) -> None:
    async def scenario(extractor: Extractor) -> None:
        task = asyncio.create_task(extractor.document(b"sleep", "text/html", URL))
        while not extractor.pid:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await extractor.document(GOOD, "text/html", URL)).title == "Good"

    with_extractor(Limits(), misbehaving, scenario)


def test_a_worker_that_died_while_idle_is_replaced() -> None:
    async def scenario(extractor: Extractor) -> None:
        await extractor.document(GOOD, "text/html", URL)
        first = extractor.pid
        os.kill(first, signal.SIGKILL)
        while extractor.pid:
            await asyncio.sleep(0.01)
        assert (await extractor.document(GOOD, "text/html", URL)).title == "Good"
        assert extractor.pid != first

    with_extractor(Limits(), (), scenario)


def test_the_worker_s_environment_holds_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")

    async def scenario(extractor: Extractor) -> None:
        await extractor.document(GOOD, "text/html", URL)
        assert b"canary" not in Path(f"/proc/{extractor.pid}/environ").read_bytes()

    with_extractor(Limits(), (), scenario)


BOMBS = [
    b"<a " + b"x " * 1_400_000,
    b"<a " + b"x=y " * 700_000,
    b"<b><i>" * 400_000,
    b"<style>" + b"a{" * 900_000,
    b"<style>" + b"@media x {" * 200_000,
    b"<style>" + b".a{display:none}" * 150_000,
    b"<!--" * 700_000,
    b"<table><tr>" + b"<td>" * 500_000,
    b"<p style='" + b"color:" * 300_000,
    b"<meta charset=" * 200_000,
    b"&" * 2_900_000,
]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_real_bomb_is_read_or_refused_within_its_limits_and_the_next_page_is_read(bomb: bytes) -> None:
    async def scenario(extractor: Extractor) -> None:
        with suppress(ReadFailed):
            document = await extractor.document(b"<html><p>" + bomb, "text/html", URL)
            assert len(document.text) < 4_000_000
        assert (await extractor.document(GOOD, "text/html", URL)).title == "Good"

    with_extractor(Limits(wall_s=10, cpu_s=3), (), scenario)


# Extracts the document on stdin, and prints why it cannot be read and how many kilobytes of memory that took.
MEASURED = """
import resource, sys
from pathlib import Path
from pipeline.documents.extractor import Extractor
from pipeline.errors import ReadFailed
try:
    Extractor().file(sys.stdin.buffer.read(), Path("laughs.pdf"))
except ReadFailed as error:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, error.message)
"""


def test_a_small_pdf_that_draws_without_end_is_refused_within_300_mb() -> None:
    bomb = nested_forms(9)
    assert len(bomb) < 3_000
    done = subprocess.run([sys.executable, "-c", MEASURED], input=bomb, capture_output=True, timeout=60, check=True)
    kilobytes, _, reason = done.stdout.decode().partition(" ")
    assert reason.strip() == "reading it takes too much computing time or memory"
    assert int(kilobytes) <= 300_000
