"""A site on a port of this machine, and who looks at it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipeline.site.serve import Server
from tests.site.test_serve import started

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Locator, Page, ViewportSize

KINDS = ("home", "report", "session", "worker", "source", "night", "topic", "note", "list", "tags", "search", "404")
Scheme = Literal["light", "dark"]
# A part of the search index that does not exist is asked for, since no word begins like that.
IN_VAIN = re.compile(r"/search/\w-\w*\.js")


@dataclass(frozen=True)
class Site:
    """A built site: its folder, and where it is served (an address without a slash at its end)."""

    folder: Path
    url: str

    def address(self, kind: str) -> str:
        """The address of the page of a kind that has most to show."""
        files = [file for file in self.folder.rglob("*.html") if f'<body class="kind-{kind}"' in file.read_text()]
        assert files, f"the site has no page of the kind {kind}"
        fullest = max(files, key=lambda file: (file.stat().st_size, file))
        return f"{self.url}/{fullest.relative_to(self.folder).as_posix()}"


@dataclass
class Visitor:
    """Opens pages and remembers what happened on them: messages of the console, dialogs, requests, errors."""

    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    wandering: Page | None = None
    happened: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, address: str, *, scheme: Scheme = "light", width: int = 1280, scripts: bool = True) -> Page:
        """Open ``address`` as somebody who was never here."""
        size: ViewportSize = {"width": width, "height": 900}
        context = self.browser.new_context(viewport=size, color_scheme=scheme, java_script_enabled=scripts)
        context.on("console", self._hear)
        context.on("weberror", lambda error: self.happened.append(f"error: {error.error}"))
        context.on("dialog", self._dismiss)
        context.on("request", lambda request: self.requests.append(request.url))
        self.contexts.append(context)
        page = context.new_page()
        page.goto(address)
        return page

    def pass_by(self, address: str) -> Page:
        """Open ``address`` where the last such page was open: the quick way to see many pages."""
        if self.wandering is None:
            self.wandering = self.open(address)
        else:
            self.wandering.goto(address)
        return self.wandering

    def follow(self, link: Locator) -> None:
        """Click ``link`` and wait until the page behind it is there: a click alone returns while the old page still stands."""
        with link.page.expect_navigation():
            link.click()

    def _hear(self, message: ConsoleMessage) -> None:
        if not IN_VAIN.search(f"{message.text} {message.location['url']}"):
            self.happened.append(f"console: {message.text}")

    def _dismiss(self, dialog: Dialog) -> None:
        self.happened.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def leave(self) -> None:
        """Close what was opened."""
        for context in self.contexts:
            context.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Yield the address of ``folder``, without a slash at its end."""
    with started(Server(folder, 0)) as server:
        yield server.address.rstrip("/")
