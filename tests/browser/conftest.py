"""One browser, one plain and one hostile site for all these tests (of a worker process)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pipeline.vault.report_export import BROWSERS
from tests.browser.visiting import Site, Visitor, served
from tests.vault.test_golden import golden_files

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Quiet: nothing of the browser's own goes to the network, nothing needs a display or privileges.
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site of the example vault: every kind of note in plain words, and one of a person's own."""
    root = tmp_path_factory.mktemp("plain")
    golden_files(root)
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
