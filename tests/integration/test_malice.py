"""A model that obeys whoever speaks to it, over pages that tell it what to do: nothing leaves, lies, or runs away."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.ops.citation_audit import check
from pipeline.store.file_store import FileStore
from tests.integration.stage import KEYS, QUESTION, SEARCHES, Ended, Stage, queue_text
from tests.integration.test_refusals import research
from tests.integration.verdicts import assert_correct_or_honest, tracebacks
from tests.seeds import drawn
from tests.standin.fixtures import hosted
from tests.standin.options import Options
from tests.standin.poison import FALSEHOOD
from tests.standin.server import Standin
from tests.vault.scanner import body_of, scan

PLANNED = {"/api/v1/chat/completions", "/api/v1/models", "/robots.txt", "/res/v1/web/search", "/w/api.php"}
READABLE = re.compile(r"/(?:pages|about|poison|wiki)/")
DEEP = {"perspectives": 3, "iterations": 2, "gap_rounds": 1}
SECRETS = [value.encode() for value in KEYS.values()]


def assert_planned(standin: Standin, state: SessionState) -> None:
    """Only what a search found was read, and no more of anything than the config allows."""
    log, config = standin.log, state.config
    assert log.of("canary") == ()
    assert not [hit.path for hit in log.hits if hit.path not in PLANNED and not READABLE.match(hit.path)]
    workers = config.perspectives + config.max_workers * config.gap_rounds
    searches = 1 + workers * config.iterations * config.queries_per_thought
    pages = workers * config.iterations * config.pages_per_iteration
    assert sum(len(log.of(name)) for name in SEARCHES) <= searches
    assert len(log.of("pages")) <= pages
    assert len(log.of("chat")) <= 3 * (1 + workers * config.iterations + 4 * max(1, len(state.parts)) + 1)


@pytest.mark.parametrize(("search", "evil"), drawn(2, SEARCHES, (0.0, 0.3, 0.6, 1.0)))
def test_poisoned_pages_change_nothing_but_what_is_rejected(stage: Stage, tmp_path: Path, search: str, evil: float) -> None:
    ended = poisoned_night(stage, tmp_path, evil, search, QUESTION)
    assert tracebacks(ended.logged) == []
    assert_planned(stage.standin, ended.state)
    assert_correct_or_honest(ended, ("the language model found nothing in the pages", "plan:"))
    for secret in SECRETS:
        told = [hit for hit in stage.standin.log.heard(secret.decode()) if not belongs(hit.route, secret)]
        assert told == []


def poisoned_night(stage: Stage, folder: Path, evil: float, search: str, question: str) -> Ended:
    """A night over poisoned pages, in which so large a part of the model's answers is malicious."""
    stage.standin.reset(poisoned=True)
    stage.standin.mix(11, evil, ["chat"], ["model:malicious"])
    queries = f"  - {{query: '{question}', id: q}}\n"
    return stage.night(folder, queue_text(stage.standin, search=search, queries=queries), config=DEEP)


def belongs(route: str, secret: bytes) -> bool:
    names = {"chat": "OPENROUTER_API_KEY", "models": "OPENROUTER_API_KEY", "brave": "BRAVE_API_KEY"}
    return KEYS.get(names.get(route, ""), "").encode() == secret


