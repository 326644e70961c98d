"""All sessions at a glance: what is kept saves opening a log, and is never believed further than its mark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.batch import session_index
from pipeline.batch.session_index import SessionIndex, read_all
from pipeline.domain.session import record_of
from pipeline.domain.summary import Summary
from tests.nights import Watched
from tests.recorded import SMALL, stream


def store_of(*names: str) -> Watched:
    store = Watched()
    for name in names:
        store.append(name, [record_of(event.model_copy(update={"session_id": name})) for event in stream(**SMALL)], 0)
    return store


def glance(store: Watched, kept: Path) -> tuple[SessionIndex, list[str]]:
    store.opened.clear()
    return read_all(store, kept), store.opened


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "summaries.json"


def test_a_second_glance_opens_nothing_and_says_the_same(kept: Path) -> None:
    store = store_of("s-1", "s-2")
    first, opened = glance(store, kept)
    assert opened == ["s-1", "s-2"]
    assert first == read_all(store)
    assert glance(store, kept) == (first, [])


def test_only_a_session_that_changed_is_opened_again(kept: Path) -> None:
    store = store_of("s-1", "s-2")
    glance(store, kept)
    store.streams["s-2"].pop()
    again, opened = glance(store, kept)
    assert opened == ["s-2"]
    assert again == read_all(store)
    assert [summary.status for summary in again.sessions] == ["complete", "synthesizing"]


def test_a_session_that_is_gone_is_forgotten(kept: Path) -> None:
    store = store_of("s-1", "s-2")
    glance(store, kept)
    del store.streams["s-1"]
    assert [summary.id for summary in glance(store, kept)[0].sessions] == ["s-2"]
    assert list(json.loads(kept.read_text())["streams"]) == ["s-2"]


def test_a_damaged_session_is_named_and_hides_no_other(kept: Path) -> None:
    store = store_of("s-1", "s-2")
    store.damaged = {"s-1"}
    for _ in range(2):
        found, _opened = glance(store, kept)
        assert [summary.id for summary in found.sessions] == ["s-2"]
        assert list(found.damaged) == ["s-1"]


def test_what_an_earlier_program_kept_is_not_believed(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of("s-1")
    glance(store, kept)
    monkeypatch.setattr(session_index, "_layout_id", lambda: "another")
    assert glance(store, kept)[1] == ["s-1"]
    assert glance(store, kept)[1] == []


@pytest.mark.parametrize("damage", [b"", b"no JSON", b"[1]", b'{"layout": "x"}', b"\xff\xff"])
def test_a_damaged_file_costs_a_look_at_the_logs_and_no_more(kept: Path, damage: bytes) -> None:
    store = store_of("s-1")
    first, _ = glance(store, kept)
    kept.write_bytes(damage)
    assert glance(store, kept) == (first, ["s-1"])
    glance(store, kept)
    assert glance(store, kept) == (first, [])


def test_the_latest_session_is_the_one_that_none_followed_whatever_their_clocks_said() -> None:
    first = Summary("s-1", query_id="pumps", started_at="2036-01-01T02:15:00.000Z")
    second = Summary("s-2", query_id="pumps", started_at="2026-11-21T02:15:00.000Z", previous_session="s-1")
    apart = Summary("s-0", query_id="pumps", started_at="2020-01-01T02:15:00.000Z")
    for order in ((first, second, apart), (apart, second, first)):
        assert SessionIndex(order).latest() == {"pumps": second}
    assert SessionIndex((apart, first)).latest() == {"pumps": first}
