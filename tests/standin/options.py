"""What can be chosen about the server, and the state that its services share."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.standin.log import Log
from tests.standin.world import Document

LOOPBACK = tuple(f"127.0.0.{number}" for number in range(1, 25))
"""The hosts that found pages live on: loopback addresses that the server listens at."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How the server behaves.

    ``poisoned`` puts pages with injected instructions into every search. ``latency_s`` is the time from a request to its reply,
    what the server does meanwhile included. ``thinks`` is how many tokens the model needs for its thoughts; ``slots`` how many
    requests it works on at the same time (0: any number), each for ``slot_s`` seconds.
    """

    latency_s: float = 0.0
    poisoned: bool = False
    thinks: int = 0
    slots: int = 0
    slot_s: float = 0.0


@dataclass(slots=True)
class State:
    """What the services share while the server runs; ``revisions`` counts the changes made to a page, by path."""

    options: Options
    log: Log = field(default_factory=Log)
    port: int = 0
    revisions: dict[str, int] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)

    def base(self, host: int = 0) -> str:
        """Return the base URL of the host of that index."""
        return f"http://{LOOPBACK[host % len(LOOPBACK)]}:{self.port}"

    def address(self, document: Document) -> str:
        """Return where a document is."""
        return self.base(document.host) + document.path
