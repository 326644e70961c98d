"""One browser, one plain and one hostile site for all these tests (of a worker process)."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.material import HOSTILE_PAGES, HOSTILE_TAGS, OWN_NOTE, HostileWords
from tests.browser.visiting import Site, Visitor, served
from tests.fakes import MemoryStore
from tests.site.scratch import Scratch
from tests.vault.builders import Story, a_store, built, night

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PACKAGES = ("playwright", "axe_playwright_python")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Quiet: nothing of the browser's own goes to the network, nothing needs a display or privileges.
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def chromium() -> str:
    """Return the path of a Chromium that is installed; skip the test where it or its driver is missing."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed: pip install -e '.[browser]'")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    return found


@pytest.fixture(scope="session")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with every kind of note in plain words, and one of a person's own."""
    store = a_store()
    before = "2026-11-28-power-cut-9c01"
    other = Story(
        store, id="2026-11-29-power-cut-aa02", previous=before, date="2026-11-29",
        say=lambda words: words.replace("An append is durable", "A write is durable"),
    )  # fmt: skip
    night(store, other.whole(), date="2026-11-29")
    place = built(tmp_path_factory.mktemp("plain"), store)
    (place.vault / "my").mkdir()
    (place.vault / "my" / "own.md").write_text(OWN_NOTE)
    return place.vault


@pytest.fixture(scope="session")
def hostile_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault in which every text, address and tag that came from outside is hostile."""
    store, say = MemoryStore(), HostileWords()
    failed = (
        Story(store, id="2026-11-21-tides-77aa", query="</title>", query_id="tides", say=say, tags=HOSTILE_TAGS).begin().failed()
    )
    stories = [failed]
    while not say.all_said:
        name = f"2026-11-21-power-cut-{len(stories):04d}"
        story = Story(
            store, id=name, query_id=name, query="<script>alert(1)</script>?", say=say, pages=HOSTILE_PAGES, tags=HOSTILE_TAGS
        )
        stories.append(story.whole())
    night(store, *stories, say=say)
    return built(tmp_path_factory.mktemp("hostile"), store).vault


@pytest.fixture(scope="session")
def site(vault: Path) -> Iterator[Site]:
    yield from _site(vault)


@pytest.fixture(scope="session")
def hostile_site(hostile_vault: Path) -> Iterator[Site]:
    yield from _site(hostile_vault)


def _site(vault: Path) -> Iterator[Site]:
    Scratch(vault.parent).build()
    with served(vault.parent / "site") as url:
        yield Site(vault.parent / "site", url)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Ends with this folder's last test: its loop stays in the thread, and no other test could run one of its own."""
    path = chromium()
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
