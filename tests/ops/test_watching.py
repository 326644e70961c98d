"""What whoever builds is told: each way to save a template and each event is noticed once, also after the store was away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.domain.events.records import Kind
from pipeline.errors import StoreUnreachable
from pipeline.ops.watching import changes
from tests.fakes import MemoryStore
from tests.store.samples import records


class Flaky(MemoryStore):
    """A store that does not answer while it is ``away``."""

    away = False

    def marks(self, kinds: Sequence[Kind] = ("session", "batch")) -> Mapping[str, str]:
        if self.away:
            raise StoreUnreachable("the database does not answer")
        return super().marks(kinds)


def test_templates_saved_in_any_way_and_new_events_of_any_kind_are_noticed_once(tmp_path: Path) -> None:
    store, first, made = Flaky(), tmp_path / "vault" / "a.j2", tmp_path / "site" / "new" / "b.j2"
    first.parent.mkdir()
    first.write_text("one")
    found = changes(store, tmp_path, look_s=0.005)
    assert next(found) == frozenset()
    first.write_text("two, and longer")
    assert next(found) == {str(first)}
    (tmp_path / ".a.j2.swp").write_text("no template yet")
    (tmp_path / ".a.j2.swp").replace(first)
    assert next(found) == {str(first)}
    made.parent.mkdir(parents=True)
    made.write_text("b")
    assert next(found) == {str(made)}
    store.append("s-1", records([1]), 0)
    assert next(found) == {"s-1"}
    store.append("talk-1", records([1], "talk-1"), 0)
    made.unlink()
    assert next(found) == {"talk-1", str(made)}


def test_a_store_that_does_not_answer_is_told_of_and_what_was_stored_meanwhile_comes_with_its_return() -> None:
    store = Flaky()
    store.append("s-1", records([1]), 0)
    found = changes(store, Path("none"), look_s=0.005)
    next(found)
    store.away = True
    assert next(found) == {"s-1", ""}
    store.append("s-2", records([1], "s-2"), 0)
    store.away = False
    assert next(found) == {"s-1", "s-2", ""}
