"""A workspace's life on two machines that did not know of each other, and what must hold when their logs are united.

The first machine's log is copied as it was at a random moment; both go on by themselves, through trouble; then each takes
what the other has. The two unions must be one log, and a clean night on each must end in the same reports.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.domain.branch_merging import joined
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode
from pipeline.domain.events.stream_records import KINDS, MERGE
from pipeline.domain.research_values import Cost
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import cost_of
from pipeline.store.copying import OtherLog, copy_log
from pipeline.store.file_store import FileStore
from pipeline.store.record_chain import NAMED_OBJECT, Line, parse, seal
from pipeline.store.verification import verify
from tests.fakes import report_bytes
from tests.simulation.life import Life, life
from tests.simulation.lives import QUIET_NIGHTS, workspace
from tests.simulation.promises import recorded
from tests.simulation.talking import talks_in, wrong_in_talks


@dataclass
class Pair:
    """What came of one seed: what was wrong, and whether answers were adopted, the same or in conflict."""

    wrong: list[str]
    met: set[str]


def lived_apart(seed: int) -> Pair:
    """Live one life on two machines, unite their logs in both directions, and return what is wrong with that."""
    with workspace() as root, life(seed, root) as found:
        roots = list(apart(found, 2))
        billed = Counter(found.provider.billed)
        unions = [unite(order, root.parent / f"united-{at}") for at, order in enumerate((roots, roots[::-1]))]
        met = _met(unions[0])
        wrong = [
            *_differing(unions),
            *(str(finding) for finding in verify(unions[0]) if finding.kind != "torn"),
            *wrong_in_talks(store_in(unions[0])),
            *_misbilled(unions[0], billed),
            *_unlike_the_events(unions[0]),
        ]
        return Pair(wrong or _ended_alike(found, unions), met)


def store_in(root: Path) -> FileStore:
    """Return a store that joins branches."""
    return FileStore(root, joined)


def chains(store: FileStore) -> dict[str, list[bytes]]:
    """Return the events of every session, as stored."""
    return {name: [record.data for record in store.load(name)] for name in store.ids("session")}


def files_in(root: Path) -> dict[str, bytes]:
    """Return the sound part of the log's segments below a folder, and the objects that they name."""
    paths = [path for folder in ("sessions", "batches", "talks") for path in (root / folder).rglob("*.jsonl")]
    files = {str(path.relative_to(root)): _sound_part(path) for path in paths}
    named = {digest.decode() for content in files.values() for digest in NAMED_OBJECT.findall(content)}
    return files | {digest: FileStore(root).objects.get(digest) for digest in named}


def _sound_part(path: Path) -> bytes:
    """Return a segment without a torn end, which was never acknowledged."""
    stream = path.parent.parent.name if path.parent.name == "events" else path.stem.partition("~")[0]
    return b"".join(seal(line.record.data, line.prev)[0] for line in parse(path.name, path.read_bytes(), stream).lines)


def unite(roots: list[Path], into: Path) -> Path:
    """Copy the first log, take over what the others have, and join all branches."""
    shutil.copytree(roots[0], into)
    shutil.rmtree(into / "local", ignore_errors=True)
    for other in roots[1:]:
        refused = copy_log(OtherLog(other), FileStore(into)).refused
        assert not refused, refused
    store = store_in(into)
    for name in store.branched(store.marks(KINDS)):
        store.join(name)
    return into


def apart(found: Life, machines: int) -> Iterator[Path]:
    """Live on the first machine; then on each other one, from a copy of the log as it was at a random moment."""
    for _ in range(found.chance.randint(1, 2)):
        found.night(troubled=True)
    first = found.root
    copies = [_cut(first, first.parent / f"machine-{number}", found.chance) for number in range(1, machines)]
    early = found.chance.random() < 0.5
    for number, root in enumerate([first, *copies]):
        found.root, found.nights, found.acknowledged = root, 100 * (number + 1), {}
        found.disk.take_over(root)
        for _ in range(found.chance.randint(0, 2)):
            found.night(troubled=found.chance.random() < 0.7)
        if early:  # as it was at some moment of its life apart
            found.provider.billed.clear()
            root = _cut(root, root.parent / f"{root.name}-early", found.chance)
        yield root


