"""How far one machine carries, and what the next design does to it: rates measured here, then a simulation of nights.

Measured on this machine, in two or three minutes: the processor's seconds for a session of the sample queue, for reading a
session, for the notes and pages of a new session, and for those that are there already; the seconds of an append with its sync;
the bytes and files of a session; the memory of a build for each stored session. Processor's seconds are used where other work on
the machine would stretch the clock's; an append is measured by the clock, so other work makes it look slower.

Assumed, because no measurement here can say it: a model answers in 4 s and is called 20 times a session, 8 calls at once; an
object store answers in 30 ms; the night has 8 hours; a machine has 2 processors, 8 GB of memory, and a disk of 1 TB with 61
million inodes (ext4's default). All of these stand at the top of this file.

Run: python -m bench.scaling [--rates FILE]     (FILE: rates as JSON from an earlier run, to simulate without measuring)
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import made_log
from bench.scaling_model import NIGHT_S, Night, Visit, arrivals, simulate

ROOT = Path(__file__).parent.parent
A_NIGHT = 10  # sessions at load 1
FACTORS = (1, 3, 10, 30, 100, 300, 1_000)
NIGHTS_KEPT = 365  # of earlier nights in the log
LIMIT, AIM = 0.7, 0.6  # utilisation: what is too much, and what the next design is laid out for
PROCESSORS = 2
MODEL_CALLS, MODEL_CALL_S, CALLS_AT_ONCE = 20, 4.0, 8  # assumed
MEMORY, DISK, INODES = 8e9, 1e12, 61e6  # assumed: of one machine
OBJECT_S = 0.03  # assumed: one object put into an object store
SLICES = 10  # turns between computing and appending in one session
STORED = (100, 400)  # sessions, for what grows with the log


@dataclass(frozen=True, slots=True)
class Rates:
    """What was measured. Times are seconds; ``…_stored`` are for each session that the log holds already."""

    research: float
    append: float
    appends: int
    fold: float
    marks_stored: float
    vault: float
    vault_stored: float
    site: float
    site_stored: float
    session_bytes: int
    session_files: int
    memory: int
    memory_stored: int


def main() -> None:
    """Measure, then print both tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--rates", type=Path)
    given = options.parse_args()
    print(f"load: {', '.join(f'{load:.1f}' for load in os.getloadavg())} on {os.cpu_count()} processors", flush=True)
    rates = Rates(**json.loads(given.rates.read_text())) if given.rates else measured()
    print(json.dumps(asdict(rates)))
    print_today(rates)
    print_next(rates)


def measured() -> Rates:
    """Measure all rates in a scratch folder."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        append = _append(place / "appends")
        research, events, size, files = _research(place / "research")
        small, large = (_stored(place / str(count), count) for count in STORED)
        each = {
            name: max(0.0, (large[name] - small[name]) / (STORED[1] - STORED[0])) for name in ("nothing", "site nothing", "marks")
        }
        return Rates(
            research=research,
            append=append,
            appends=events,
            fold=large["fold"],
            marks_stored=each["marks"],
            vault=max(0.0, large["more"] - large["nothing"]) / 10,
            vault_stored=each["nothing"],
            site=max(0.0, large["site more"] - large["site nothing"]) / 10,
            site_stored=each["site nothing"],
            session_bytes=size,
            session_files=files,
            memory=int(small["memory"]),
            memory_stored=int(max(0.0, large["memory"] - small["memory"]) / (STORED[1] - STORED[0])),
        )


def _append(folder: Path) -> float:
    """Seconds of one append with its sync, in the clock's time: the disk's work is not the processor's."""
    from bench.store import sample
    from pipeline.adapters.store.file_store import FileStore

    store = FileStore(folder)
    for version in range(1, 21):
        store.append("s-1", [sample(version)], version - 1)
    start = time.perf_counter()
    for version in range(21, 221):
        store.append("s-1", [sample(version)], version - 1)
    return (time.perf_counter() - start) / 200


