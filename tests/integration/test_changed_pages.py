"""Two nights over the same pages: what has not changed is not sent again, and what has changed can be seen in the note."""

from __future__ import annotations

from pathlib import Path

from tests.integration.stage import queue_text
from tests.integration.test_refusals import research
from tests.standin.fixtures import hosted

DAILY = "  - {query: 'How do heat pumps in cold climates behave?', id: pumps, mode: fast, every: 1s}\n"


def test_the_note_of_a_page_that_changed_says_so(tmp_path: Path) -> None:
    with hosted() as standin:
        (tmp_path / "queries.yaml").write_text(queue_text(standin, queries=DAILY))
        assert research(tmp_path, "run").code == 0
        changed = next(hit.path for hit in standin.log.of("pages"))
        standin.change_page(changed)
        before = len(standin.log.hits)
        assert research(tmp_path, "run").code == 0
        statuses = {hit.path: hit.status for hit in standin.log.hits[before:] if hit.route == "pages"}
        assert statuses.pop(changed) == 200
        assert set(statuses.values()) == {304}
        tail = changed.strip("/").replace("/", "-")
        (note,) = [path for path in (tmp_path / "vault").rglob("source-*.md") if tail in path.name]
        assert "\nversions: 2\n" in note.read_text()
        assert "Its text changed between readings" in note.read_text()
