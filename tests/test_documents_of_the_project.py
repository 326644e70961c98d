"""README and docs: every link leads somewhere, and every example of ``queries.yaml`` is valid."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from pipeline.config.queue_file import checked

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("templates/**/*.md")])
LINK = re.compile(r"""\]\((?!https?:)([^)\s]+)\)|\bsrc(?:set)?="([^"]+)\"""")


def anchors(page: Path) -> set[str]:
    """What a heading is called in an address: as GitHub makes it."""
    headings = re.findall(r"(?m)^#+ (.*)$", page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_document_leads_somewhere(page: Path) -> None:
    for written in ("".join(found) for found in LINK.findall(page.read_text())):
        path, _, anchor = written.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), written
        assert not anchor or anchor in anchors(target), written


WITH_EXAMPLES = [page for page in PAGES if page.parent in (ROOT, ROOT / "docs") and "```yaml\n" in page.read_text()]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_every_example_of_the_queue_is_valid(page: Path, tmp_path: Path) -> None:
    examples = re.findall(r"(?ms)^ *```yaml\n(.*?)^ *```", page.read_text())
    for number, example in enumerate(map(textwrap.dedent, examples)):
        file = tmp_path / f"{number}.yaml"
        file.write_text(example if "queries:" in example else f"{example}queries:\n  - What is a log?\n")
        assert checked(file.read_bytes(), file.name).queries


def test_every_promise_names_tests_that_exist() -> None:
    page = (ROOT / "docs" / "when-something-fails.md").read_text()
    promises = page.partition("\n## What you can rely on\n")[2].partition("\n## ")[0]
    names = [name for row in re.findall(r"(?m)^\| \*\*.*\| ([^|]*) \|$", promises) for name in re.findall(r"`(\w+)`", row)]
    tests = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    assert len(names) >= 20
    assert [name for name in names if not re.search(rf"def test_\w*{name}", tests)] == []
