"""One browser, one plain and one hostile site for all these tests (of a worker process)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.vault.export import BROWSERS
from tests.browser.visiting import Site, Visitor, served
from tests.fakes import MemoryStore
from tests.site.scratch import Scratch
from tests.site.test_hostile import PAYLOADS
from tests.vault.builders import Story, built, night
from tests.vault.output.test_escaping import HOSTILE
from tests.vault.test_golden import golden_files

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Quiet: nothing of the browser's own goes to the network, nothing needs a display or privileges.
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
HOSTILE_TEXTS = sorted({*HOSTILE, *PAYLOADS})
HOSTILE_PAGES = (
    "https://evil.example/\"><script>alert(1)</script>?q='x'",
    "javascript:alert(document.domain)//crash-safety.md",
    "corpus:<img src=x onerror=alert(1)>|[[Home]].md",
)
HOSTILE_TAGS = ("<b>tag</b>", "javascript:alert(1)", "a b/../../c", '"><img src=x onerror=alert(1)>')


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site of the example vault: every kind of note in plain words, and one of a person's own."""
    root = tmp_path_factory.mktemp("plain")
    golden_files(root)
    with served(root / "site") as url:
        yield Site(root / "site", url)


@pytest.fixture(scope="session")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site of a vault in which every text, address and tag that came from outside is hostile."""
    root, store, numbers = tmp_path_factory.mktemp("hostile"), MemoryStore(), count()

    def say(text: str) -> str:
        """The next hostile text behind each text, or in its place."""
        number = next(numbers)
        hostile = HOSTILE_TEXTS[number % len(HOSTILE_TEXTS)]
        return hostile if number % 3 == 0 else f"{text} {hostile}"

    given: dict[str, Any] = {"say": say, "tags": HOSTILE_TAGS}
    stories = [Story(store, id="2026-11-21-tides-77aa", query="</title>", query_id="tides", **given).begin().failed()]
    while next(numbers) < len(HOSTILE_TEXTS):
        name = f"2026-11-21-power-cut-{len(stories):04d}"
        query = "<script>alert(1)</script>?"
        stories.append(Story(store, id=name, query_id=name, query=query, pages=HOSTILE_PAGES, **given).whole())
    night(store, *stories, say=say)
    built(root, store)
    Scratch(root).build()
    with served(root / "site") as url:
        yield Site(root / "site", url)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Ends with this folder's last test: its loop stays in the thread, and no other test could run one of its own."""
    for name in ("playwright", "axe_playwright_python"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install -e '.[browser]'")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield launched
        launched.close()


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    visitor = Visitor(browser)
    yield visitor
    visitor.leave()
