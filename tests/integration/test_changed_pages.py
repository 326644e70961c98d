"""Two nights over the same pages: what has not changed is not sent again, and what has changed can be seen in the note."""

from __future__ import annotations

import re
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


def test_when_a_model_comes_or_goes_a_report_says_what_changed_since_the_last_of_its_kind(tmp_path: Path) -> None:
    gone = "In cold climates heat pumps behave as stoves that somebody feeds with electricity."
    texts = {
        "frost": "Heat pumps in cold climates behave well in dry frost of 10 degrees.",
        "ice": "Ice lets heat pumps of cold climates behave as if they were fridges.",
        "stove": gone,
    }
    (tmp_path / "corpus").mkdir()
    for name, text in texts.items():
        (tmp_path / "corpus" / f"{name}.md").write_text(f"# {name}\n\n{text}\n")

    def night(queue: str) -> tuple[str, str]:
        """The new report of another night, and Home."""
        (tmp_path / "queries.yaml").write_text(queue)
        before = {*(tmp_path / "vault" / "reports").rglob("*.md")}
        while {*(tmp_path / "vault" / "reports").rglob("*.md")} == before:
            assert research(tmp_path, "run").code == 0
        (report,) = {*(tmp_path / "vault" / "reports").rglob("*.md")} - before
        return report.read_text(), (tmp_path / "vault" / "Home.md").read_text()

    frost = tmp_path / "corpus" / "frost.md"
    without_model = f"settings: {{reasoner: extractive, search: [local]}}\nqueries:\n{DAILY}"
    with hosted() as standin:
        with_model = queue_text(standin, search="local", queries=DAILY)
        night(without_model)
        frost.write_text(frost.read_text().replace("10", "20"))
        report, home = night(with_model)
        assert "**Gone:**" not in report
        assert re.search(r"## Answered\n\n.*\n    Ice lets .*\n    - \*\*Changed:\*\* .*\(was “10”\)\n    - answered", home)
        (tmp_path / "corpus" / "stove.md").unlink()
        report, home = night(without_model)
        assert "> [!tip] Nothing new since " in report  # the night before told it
        assert re.search(
            r"## What changed\n(.|\n)*Gone:.. stove\.md\n(.|\n)*20 degrees.*\n    - passages · 1 source · .*\|answered on", home
        )
        frost.unlink()
        report, home = night(with_model)
        assert gone not in report  # that stove.md is gone was told
        assert re.search(r"## What changed\n(.|\n)*Gone:.. frost\.md\n(.|\n)* 1 gone", home)