def _cut(root: Path, into: Path, chance: random.Random) -> Path:
    """Copy a log as it was after a random event of each of its sessions; what nights did is left out."""
    shutil.copytree(root, into)
    for folder in ("local", "batches"):
        shutil.rmtree(into / folder, ignore_errors=True)
    store = FileStore(into)
    for name in list(store.ids("session")):
        length = len(store.load(name))
        last = chance.randint(length // 4, length)
        for path in sorted((into / "sessions" / name / "events").iterdir()):
            lines = [line for line in parse(path.name, path.read_bytes(), name).lines if line.record.version <= last]
            path.write_bytes(b"".join(seal(line.record.data, line.prev)[0] for line in lines))
            if not lines:
                path.unlink()
    return into


def _differing(unions: list[Path]) -> Iterator[str]:
    one, other = map(files_in, unions)
    yield from (f"{name} differs between the unions" for name in sorted(one.keys() | other) if one.get(name) != other.get(name))


def _met(root: Path) -> set[str]:
    store = store_in(root)
    events = [decode(record.data) for name in (*store.ids("session"), *store.ids("talk")) for record in store.load(name)]
    merges = [event for event in events if isinstance(event, e.BranchMerged)]
    return {kind for kind in ("adopted", "same", "conflicts") for event in merges if getattr(event, kind)}


def _misbilled(root: Path, billed: Counter[str]) -> Iterator[str]:
    """What was billed on all machines must be counted."""
    for name, cost in _costs(store_in(root)):
        counted = round(cost.usd * 1e9)
        if counted < billed[name]:
            yield f"{name}: {billed[name]} nano-dollars were billed, the events have {counted}"


def _unlike_the_events(root: Path) -> Iterator[str]:
    """The cost must be that of every event that any run recorded, each once, and of the calls whose answer none recorded."""
    for name, counted in _costs(store_in(root)):
        charged = round(sum(_charges(root, name)), 9)
        if abs(charged - counted.usd) > 1e-8:
            yield f"{name}: the events of all branches cost {charged}, the stream {counted.usd}"


def _costs(store: FileStore) -> Iterator[tuple[str, Cost]]:
    """Yield what each session and each talk cost."""
    yield from ((name, cost_of(ResearchSession.open(store, name).state)) for name in store.ids("session"))
    yield from ((name, talk.cost()) for name, talk in talks_in(store).items())


def _charges(root: Path, stream: str) -> Iterator[float]:
    """Yield the cost of every answer and of every call without one: its run, or the run after it on the branch, counts it."""
    records: dict[bytes, Line] = {}
    for path in [*root.glob(f"sessions/{stream}/events/*"), *root.glob(f"talks/{stream}*.jsonl")]:
        records |= {line.hash: line for line in parse(path.name, path.read_bytes(), stream).lines}
    originals = {hash_: line for hash_, line in records.items() if not line.record.run_id.startswith(MERGE)}
    events = {hash_: decode(line.record.data) for hash_, line in originals.items()}
    yield from (event.cost.usd for event in events.values() if isinstance(event, e.Answered))
    for event in events.values():
        if isinstance(event, e.CallSent) and not _is_answered(event, events.values()):
            yield event.worst.usd


def _is_answered(sent: e.CallSent, events: Iterable[e.EventBase]) -> bool:
    """Return whether the call's own run recorded an answer to it."""
    later = (one for one in events if one.run_id == sent.run_id and one.version > sent.version)
    return any(isinstance(one, e.Answered) and one.step == sent.step for one in later)


def _ended_alike(found: Life, unions: list[Path]) -> list[str]:
    """Clean nights on each union: no recorded answer is asked for again, and all end in the same reports."""
    reports = []
    for number, root in enumerate(unions):
        found.root, found.nights, found.acknowledged = root, 1_000 * (number + 1), {}
        wrong = _finished(found)
        if wrong:
            return wrong
        store = store_in(root)
        states = [ResearchSession.open(store, name).state for name in store.ids("session")]
        reports.append({state.id: report_bytes(state) for state in states if state.report and not state.exhausted})
    one, other = reports  # where a cap was spent, it was spent on what happened to be answered first
    return [f"the reports of {name} differ" for name in sorted(one.keys() & other) if one[name] != other[name]]


def _finished(found: Life) -> list[str]:
    for _ in range(QUIET_NIGHTS):
        known = recorded(found.store)
        ended = found.night(troubled=False)
        if ended.error is not None:
            return [f"a clean night ended in {ended.error!r}"]
        again = {name: known.get(name, set()) & set(calls) for name, calls in found.calls.items()}
        if any(again.values()):
            return [f"{name}: asked again for {sorted(calls)}" for name, calls in again.items() if calls]
        if ended.result is not None and not ended.result.batch:
            return []
    return [f"after {QUIET_NIGHTS} quiet nights there is still work to do"]