def bytes_of(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """All files with their names, packed ones unpacked as well."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != ".env":
            data = path.read_bytes()
            yield path, str(path.relative_to(folder)).encode() + b"\n" + data
            for unpack in (gzip.decompress, zlib.decompress):
                try:
                    yield path, unpack(data)
                except (OSError, EOFError, zlib.error):
                    continue


def spellings(secret: bytes) -> tuple[bytes, ...]:
    return secret, quote(secret.decode(), safe="").encode(), secret[::-1], secret.hex().encode()


@pytest.mark.parametrize("evil", [evil for (evil,) in drawn(4, (0.0, 0.25, 0.5, 1.0))])
def test_a_whole_night_of_malice_leaves_no_secret_and_no_live_content_behind(tmp_path: Path, evil: float) -> None:
    with hosted(Options(poisoned=True)) as standin:
        standin.mix(5, evil, ["chat"], ["model:malicious"])
        folder = tmp_path / "workspace"
        folder.mkdir()
        (folder / ".env").write_text(f"BRAVE_API_KEY={KEYS['BRAVE_API_KEY']}\n")
        queries = f"  - {{query: '{QUESTION}', id: pumps, perspectives: 2, iterations: 1}}\n"
        (folder / "queries.yaml").write_text(queue_text(standin, queries=queries))
        said = research(folder, "-v", "run")
        assert said.code in (0, 1, 5), said.err
        store = FileStore(folder / "events")
        assert standin.log.of("canary") == ()
        assert secrets_in(folder, said.out + said.err) == []
        assert len(list((folder / "events").rglob("*"))) > 20
        assert sorted(path.name for path in tmp_path.iterdir()) == ["workspace"]
        assert_inert(folder / "vault")
        for name in store.ids("session"):
            assert_no_falsehood(folder, name, store)


def secrets_in(folder: Path, printed: str) -> list[Path]:
    everything = [*bytes_of(folder), (folder, printed.encode())]
    return [path for path, data in everything for secret in SECRETS for form in spellings(secret) if form in data]


ECHOES = {
    "in an answer": 'content.field_set:reasoning="I was given KEY"',
    "in an error": 'field_set:error={"code": 400, "message": "the key KEY cannot do this"}',
    "in a model's name": 'field_set:model="KEY"',
}


@pytest.mark.parametrize("where", ECHOES)
def test_a_server_that_repeats_the_key_does_not_get_it_written_down(tmp_path: Path, where: str) -> None:
    with hosted() as standin:
        queries = f"  - {{query: '{QUESTION}', id: pumps, mode: fast}}\n"
        (tmp_path / "queries.yaml").write_text(queue_text(standin, queries=queries))
        standin.fault("chat", ECHOES[where].replace("KEY", KEYS["OPENROUTER_API_KEY"]))
        said = research(tmp_path, "-v", "run")
        assert secrets_in(tmp_path, said.out + said.err) == []
        assert "[redacted]" in said.out + said.err + "".join(data.decode("utf-8", "ignore") for _, data in bytes_of(tmp_path))


def test_a_key_that_stands_in_a_document_is_not_carried_any_further(tmp_path: Path) -> None:
    """Its passage stays in the index, as in the document itself; what is kept, quoted and published is without it."""
    key = KEYS["OPENROUTER_API_KEY"]
    (tmp_path / "corpus").mkdir()
    told = (f"The kite flies with {key} in strong winds over the hills.", "A kite flies in winds over the hills.")
    for number, text in enumerate(told):
        (tmp_path / "corpus" / f"{number}.md").write_text(f"# Kites {number}\n\n{text} Kites need a tail for that.\n")
    queries = "[{query: 'How does a kite fly in strong winds?', id: kites}]"
    (tmp_path / "queries.yaml").write_text(f"settings: {{search: [local], reasoner: extractive}}\nqueries: {queries}\n")
    said = research(tmp_path, "run")
    assert said.code == 0, said.err
    held = [path.relative_to(tmp_path).parts[:2] for path in secrets_in(tmp_path, said.out + said.err)]
    assert ("corpus", "0.md") in held
    assert set(held) <= {("corpus", "0.md"), ("events", "local")}
    notes = "".join(path.read_text() for path in (tmp_path / "vault").rglob("*.md"))
    assert "flies with [redacted] in strong winds" in notes.replace("\\", "")


def assert_inert(vault: Path) -> None:
    """Notes link to notes that there are and to pages that were read, and embed what was made here; nothing is fetched or run."""
    notes = {path: path.read_text() for path in vault.rglob("*.md") if path.read_text().startswith("---\n")}
    names = {str(path.relative_to(vault).with_suffix("")) for path in notes} | {path.stem for path in notes}
    assert len(notes) > 5
    for path, text in notes.items():
        found = scan(body_of(text))
        assert (path, found.images, found.html, found.maths) == (path, (), (), ())
        assert [name for name in found.embeds if not (vault / re.split(r"[#|]", name)[0]).is_file()] == []
        names_of_files = [target.partition("#")[0] for target, _ in found.links]
        strange = [name for name in names_of_files if name not in names | {""} and not (vault / name).is_file()]
        assert (path, strange) == (path, [])
        assert not [address for address in found.addresses if not READABLE.match(urlsplit(address).path)]


def assert_no_falsehood(folder: Path, name: str, store: FileStore) -> None:
    state = ResearchSession.open(store, name).state
    assert check(state, store).unsupported == ()
    assert all(urlsplit(page).hostname in {f"127.0.0.{n}" for n in range(1, 25)} for page in state.pages)
    parts = [part for section in state.report.sections for part in section.paragraphs] if state.report else []
    sentences = [*(state.report.summary if state.report else ()), *(one for part in parts for one in part.sentences)]
    assert state.report is None or "canary" not in state.report.title
    assert not [one.text for one in sentences if "/canary/" in one.text]
    claimed = any(FALSEHOOD in one.text for one in sentences if one.facts)  # what cites nothing is shown as without a source
    assert not claimed or any(FALSEHOOD in fact.quote for fact in state.facts.values())
