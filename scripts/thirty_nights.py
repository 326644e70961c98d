"""A workspace as thirty nights with ten recurring questions leave it: a scripted log, for a picture of the front page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from pipeline.adapters.store.segment_format import ZEROS, seal
from tests.fakes import MemoryStore
from tests.vault.builders import Story, night

FIRST, NIGHTS = date(2026, 10, 24), 30


class Asked(NamedTuple):
    """A question with its answer, the same in a second source's words, a statement against it, and what is open."""

    id: str
    query: str
    answer: str
    second: str
    against: str
    open: str
    titles: tuple[str, str, str]


QUESTIONS = (
    Asked(
        "power-cut", "How does an append-only log survive a power cut?",
        "A record that was flushed before it was acknowledged is found again after the restart.",
        "Whatever was flushed and acknowledged is there again once the power is back.",
        "Of 40 laptops, 9 lost records that had been flushed.", "Which drives honour a flush?",
        ("Logs handbook", "Crash safety", "Field report"),
    ),
    Asked(
        "citations", "How often are citations wrong?",
        "About one citation in four has an error, and one in ten does not support its sentence.",
        "A tenth of the citations that were checked do not say what they are cited for.",
        "Fewer than one citation in twenty is wrong in any way.", "Do error rates differ by field?",
        ("Survey of error rates", "Editors' handbook", "Citation audit"),
    ),
    Asked(
        "ranking", "How should a search engine rank passages of text?",
        "Two stages are best: a cheap one collects candidates, a slow one orders them.",
        "A first stage that is cheap, and a second one that orders its candidates, beat one stage.",
        "A single dense stage ranks passages as well as two stages.", "How many candidates are enough?",
        ("Ranking survey", "Lecture on BM25", "Ranking critique"),
    ),
    Asked(
        "notes", "Do linked notes help people remember?",
        "Notes help when making them forces a person to think; links add to that indirectly.",
        "Making a note helps memory if it takes thought.", "Rereading notes helps as much as making them.",
        "Is there an experiment on links alone?", ("Research review", "Field report on notes", "The case against"),
    ),
    Asked(
        "static", "When is a static site better than a server-rendered one?",
        "A static site is better when its pages change less often than they are read.",
        "Pages that are read more often than they change belong on a static site.",
        "Server rendering is as fast once a cache stands before it.", "What does a cache cost to run?",
        ("Static or not", "Rendering questions", "The sceptic"),
    ),
    Asked(
        "vacuum", "When does autovacuum fall behind?",
        "It falls behind when rows die faster than its cost limit lets it clean.",
        "A low cost limit makes cleaning slower than rows die.", "Only long transactions make it fall behind.",
        "Which cost limit suits fast disks?", ("Database manual", "Operations notes", "A post-mortem"),
    ),
    Asked(
        "backup", "How often should a backup be restored as a test?",
        "A restore every month finds most faults before they matter.", "Monthly restores find nearly all faults in time.",
        "A restore once a year is often enough.", "What does a test of ten terabytes cost?",
        ("Backup guide", "Audit of restores", "Cost study"),
    ),
    Asked(
        "torn", "How are torn writes recognised?", "A checksum in each record recognises every torn write at a log's end.",
        "Each record's checksum shows whether it was torn.", "A cut at a record's boundary leaves nothing to recognise.",
        "Is a length in front enough?", ("Checksums survey", "Log formats", "Gaps in logs"),
    ),
    Asked(
        "heat-pump", "How loud is a heat pump at night?", "Most are at 35 to 45 decibels in three metres' distance.",
        "In three metres' distance, 35 to 45 decibels are usual.", "At night many pass 50 decibels.", "Does a hedge help?",
        ("Test of pumps", "Makers' data", "Neighbours' survey"),
    ),
    Asked(
        "battery", "What changed in the battery regulation?", "From 2027, batteries in devices must be replaceable.",
        "Users must be able to change the batteries of devices from 2027 on.", "Sealed devices are exempt until 2030.",
        "Does it cover hearing aids?", ("The regulation", "A guide to it", "A comment"),
    ),
)  # fmt: skip


def write(events: Path) -> None:
    """Write the log below ``events``. In the last night one question fails, and one is not found."""
    store, last = MemoryStore(), dict[str, str]()
    for number in range(NIGHTS):
        day = (FIRST + timedelta(days=number)).isoformat()
        stories = [_story(store, asked, day, last.get(asked.id, "")) for asked in QUESTIONS]
        final = number == NIGHTS - 1
        for story, asked in zip(stories, QUESTIONS, strict=True):
            if final and asked.id == "heat-pump":
                story.begin().failed()
            elif final and asked.id == "battery":
                story.begin().not_found()
            else:
                last[asked.id] = story.whole().id
        night(store, *stories, date=day)
    for name, records in store.streams.items():
        _write_stream(events, name, [record.data for record in records])


def _story(store: MemoryStore, asked: Asked, day: str, previous: str) -> Story:
    pages = (f"https://{asked.id}.example/handbook", f"corpus:{asked.id}.md", f"https://data.example/{asked.id}")
    name = f"{day}-{asked.id}-{day[-2:]}{asked.id[0]}0"
    return Story(
        store,
        id=name,
        query=asked.query,
        query_id=asked.id,
        previous=previous,
        date=day,
        say=_words_of(asked),
        pages=pages,
        tags=(),
    )


def _words_of(asked: Asked) -> Callable[[str], str]:
    said = {
        "An append is durable after fsync returned.": asked.answer,
        "Fsync makes an append durable.": asked.answer,
        "After fsync has returned, an append is durable.": asked.second,
        "One drive in nine loses flushed data.": asked.against,
        "How loud is it?": asked.open,
        "flushed data": asked.query.rstrip("?"),
    }
    titles = iter(asked.titles)
    return lambda text: next(titles, asked.titles[0]) if text.startswith("Title of") else said.get(text, text)


def _write_stream(events: Path, name: str, datas: list[bytes]) -> None:
    is_batch = name.startswith("batch-")
    file = events / "batches" / f"{name}.jsonl" if is_batch else events / "sessions" / name / "events" / "000001-run-1.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines, prev = [], ZEROS
    for data in datas:
        line, prev = seal(data, prev)
        lines.append(line)
    file.write_bytes(b"".join(lines))
