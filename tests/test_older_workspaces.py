"""Workspaces of an earlier version open, verify, build and go on; ``older_workspaces/README.md`` says what they hold."""

from __future__ import annotations

import gzip
import json
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commanding import Said, said
from tests.standin.fixtures import standin as standin
from tests.standin.prompt import plain
from tests.standin.server import Standin

ARCHIVES = Path(__file__).parent / "older_workspaces"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in ARCHIVES.glob("*.tar.gz"))
KILLED = ("planned", "gathering", "evaluated", "writing", "forked", "joined")
WORDS = re.compile(r"kept-(?:words|property)-[\w-]+")  # what a person wrote, in an archive's README
# The answers from outside that a session records, each with the fields that tell one from another.
ANSWERS: dict[str, tuple[str, ...]] = {
    "topic.surveyed": (),
    "plan.created": (),
    "worker.thought": ("worker_id", "iteration"),
    "search.completed": ("query",),
    "page.read": ("url",),
    "facts.observed": ("worker_id", "url", "part"),
    "worker.evaluated": ("worker_id", "iteration"),
    "outline.created": (),
    "section.written": ("section_id",),
    "report.written": (),
}


def unpacked(name: str, folder: Path, port: int = 8899) -> Path:
    """Return the workspace of an archive in ``folder``, with the model at this port."""
    with tarfile.open(ARCHIVES / f"{name}.tar.gz") as archive:
        archive.extractall(folder / name, filter="data")
    queue = folder / name / "queries.yaml"
    queue.write_text(queue.read_text().replace(":8899/", f":{port}/"))
    (folder / name / ".env").write_text("STANDIN_API_KEY=sk-or-v1-canary0standin0secret0\n")
    (folder / name / ".env").chmod(0o600)
    return folder / name


def files(folder: Path, *passed: str) -> dict[str, bytes]:
    """The bytes of all files below a folder, except those of the folders ``passed``."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(passed)}


def words_in(folder: Path) -> set[str]:
    """What a person wrote in any note of the vault."""
    return {one for data in files(folder / "vault").values() for one in WORDS.findall(data.decode("utf-8", "replace"))}


def events(folder: Path) -> list[dict[str, Any]]:
    """The events of all sessions, as they are in the files."""
    segments = sorted((folder / "events" / "sessions").glob("*/events/*.jsonl"))
    return [json.loads(line) for path in segments for line in path.read_bytes().splitlines()]


def statuses(folder: Path) -> Counter[str]:
    done = said(folder, "--json", "list")
    assert done.code == 0, done.err
    return Counter(session["status"] for session in json.loads(done.out)["sessions"])


def sound(done: Said) -> Said:
    assert done.code == 0, done.out + done.err
    return done


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_and_every_session_is_shown(name: str, tmp_path: Path) -> None:
    folder = unpacked(name, tmp_path)
    listed = json.loads(sound(said(folder, "--json", "list")).out)
    ids = {one["session"] for one in listed["sessions"]}
    assert {path.name for path in (folder / "events" / "sessions").iterdir()} <= ids
    for session in ids:
        assert session in sound(said(folder, "show", session)).out
        assert sound(said(folder, "log", session)).out.count("\n") > 1
    assert "unknown" not in said(folder, "list").err
    assert "no problem" in sound(said(folder, "verify")).out or name == "thinned"


@pytest.mark.parametrize("name", NAMES)
def test_a_build_keeps_log_and_words_and_is_the_same_from_scratch(name: str, tmp_path: Path) -> None:
    folder = unpacked(name, tmp_path)
    log, words = files(folder / "events", "local/"), words_in(folder)
    assert words or name in {"offline", "templates"}
    done = said(folder, "build")
    if done.code and name == "templates":  # an edited template may use what is no longer there, but then that is said
        assert (done.code, "templates/vault/" in done.err) == (2, True), done.err
        sound(said(folder, "templates", "update", "--replace"))
        done = said(folder, "build")
    assert "left alone" not in sound(done).out + done.err
    built = outputs(folder)
    assert words_in(folder) == words
    sound(said(folder, "build", "--all"))
    assert outputs(folder) == built
    after = files(folder / "events", "local/")
    assert {path: after.get(path) for path in log} == log
    assert [path for path in after if path not in log and not path.startswith("vault/")] == []  # where notes were found
    sound(said(folder, "verify"))


def outputs(folder: Path) -> dict[str, bytes]:
    return {f"{part}/{path}": data for part in ("vault", "site") for path, data in files(folder / part).items()}


@pytest.mark.parametrize("name", [*KILLED, "awaiting"])
def test_an_open_session_goes_on_to_its_end_and_nothing_recorded_is_asked_again(
    name: str, tmp_path: Path, standin: Standin
) -> None:
    folder = unpacked(name, tmp_path, standin.state.port)
    known, words = events(folder), words_in(folder)
    prompts = set(recorded_prompts(folder))
    assert prompts
    if name == "awaiting":
        said(folder, "run")
        assert standin.log.of("chat") == ()
        sound(said(folder, "approve", "lenses"))
    sound(said(folder, "run"))
    assert statuses(folder) == {"complete": 1}
    sent = standin.log.of("chat")
    assert sent
    assert [hit for hit in sent if hit.prompt in prompts] == []
    ids = {event["id"] for event in known}
    before = {answered(event) for event in known} - {None}
    asked = [
        event for event in events(folder) if event["id"] not in ids and event["type"] != "outline.created"
    ]  # it cost nothing
    assert [event for event in asked if answered(event) in before] == []
    assert words_in(folder) == words
    sound(said(folder, "verify"))


def answered(event: dict[str, Any]) -> tuple[Any, ...] | None:
    """Which question an event answers; None: it is no answer from outside."""
    if event["type"] not in ANSWERS:
        return None
    return (event["session_id"], event["type"], *(event.get(name) for name in ANSWERS[event["type"]]))


def recorded_prompts(folder: Path) -> Iterator[str]:
    """The prompts whose answers are in the log, from the stored exchanges."""
    for event in events(folder):
        if digest := event.get("exchange"):
            path = folder / "events" / "objects" / digest[:2] / f"{digest}.gz"
            for call in json.loads(gzip.decompress(path.read_bytes()))["calls"]:
                yield plain(call["request"]["messages"][-1]["content"])


def test_a_talk_goes_on_and_the_words_in_its_note_stay(tmp_path: Path) -> None:
    folder = unpacked("lived", tmp_path)
    words = words_in(folder)
    done = said(folder, "ask", "--continue", "How long does the battery of the ferry last?")
    assert done.code == 0, done.err
    assert "20 minutes" in done.out
    assert words_in(folder) == words
    sound(said(folder, "verify"))