def _research(folder: Path) -> tuple[float, int, int, int]:
    """Processor's seconds of one more session of the sample queue; its events; bytes and files of all that it leaves."""
    _command(folder.parent, "init", str(folder))
    first = _command(folder, "-C", str(folder), "-q", "run", "--limit", "1")
    before = _left(folder)
    more = _command(folder, "-C", str(folder), "-q", "run", "--limit", "3")
    after = _left(folder)
    lines = [line for path in (folder / "events" / "sessions").rglob("*.jsonl") for line in path.read_bytes().splitlines()]
    grown = tuple((now - then) // 3 for now, then in zip(after, before, strict=True))
    sessions = sum(1 for _ in (folder / "events" / "sessions").iterdir())
    if sessions != 4:
        raise SystemExit(f"{sessions} sessions where 4 were wanted: the sample queue has changed, so this file must too")
    return (more - first) / 2, len(lines) // sessions, grown[0], grown[1]


def _left(folder: Path) -> tuple[int, int]:
    """Bytes and number of the files of log, vault and site, without caches."""
    inside = [path for part in ("events", "vault", "site") for path in (folder / part).rglob("*") if path.is_file()]
    own = [path for path in inside if "local" not in path.relative_to(folder).parts]
    return sum(path.stat().st_size for path in own), len(own)


def _command(folder: Path, *words: str) -> float:
    """Run the program; return the processor's seconds that it and its helpers took."""
    folder.mkdir(parents=True, exist_ok=True)
    before = os.times()
    subprocess.run([sys.executable, "-m", "pipeline", *words], cwd=ROOT, check=False, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _stored(place: Path, sessions: int) -> dict[str, float]:
    """Processor's seconds of builds over a log of that many sessions: with nothing new, and with ten sessions more."""
    from pipeline.adapters.store.file_store import FileStore
    from pipeline.domain.session import ResearchSession

    place.mkdir()
    (place / "queries.yaml").write_text("queries: []\n")
    shutil.copytree(ROOT / "templates", place / "templates")
    made_log.write(place / "events", sessions)
    _build(place)
    store = FileStore(place / "events")
    found = {"marks": _cpu(lambda: [store.marks() for _ in range(5)]) / 5}
    names = list(store.session_ids())[:20]
    found["fold"] = _cpu(lambda: [ResearchSession.open(store, name) for name in names]) / len(names)
    found["nothing"], found["site nothing"] = _build(place, touched=True)
    made_log.write(place / "events", 10, first=sessions)
    found["more"], found["site more"] = _build(place)
    made_log.write(place / "events", 1, first=sessions + 10)
    found["memory"] = _memory(place)
    return found


def _memory(place: Path) -> float:
    """Bytes that a process needs at most which builds notes and pages of one more session."""
    command = [sys.executable, "-m", "pipeline", "-C", str(place), "-q", "build"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit("the build failed")
    return used.ru_maxrss * 1024.0


def _build(place: Path, *, touched: bool = False) -> tuple[float, float]:
    """Bring vault and site up to date; ``touched``: look at every file, as after a change that was not the program's."""
    from pipeline.wiring import workspace_adapters

    if touched:
        (place / "vault" / "my").mkdir(exist_ok=True)
        (place / "vault" / "my" / "new.md").write_text("# A note of one's own\n")
    return _cpu(lambda: workspace_adapters.build(place)), _cpu(lambda: workspace_adapters.build_site(place, ""))


def _cpu(work: Callable[[], object]) -> float:
    """Processor's seconds, those of ended helpers too."""
    before = sum(os.times()[:4])
    work()
    return sum(os.times()[:4]) - before


def today(rates: Rates, factor: int, *, model: bool) -> tuple[Night, dict[str, float]]:
    """A night on one machine: all questions are due at its start, vault and site are built once at its end.

    Returns the night of the sessions, and the utilisation of every part: builds too, and what ``NIGHTS_KEPT`` nights fill.
    """
    sessions = A_NIGHT * factor
    servers = {"research": PROCESSORS, "log": 1} | ({"model": CALLS_AT_ONCE} if model else {})
    night = simulate(arrivals(sessions, factor, 0.0), _route(rates, model=model), servers, factor)
    stored = NIGHTS_KEPT * sessions
    used = {name: station.utilisation() for name, station in night.stations.items()}
    used["vault"] = (rates.vault * sessions + (rates.vault_stored + rates.marks_stored) * stored) / NIGHT_S
    used["site"] = (rates.site * sessions + rates.site_stored * stored) / NIGHT_S
    used["memory"] = (rates.memory + rates.memory_stored * stored) / MEMORY
    used["disk"] = rates.session_bytes * stored / DISK
    used["files"] = rates.session_files * stored / INODES
    return night, used


def _route(rates: Rates, *, model: bool) -> list[Visit]:
    """A session's way: it computes and appends in turns, and waits for a model if there is one."""
    slice_ = [Visit("research", rates.research / SLICES), Visit("log", rates.append * rates.appends / SLICES)]
    calls = [Visit("model", MODEL_CALL_S)] * (MODEL_CALLS // SLICES) if model else []
    return [*calls, *slice_] * SLICES


def next_design(rates: Rates, factor: int, *, model: bool) -> tuple[Night, dict[str, int]]:
    """A night of the next design: many workers, a partitioned log, objects outside, builders that follow the log.

    Sessions are due spread over the first three quarters of the night. Returns the night, and how many of each part it takes.
    """
    sessions, within = A_NIGHT * factor, 0.75 * NIGHT_S
    fed = rates.fold  # a builder reads a session once, wherever it is
    demand = ({"model": MODEL_CALLS * MODEL_CALL_S} if model else {}) | {
        "research": rates.research,
        "log": rates.append * rates.appends,
        "vault": rates.vault + fed,
        "site": rates.site,
    }
    units = {name: max(1, math.ceil(sessions * seconds / (AIM * within))) for name, seconds in demand.items()}
    own = _route(rates, model=model)
    turn = [*own[: len(own) // SLICES], Visit("", OBJECT_S)]
    route = [*turn * SLICES, Visit("vault", demand["vault"]), Visit("site", demand["site"])]
    return simulate(arrivals(sessions, factor, within), route, units, factor), units


def print_today(rates: Rates) -> None:
    """Print what each part of one machine is used at each load, and which is the first above the limit."""
    for model in (False, True):
        print(f"\ntoday, one machine, {'with a model (assumed times)' if model else 'without a model'}; utilisation of the night")
        parts = ("research", "log", *(["model"] if model else []), "vault", "site", "memory", "disk", "files")
        print("| load | sessions | " + " | ".join(parts) + " | wait for a processor, 95% | all done after |")
        first = ""
        for factor in FACTORS:
            night, used = today(rates, factor, model=model)
            over = [name for name in parts if used[name] > LIMIT]
            first = first or (f"{over[0]} at load {factor:,}" if over else "")
            waits = max(night.stations[name].late_wait() for name in night.stations)
            end = night.end_s + (used["vault"] + used["site"]) * NIGHT_S
            shown = " | ".join(f"{used[name]:.1%}" for name in parts)
            print(f"| {factor:,} | {factor * A_NIGHT:,} | {shown} | {_length(waits)} | {_length(end)} |")
        print(f"first above {LIMIT:.0%}: {first or 'none'}")
    year = A_NIGHT * FACTORS[-1] * NIGHTS_KEPT
    print(
        f"\nafter {NIGHTS_KEPT} nights at load {FACTORS[-1]:,}: {year:,} sessions, {year * rates.session_files:,} files,", end=" "
    )
    print(f"{year * rates.session_bytes / 1e12:.1f} TB; to look at every stream takes {_length(year * rates.marks_stored)}")


def print_next(rates: Rates) -> None:
    """Print how many of each part the next design takes at each load, and what its queues are like then."""
    for model in (False, True):
        parts = ("research", "log", *(["model"] if model else []), "vault", "site")
        with_ = "with a model (assumed times)" if model else "without a model"
        print(f"\nthe next design, {with_}, laid out for {AIM:.0%}: how many of each, and the waits there (mean, 95%)")
        print("| load | sessions | " + " | ".join(parts) + " | all done after |")
        for factor in FACTORS:
            night, units = next_design(rates, factor, model=model)
            found = night.stations
            shown = [f"{units[one]:,}: {_length(found[one].mean_wait())}, {_length(found[one].late_wait())}" for one in parts]
            print(f"| {factor:,} | {factor * A_NIGHT:,} | {' | '.join(shown)} | {_length(night.end_s)} |")


def _length(seconds: float) -> str:
    """A length of time in its natural unit."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    main()
