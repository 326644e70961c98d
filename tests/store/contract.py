"""What every event store must do. A test module subclasses this and gives the fixtures ``store`` and ``other_store``."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.domain.events.stream_records import KINDS
from pipeline.domain.events.upkeep_events import SessionForgotten
from pipeline.domain.session import record_of, stamped
from pipeline.errors import EventRejected, ObjectMissing, VersionConflict, WorkspaceLocked
from pipeline.ops.change_watching import Feed
from pipeline.ports import EventStore
from tests.fakes import batches
from tests.store.samples import record, records

# The class is run once for each store, with a store of the test's own.
_SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]


class EventStoreContract:
    """``store`` is empty; ``other_store`` is another process's view of the same storage."""

    def test_an_unknown_stream_is_empty(self, store: EventStore) -> None:
        assert list(store.load("s-1")) == []
        assert list(store.load("../s-1")) == []
        assert list(store.ids("session")) == []
        assert batches(store) == []

    def test_what_is_appended_is_loaded_byte_for_byte(self, store: EventStore, other_store: EventStore) -> None:
        stored = records([1, 2, 3], note='quotes " and \\ and ünïcode \u2028 and ,"hash":"x"}')
        assert store.append("s-1", stored, 0) == 3
        assert list(store.load("s-1")) == stored
        assert list(other_store.load("s-1")) == stored

    def test_a_stream_grows_append_by_append(self, store: EventStore) -> None:
        for version in range(1, 6):
            assert store.append("s-1", [record(version)], version - 1) == version
        assert list(store.load("s-1")) == records(range(1, 6))

    def test_loading_after_a_version_returns_the_later_records(self, store: EventStore) -> None:
        store.append("s-1", records(range(1, 6)), 0)
        assert list(store.load("s-1", after=3)) == records([4, 5])
        assert list(store.load("s-1", after=5)) == []

    def test_streams_do_not_touch_each_other(self, store: EventStore) -> None:
        store.append("s-1", records([1]), 0)
        store.append("s-2", records([1, 2], "s-2"), 0)
        assert list(store.load("s-1")) == records([1])
        assert list(store.load("s-2")) == records([1, 2], "s-2")

    def test_sessions_and_batches_are_listed_apart_and_sorted(self, store: EventStore) -> None:
        for stream in ("s-2", "batch-2", "s-1", "batch-1"):
            store.append(stream, records([1], stream), 0)
        assert list(store.ids("session")) == ["s-1", "s-2"]
        assert batches(store) == ["batch-1", "batch-2"]
        assert list(store.load("batch-1")) == records([1], "batch-1")

    def test_streams_are_listed_by_kind_and_no_kind_hides_another(self, store: EventStore, other_store: EventStore) -> None:
        for stream in ("talk-1", "memory-2", "s-1", "prune-1", "memory-1", "batch-1", "import-1"):
            store.append(stream, records([1], stream), 0)
        assert {kind: list(other_store.ids(kind)) for kind in KINDS} == {
            "session": ["s-1"],
            "batch": ["batch-1"],
            "memory": ["memory-1", "memory-2"],
            "talk": ["talk-1"],
            "vault": [],
            "prune": ["prune-1"],
            "import": ["import-1"],
        }
        assert list(store.ids("session")) == ["s-1"]
        assert list(store.marks()) == ["s-1", "batch-1"]
        assert list(store.marks(["memory", "talk"])) == ["memory-1", "memory-2", "talk-1"]
        assert list(other_store.load("memory-2")) == records([1], "memory-2")

    def test_a_mark_changes_with_its_stream_and_with_no_other(self, store: EventStore, other_store: EventStore) -> None:
        assert store.marks() == {}
        for stream in ("batch-1", "s-2", "s-1"):
            store.append(stream, records([1], stream), 0)
        before = store.marks()
        assert list(before) == ["s-1", "s-2", "batch-1"]
        assert other_store.marks() == before
        store.append("s-2", records([2], "s-2"), 1)
        assert {name for name, mark in other_store.marks().items() if before[name] != mark} == {"s-2"}

    def test_a_forgotten_import_is_no_longer_listed_and_cannot_go_on(self, store: EventStore, other_store: EventStore) -> None:
        for stream in ("import-1", "import-2"):
            store.append(stream, records([1], stream), 0)
            store.release(stream)
        forgotten = SessionForgotten(session=hashlib.sha256(b"import-1").hexdigest())
        stone = stamped(forgotten, "prune-1", 1, "run-1", "stone", "2026-11-22T02:15:00.000Z")
        store.append("prune-1", [record_of(stone)], 0)
        for one in (store, other_store):
            assert list(one.ids("import")) == ["import-2"]
            assert list(one.marks(["import"])) == ["import-2"]
            assert list(one.ids("import", removed=True)) == ["import-1"]
        with pytest.raises(EventRejected):
            store.append("import-1", records([2], "import-1"), 1)

    def test_a_batch_is_continued_by_a_second_run(self, store: EventStore, other_store: EventStore) -> None:
        first, second = record(1, "batch-1"), record(2, "batch-1", "run-2")
        store.append("batch-1", [first], 0)
        store.release("batch-1")
        other_store.append("batch-1", [second], 1)
        assert list(store.load("batch-1")) == [first, second]
        assert batches(store) == ["batch-1"]

    def test_a_wrong_expected_version_is_a_conflict(self, store: EventStore) -> None:
        store.append("s-1", records([1, 2]), 0)
        for wrong in (0, 1, 3):
            fresh = record(wrong + 1, identity="another")
            with pytest.raises(VersionConflict):
                store.append("s-1", [fresh], wrong)
        with pytest.raises(VersionConflict):
            store.append("s-1", [], 1)
        assert store.append("s-1", [], 2) == 2
        assert list(store.load("s-1")) == records([1, 2])

    def test_the_same_event_again_is_acknowledged_and_not_stored_twice(self, store: EventStore) -> None:
        store.append("s-1", records([1, 2, 3]), 0)
        assert store.append("s-1", records([2, 3]), 1) == 3
        assert store.append("s-1", records([2]), 1) == 2
        assert store.append("s-1", records([2, 3, 4, 5]), 1) == 5
        assert list(store.load("s-1")) == records(range(1, 6))

    def test_the_same_event_again_by_a_later_run_is_acknowledged(self, store: EventStore, other_store: EventStore) -> None:
        store.append("s-1", records([1, 2]), 0)
        store.release("s-1")
        assert other_store.append("s-1", records([1, 2]), 0) == 2
        assert list(other_store.load("s-1")) == records([1, 2])

    def test_a_known_id_with_other_content_is_refused(self, store: EventStore) -> None:
        store.append("s-1", records([1, 2]), 0)
        for other in (record(2, note="other"), record(3, identity="s-1.2")):
            with pytest.raises(EventRejected):
                store.append("s-1", [other], other.version - 1)
        assert list(store.load("s-1")) == records([1, 2])

    def test_a_batch_with_one_unfit_record_is_refused_whole(self, store: EventStore) -> None:
        good = record(1)
        unfit = [
            record(3),
            record(2, session="s-2"),
            record(2, run="run-2"),
            record(2, identity="s-1.1"),
            record(2)._replace(at="2030-01-01T00:00:00.000Z"),
            record(2)._replace(data=b"{}"),
            record(2)._replace(data=record(2).data + b"\n"),
        ]
        for bad in unfit:
            with pytest.raises(EventRejected):
                store.append("s-1", [good, bad], 0)
        with pytest.raises(EventRejected):
            store.append("../s-1", [record(1, session="../s-1")], 0)
        assert list(store.load("s-1")) == []

    def test_a_second_writer_is_refused_until_the_first_lets_go(self, store: EventStore, other_store: EventStore) -> None:
        store.append("s-1", records([1]), 0)
        with pytest.raises(WorkspaceLocked):
            other_store.append("s-1", [record(2, run="run-2")], 1)
        other_store.append("s-2", records([1], "s-2"), 0)
        store.release("s-1")
        assert other_store.append("s-1", [record(2, run="run-2")], 1) == 2
        assert list(store.load("s-1")) == [record(1), record(2, run="run-2")]

    def test_a_writer_that_comes_back_sees_what_others_wrote(self, store: EventStore, other_store: EventStore) -> None:
        store.append("s-1", records([1]), 0)
        store.release("s-1")
        other_store.append("s-1", [record(2, run="run-2")], 1)
        other_store.release("s-1")
        with pytest.raises(VersionConflict):
            store.append("s-1", [record(2, identity="mine")], 1)
        assert store.append("s-1", [record(3)], 2) == 3

    def test_releasing_what_was_never_written_is_harmless(self, store: EventStore) -> None:
        store.release("s-1")
        store.release("s-1")

    def test_a_feed_yields_what_is_stored_from_now_on_each_once_and_in_order(
        self, store: EventStore, other_store: EventStore
    ) -> None:
        store.append("s-1", records([1, 2]), 0)
        store.append("batch-1", records([1], "batch-1"), 0)
        feed = Feed(other_store)
        assert feed.read() == []
        store.append("s-1", records([3]), 2)
        store.append("s-2", records([1, 2], "s-2"), 0)
        store.append("batch-1", records([2], "batch-1"), 1)
        store.append("memory-1", records([1], "memory-1"), 0)
        found = feed.read()
        assert sorted(found) == sorted([*records([3]), *records([1, 2], "s-2"), *records([2], "batch-1")])
        assert [record.version for record in found if record.session_id == "s-2"] == [1, 2]
        store.append("s-2", records([3], "s-2"), 2)
        assert feed.read() == records([3], "s-2")
        assert feed.read() == []

    def test_a_stream_that_was_taken_over_can_be_written(self, store: EventStore, other_store: EventStore) -> None:
        store.append("s-1", records([1]), 0)
        store.release("s-1")
        other_store.take_over("s-1")
        assert other_store.append("s-1", records([2]), 1) == 2

    def test_an_object_is_stored_under_its_digest(self, store: EventStore, other_store: EventStore) -> None:
        for data in (b"", b"a page", b"\0" * 100_000):
            digest = store.objects.put(data)
            assert digest == hashlib.sha256(data).hexdigest()
            assert other_store.objects.put(data) == digest
            assert other_store.objects.get(digest) == data

    def test_an_object_that_is_not_stored_is_an_error(self, store: EventStore) -> None:
        for digest in ("0" * 64, "", "../../etc/passwd"):
            with pytest.raises(ObjectMissing):
                store.objects.get(digest)

    @settings(
        max_examples=30,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(st.lists(st.lists(st.text(), min_size=1, max_size=4), min_size=1, max_size=5))
    def test_any_payload_comes_back_as_it_was(self, store: EventStore, batches: list[list[str]]) -> None:
        session = f"s-{len(list(store.ids('session')))}"
        version = 0
        stored = []
        for notes in batches:
            # A lone surrogate has no UTF-8 form, so no event can hold one.
            batch = [record(version + n, session, note=ascii(note)) for n, note in enumerate(notes, 1)]
            version = store.append(session, batch, version)
            stored += batch
        store.release(session)
        assert list(store.load(session)) == stored
