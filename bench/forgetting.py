"""Random lives of a log that is recorded, consolidated, pruned, forgotten and killed, on all processors. Prints what broke.

Then a year of nights, consolidated and pruned: prints what the log takes on the disk, before and after, and whether the vault and
the site that were kept up to date over the prune are those that are built from nothing, byte by byte.

Between the two, the consolidations of 200 lives are folded in five orders each.

Run: python -m bench.forgetting [--lives 10000] [--first 0] [--processes N] [--orders LIVES] [--year SESSIONS]
     python -m bench.forgetting --seed N      one life again
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from random import Random

from bench import made_log
from pipeline.batch.memory import consolidate, consolidation_of, read_memory
from pipeline.batch.session_index import read_all
from pipeline.domain.events.json_codec import decode_all, encode
from pipeline.domain.events.session_events import RunStarted
from pipeline.domain.memory import remember
from pipeline.engine.run_context import RunContext
from pipeline.ops.forgetting import Known, Prunable, finish, plan, prune, read_usage
from pipeline.site.build import build_site
from pipeline.site.files import Folders
from pipeline.store import verification
from pipeline.store.files import FileStore
from pipeline.text.normalise import digest_of
from pipeline.vault import build_vault
from tests.fakes import Ticks
from tests.ops.lives import Life, lived
from tests.vault.builders import TEMPLATES

MEMORY = Path("/dev/shm")  # noqa: S108 - folders of its own are made there
RULE: dict[Prunable, timedelta | None] = {"exchanges": timedelta(30), "pages": timedelta(90), "sessions": timedelta(60)}


def main() -> None:
    """Print each seed that breaks a promise, and the figures of the year; exit 1 if anything broke."""
    options = argparse.ArgumentParser()
    options.add_argument("--lives", type=int, default=10_000)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--seed", type=int)
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options.add_argument("--orders", type=int, default=200, metavar="LIVES")
    options.add_argument("--year", type=int, default=3_650, metavar="SESSIONS")
    given = options.parse_args()
    if given.seed is not None:
        sys.exit(1 if _live(range(given.seed, given.seed + 1), 1) else 0)
    broken = _live(range(given.first, given.first + given.lives), given.processes) if given.lives else 0
    broken += _orders(given.orders)
    sys.exit(1 if broken + (_year(given.year) if given.year else 0) else 0)


def _live(seeds: range, processes: int) -> int:
    start, broken = time.perf_counter(), 0
    with ProcessPoolExecutor(processes) as pool:
        for place, (seed, wrong) in enumerate(zip(seeds, pool.map(_one, seeds, chunksize=10), strict=True), start=1):
            broken += bool(wrong)
            for what in wrong:
                print(f"seed {seed}: {what}", flush=True)
            if place % 500 == 0:
                print(f"{place:,} lives, {broken} with a broken promise, {time.perf_counter() - start:.0f} s", flush=True)
    seconds = time.perf_counter() - start
    rate = f"{seconds:.0f} s, {len(seeds) / (seconds or 1):.1f} lives a second"
    print(f"{len(seeds):,} lives from seed {seeds.start}: {broken} with a broken promise (wanted: 0 of 10,000); {rate}")
    return broken


def _one(seed: int) -> list[str]:
    root = Path(tempfile.mkdtemp(prefix="forgetting-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    try:
        return lived(seed, root, vault=seed % 50 == 0)
    finally:
        shutil.rmtree(root)


def _orders(lives: int) -> int:
    """Fold the memory streams of some lives in five orders each; return how many lives gave another memory, and print it."""
    differing = streams = 0
    for seed in range(lives):
        root = Path(tempfile.mkdtemp(prefix="orders-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
        life = Life(root, Random(seed))
        for _ in range(16):
            life.research()
            if life.chance.random() < 0.5:
                life.consolidate()
        life.consolidate()
        found = [list(decode_all(record.data for record in life.store.load(name))) for name in life.store.ids("memory")]
        streams += len(found)
        memories = {repr(remember(chain.from_iterable(life.chance.sample(found, len(found))))) for _ in range(5)}
        twice = {name: {encode(consolidation_of(life.store, name)[1]) for _ in range(2)} for name in life.store.ids("session")}
        differing += len(memories) > 1 or any(len(given) > 1 for given in twice.values())
        shutil.rmtree(root)
    print(
        f"{lives} lives with {streams:,} consolidations, each in five orders: {differing} give another memory (wanted: 0 of 200)"
    )
    return differing


def _year(sessions: int) -> int:
    """A made log of a year of nights; return how many promises broke."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as scratch:
        root = Path(scratch)
        made_log.A_NIGHT = max(1, sessions // 365)
        made_log.write(root / "events", sessions)
        store = FileStore(root / "events")
        _put_pages(store)
        last = max(one.ended_at for one in read_all(store).sessions)
        now = datetime.fromisoformat(last) + timedelta(days=1)
        context = _context(now)
        asyncio.run(consolidate(store, context, read_all(store).sessions))
        before = _sizes(root / "events")
        _built(root, "state")
        started = time.perf_counter()
        finish(store, context)
        consolidated = {name: one.up_to for name, one in read_memory(store).sessions.items()}
        known = Known(read_all(store).sessions, consolidated, (), read_usage(store), store.tombstones().sessions)
        done = prune(store, context, plan(known, RULE, now), known.usage)
        seconds = time.perf_counter() - started
        print(f"{sessions:,} sessions: {len(done.sessions):,} pruned in {seconds:.0f} s; left: {done.left or 'none'}")
        _print_sizes(before, _sizes(root / "events"))
        wrong = [str(finding) for finding in verification.verify(root / "events")]
        kept, fresh = _built(root, "state"), _built(root, "fresh")
        differing = sorted(path for path in kept.keys() | fresh.keys() if kept.get(path) != fresh.get(path))
        print(
            f"verify: {wrong[:3] or 'sound'}; of {len(fresh):,} files of vault and site, {len(differing)} differ {differing[:3]}"
        )
        return len(wrong) + len(differing)


def _context(now: datetime) -> RunContext:
    ticks = Ticks(prefix="bench", moment=now)
    return RunContext("bench", RunStarted(host="here", process=1, program="bench"), now=ticks.now, new_id=ticks.new_id)


def _put_pages(store: FileStore) -> None:
    """Store the pages that the made sessions name: those of the scripted one that they were copied from."""
    from tests.recorded import recorded

    for data in recorded(**made_log.EVENTS).objects.values():
        store.objects.put(data)


def _sizes(events: Path) -> dict[str, int]:
    folders = ("sessions", "objects", "memory", "prunes")
    files = {name: [path for path in (events / name).rglob("*") if path.is_file()] for name in folders}
    return {name: sum(path.stat().st_size for path in found) for name, found in files.items()}


def _print_sizes(before: dict[str, int], after: dict[str, int]) -> None:
    for name in before:
        print(f"  {name:<10}{before[name] / 1e6:>9.1f} MB before{after[name] / 1e6:>9.1f} MB after")
    print(f"  in all    {sum(before.values()) / 1e6:>9.1f} MB before{sum(after.values()) / 1e6:>9.1f} MB after")


def _built(root: Path, state: str) -> dict[str, str]:
    """Return the digest of each file of the vault and the site, which remember the last build with the same ``state``."""
    vault, site = root / f"vault-{state}", root / f"site-{state}"
    build_vault(FileStore(root / "events"), templates=TEMPLATES, vault=vault, state_dir=root / state)
    build_site(Folders(vault, TEMPLATES.parent / "site", site, root / f"site-state-{state}"))
    files = (
        (kind, path)
        for kind, folder in (("vault", vault), ("site", site))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    )
    folders = {"vault": vault, "site": site}
    return {f"{kind}/{path.relative_to(folders[kind])}": digest_of(path.read_bytes()) for kind, path in files}


if __name__ == "__main__":
    main()
