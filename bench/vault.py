"""Building a vault of 10,000 notes: all of it, nothing, one session more, one template edited. Prints seconds, ratios and memory.

Beside the clock's seconds stand the processor's, which other work on the machine stretches less. All of a vault is put beside the
plain writing of the same bytes: open, write, close in a fresh folder; and the same through a temporary file that is then renamed.
Each is done three times in turn, with nothing left to be flushed before it, and the least counts.
One session more is also measured as its user waits for it: the whole process, with Python's start and all imports. The memory is
that of the process that builds, and of the largest that helps it, libraries included.

Run: python -m bench.vault [--notes 10000]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench import made_log

TEMPLATES = Path(__file__).parent.parent / "templates" / "vault"
NOTES_OF_A_SESSION = 7
SMALL = 100
TIMES = 3


@dataclass(frozen=True)
class Took:
    """Seconds of the clock and of the processor, and what was counted."""

    wall: float
    cpu: float
    facts: dict[str, Any]

    def over(self, other: Took) -> str:
        """Both ratios in words."""
        return f"{self.wall / other.wall:.2f} by the clock, {self.cpu / other.cpu:.2f} by the processor"


def main() -> None:
    """Print all figures."""
    options = argparse.ArgumentParser()
    options.add_argument("--notes", type=int, default=10_000)
    options.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.build:
        print(json.dumps(_build_here(given.build)))
        return
    print(f"load: {', '.join(f'{load:.1f}' for load in os.getloadavg())} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as scratch:
        small, large = Path(scratch) / "small", Path(scratch) / "large"
        sessions = {small: SMALL // NOTES_OF_A_SESSION, large: given.notes // NOTES_OF_A_SESSION}
        for place, number in sessions.items():
            _lay_out(place, number)
        _whole(large)
        _said("nothing changed", _least(_build(large) for _ in range(TIMES)))
        _more(small, large, sessions)
        _edited(large)


def _lay_out(place: Path, sessions: int) -> None:
    shutil.copytree(TEMPLATES, place / "templates")
    made_log.write(place / "events", sessions)


def _whole(place: Path) -> None:
    rounds = [_all_and_beside(place, number) for number in range(TIMES)]
    took = _least(one["all"] for one in rounds)
    datas = _datas(place)
    notes = [len(data) for path, data in datas.items() if path.suffix == ".md"]
    size = sum(notes) // len(notes)
    _said(f"all: {len(notes):,} notes of {size:,} bytes, {len(datas) - len(notes):,} bases", took)
    for name in WAYS:
        beside = _least(one[name] for one in rounds)
        _said(f"the same bytes, {name}", beside)
        print(f"  all ÷ {name}: {took.over(beside)}")


def _all_and_beside(place: Path, number: int) -> dict[str, Took]:
    """All of a vault built from nothing, then its bytes written in each other way; the vault stays.

    Nothing is removed, because some file systems (ext4) are many times slower in making files for minutes after others went.
    """
    earlier = place / f"before {number}"
    earlier.mkdir()
    for folder in (place / "vault", place / "events" / "local"):
        if folder.exists():
            folder.rename(earlier / folder.name)
    os.sync()
    took = {"all": _build(place)}
    datas = _datas(place)
    for name, write in WAYS.items():
        os.sync()
        took[name] = _timed(partial(_write_all, earlier / name, datas, write))
    return took


def _datas(place: Path) -> dict[Path, bytes]:
    found = sorted(path for path in (place / "vault").rglob("*") if path.is_file())
    return {path.relative_to(place / "vault"): path.read_bytes() for path in found}


def _write_all(folder: Path, datas: dict[Path, bytes], write: Callable[[Path, bytes], None]) -> dict[str, Any]:
    for parent in {path.parent for path in datas}:
        (folder / parent).mkdir(parents=True, exist_ok=True)
    for path, data in datas.items():
        write(folder / path, data)
    return {"written": len(datas)}


def _plain(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:  # noqa: PTH123 - the plainest way; `Path` costs more
        file.write(data)


def _renamed(path: Path, data: bytes) -> None:
    temporary = f"{path}.tmp"
    with open(temporary, "wb") as file:  # noqa: PTH123 - the plainest way; `Path` costs more
        file.write(data)
    os.replace(temporary, path)  # noqa: PTH105 - likewise


WAYS = {"plain": _plain, "through a temporary file": _renamed}


def _more(small: Path, large: Path, sessions: dict[Path, int]) -> None:
    _build(small)
    took: dict[Path, list[Took]] = {}
    for place in (small, large):
        rounds = [_one_more(place, sessions[large] + number) for number in range(TIMES)]
        took[place] = [_least(builds) for builds in zip(*rounds, strict=True)]
        _said(f"one session more, in the {place.name} vault", took[place][0])
        _said("  the whole process", took[place][1])
    for what, many, few in zip(("the build alone", "the whole process"), took[large], took[small], strict=True):
        print(f"  in the large ÷ in the small vault, {what}: {many.over(few)}")


def _one_more(place: Path, number: int) -> tuple[Took, Took]:
    """The build alone, and the whole process."""
    made_log.write(place / "events", 1, first=number)
    wall, before = time.perf_counter(), os.times()
    built = _build(place)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return built, Took(time.perf_counter() - wall, cpu, {})


def _least(rounds: Iterable[Took]) -> Took:
    found = list(rounds)
    return Took(min(one.wall for one in found), min(one.cpu for one in found), found[-1].facts)


def _edited(place: Path) -> None:
    template = place / "templates" / "worker.md.j2"
    template.write_text(f"{template.read_text()}\nEdited.\n")
    _said("the workers' template edited", _build(place))


def _timed(act: Callable[[], dict[str, Any]]) -> Took:
    wall, cpu = time.perf_counter(), time.process_time()
    facts = act()
    return Took(time.perf_counter() - wall, time.process_time() - cpu, facts)


def _build(place: Path) -> Took:
    """Build in a process of its own, so that its memory is its own; as when installed, Python keeps its compiled modules."""
    command = [sys.executable, "-m", "bench.vault", "--build", str(place)]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True, env=kept).stdout)
    return Took(found.pop("wall"), found.pop("cpu"), found)


def _build_here(place: Path) -> dict[str, Any]:
    from pipeline.cli.main import COLLECTION
    from pipeline.store.file_store import FileStore
    from pipeline.vault import build_vault

    gc.set_threshold(*COLLECTION)  # as the command line does
    store, local = FileStore(place / "events"), place / "events" / "local"
    wall, cpu = time.perf_counter(), _cpu()
    report = build_vault(store, templates=place / "templates", vault=place / "vault", state_dir=local, record=_refuse)
    assert report.problems == ()
    took = {"wall": time.perf_counter() - wall, "cpu": _cpu() - cpu}
    here, beside = (resource.getrusage(who).ru_maxrss // 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    memory = {"megabytes": here} | ({"and beside": beside} if beside else {})
    return took | memory | {"written": len(report.written), "unchanged": report.unchanged}


def _refuse(drafts: object) -> None:
    raise AssertionError(f"nobody moved anything, but {drafts} was found")


def _cpu() -> float:
    """Seconds of the processor, those of ended children too."""
    return sum(os.times()[:4])


def _said(what: str, took: Took) -> None:
    facts = "".join(f"; {name} {value:,}" for name, value in took.facts.items())
    print(f"{what}: {took.wall:.3f} s, {took.cpu:.3f} s of the processor{facts}", flush=True)


if __name__ == "__main__":
    main()
