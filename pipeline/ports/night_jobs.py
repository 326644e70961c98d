"""The ports of a night that several machines work on: its row with the money, and the engine that gives its jobs to workers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from pipeline.domain.budget import Caps, SharedPart

CLOSE, BUILD, RESEARCH = "close", "build", "research"
WORKER = "research work "  # how the connections of workers begin the name that the server lists


def entry_of(documents: str = "", machine: str = "") -> str:
    """Return the entry point of a session's job: which machine and which documents (a fingerprint) it needs, "" for any."""
    return RESEARCH + (f" on {machine}" if machine else "") + (f" with documents {documents[:16]}" if documents else "")


@dataclass(frozen=True, slots=True)
class Night:
    """A night that is researched by workers. ``day`` is the day on which it ends, and its name; ``batch`` is its latest batch.

    It ends in ``ends_in_s`` seconds (None: without a limit); the gathering is over ``writing_s`` before.
    ``halt`` is why nothing more may start, as a cause and in words.
    """

    day: str
    batch: str = ""
    ends_in_s: float | None = None
    writing_s: float = 0.0
    caps: Caps = Caps()  # noqa: RUF009 - it is frozen
    max_failures: int = 5
    halt: tuple[str, str] = ("", "")


class NightJob(NamedTuple):
    """A session of a batch, at its entry point; with its result if it has ended, and the machines that are not set up for it."""

    session: str
    query_id: str
    query: str
    entry: str
    result: Mapping[str, Any] | None = None
    refused: Mapping[str, str] = {}


class Share(SharedPart, Protocol):
    """A session that this process may research now, and the night whose budget pays for it.

    It is void once another process has taken the session. ``fruitless`` counts the takers in a row that recorded nothing.
    ``refusal`` is why the last refused call was refused, or "". All methods but ``settle`` may raise ``LogError``: the database
    cannot be reached, or, as ``VersionConflict``, the share is void.
    """

    night: Night
    job: NightJob
    fruitless: int
    refusal: str

    def end(self, result: Mapping[str, Any]) -> None:
        """End the job with its result."""

    def refuse(self, machine: str, why: str) -> Mapping[str, str]:
        """Note that a machine is not set up for the session, which is no loss; return all such machines, and why."""


class Nights(Protocol):
    """What a worker asks of the rows of nights and sessions in a database that all machines share. Times are by its clock.

    Each method may raise ``LogError``: the database cannot be reached. Each may be called from any thread.
    """

    def open(self, night: Night, jobs: Sequence[NightJob]) -> None:
        """Begin a night's batch."""

    def advance(self) -> None:
        """Put in the queue what a night waits for and the queue lacks: sessions, else the closing, else the building."""

    def take(self, session: str) -> Share | None:
        """Take a session; None if it or its night is over. Earlier shares of it are void."""

    def halt(self, batch: str, cause: str, reason: str) -> None:
        """Let nothing more start in a batch. The first reason counts."""

    def unfinished(self) -> Night | None:
        """Return the night whose batch is not built yet, if there is one."""

    def jobs(self, batch: str) -> Sequence[NightJob]:
        """Return the sessions of a batch in order."""

    def workers(self) -> Sequence[str]:
        """Return the names of the workers that are connected, sorted."""

    def close(self, batch: str, *, built: bool = False) -> None:
        """Note that the outcome of a batch is in the log; or that it is built, which ends it."""


Takes = Callable[[], Collection[str]]  # the entry points whose jobs a worker does now
# Does a job at an entry point, about a session or a batch, that came again so often; None: it is over, else it comes again after
# so many seconds.
Do = Callable[[str, str, int], Coroutine[Any, Any, float | None]]


class JobEngine(Protocol):
    """Gives jobs to workers: each to one at a time, and to another one when nothing was heard of the first for its lease."""

    async def run(self, takes: Takes, do: Do) -> None:
        """Give jobs to a worker until ``stop``. Those under way end first."""

    def stop(self) -> None:
        """Give no more jobs. May be called at any time, from any thread."""
