"""Every error this program raises on purpose, as one tree.

::

    ResearchError                      exit 1, unless a class below says otherwise
    ├── UsageError                     2   what the user wrote cannot be followed
    │   ├── QueueInvalid                   queries.yaml has faults (all of them, with positions)
    │   ├── TemplateInvalid                a template cannot be parsed or rendered
    │   └── CorpusUnusable                 the documents' folder is missing, unreadable or empty
    ├── NoWorkspace                    10  there is no queries.yaml here
    ├── WorkspaceLocked                11  another run works here
    ├── SystemRefused                  12  the disk, a permission or the terminal does not allow what has to be done
    ├── LogError                       20  the event log cannot be trusted
    │   ├── VersionConflict                somebody else appended first
    │   │   └── WriterReplaced             another process has taken the stream over
    │   ├── LogDamaged                     a record was altered, cut or lost
    │   ├── LogForked                      two segments continue the same record
    │   ├── EventRejected                  the same event id with other content
    │   ├── SchemaTooNew               2   written by a newer major version of this program
    │   ├── LogUnwritable              12  the disk refuses (full, read-only, failing)
    │   ├── LogUnreadable              12  the system does not let us read it; nothing says that it is damaged
    │   │   └── StoreUnreachable           12  the database of the log does not answer; it is a LogUnwritable too
    │   └── ObjectMissing                  a stored page or exchange is gone or altered
    ├── CommandRefused                 1   the session's state does not allow it
    ├── SessionUnknown                 2   no session of that name
    └── StepError                      1   outside work failed; recorded as ``step.failed``
        ├── SearchFailed                   a search could not be made (not: found nothing)
        │   └── IndexRefused           12  the disk or a permission does not allow the index of passages
        ├── ReadFailed                     a page could not be read
        ├── AnswerInvalid                  a reasoner's answer does not fit its question
        ├── AnswerWithheld                 a model, or its provider's filter, will not answer on this material
        ├── BudgetSpent                    the worst case of the next call does not fit under a cap; it was not sent
        ├── ServiceUnavailable         3   a server cannot be reached, or asks to be left alone; it may pass later
        ├── ServiceFailed                  a server's answer to this call cannot be used, now or later
        │   └── Malformed                  what it sent is not the JSON that was asked for
        └── ProviderRefused            4   key, quota or credit: no further call of this run will pass
            └── ModelUnknown           4   the server does not have the model

A question that the sources do not answer is no error: the run ends with 5, unless there is a more urgent problem.

An error has a text (what happened), a ``hint`` (what to do next), ``retryable`` (whether the same call may pass later) and
the process's ``exit_code``. The command line prints text and hint, never a traceback.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, ClassVar


class ExitCode(IntEnum):
    """What the process ends with. The most urgent is first: where several apply, that is the one; a signal's comes before all."""

    DAMAGED = 20
    REFUSED = 4
    SYSTEM = 12
    FAILED = 1
    USAGE = 2
    UNFINISHED = 3
    NOT_FOUND = 5  # nothing failed, and the sources did not answer some question
    NO_WORKSPACE = 10
    LOCKED = 11
    INTERRUPTED = 130
    DONE = 0


LOG_TROUBLE = {"damaged": ExitCode.DAMAGED, "unreadable": ExitCode.SYSTEM, "newer": ExitCode.USAGE}  # by what is wrong with a log


def most_urgent(codes: Set[int]) -> int:
    """Return the one of several exit codes that the process ends with."""
    return next((code for code in ExitCode if code in codes), ExitCode.DONE)


class ResearchError(Exception):
    """The root: one clear message, and what to do next."""

    exit_code: ClassVar[int] = ExitCode.FAILED
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ResearchError):
    """What the user wrote cannot be followed."""

    exit_code = ExitCode.USAGE


class QueueInvalid(UsageError):
    """queries.yaml has faults; the message lists each with its position."""


class TemplateInvalid(UsageError):
    """A template cannot be parsed or rendered; the message names file and line."""


class CorpusUnusable(UsageError):
    """The folder of documents is missing, unreadable, or holds nothing that can be read."""


class NoWorkspace(ResearchError):
    """The folder is no workspace: it has no queries.yaml."""

    exit_code = ExitCode.NO_WORKSPACE

    def __init__(self, folder: Path) -> None:
        hint = "research init creates a workspace; -C names another folder"
        super().__init__(f"{folder.absolute()} has no queries.yaml", hint=hint)


class WorkspaceLocked(ResearchError):
    """Another run holds the workspace's lock."""

    exit_code = ExitCode.LOCKED


class SystemRefused(ResearchError):
    """The disk, a permission or the terminal does not allow what has to be done."""

    exit_code = ExitCode.SYSTEM


class LogError(ResearchError):
    """The event log cannot be trusted, read or written."""

    exit_code = ExitCode.DAMAGED


class VersionConflict(LogError):
    """The stream's version is not the one the writer expected."""


class WriterReplaced(VersionConflict):
    """Another process has taken over the stream that this one was writing; what this one does no longer counts."""


class LogDamaged(LogError):
    """A record was altered, cut or lost; the message names file and line."""


class LogForked(LogError):
    """Two segments continue the same record."""


class EventRejected(LogError):
    """An event id that is already stored came again with other content."""


class SchemaTooNew(LogError):
    """The log was written by a newer major version of this program."""

    exit_code = ExitCode.USAGE


class LogUnwritable(LogError):
    """The disk refuses to store an event."""

    exit_code = ExitCode.SYSTEM


class LogUnreadable(LogError):
    """The system does not let us read the log."""

    exit_code = ExitCode.SYSTEM


class StoreUnreachable(LogUnwritable, LogUnreadable):
    """The database that holds the log does not answer: nothing can be stored or read, and nothing says that it is damaged."""


class ObjectMissing(LogError):
    """A stored page or exchange is gone, or its bytes no longer have the digest they are stored under."""


class CommandRefused(ResearchError):
    """The session's state does not allow this event."""


class SessionUnknown(ResearchError):
    """There is no session of that name."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True)
class Outage:
    """A service that is down, as opposed to one call that failed.

    It may be asked again after ``after_s`` seconds. ``was_up``: it has answered before in this run. ``busy``: it is
    there, and has too much to do.
    """

    service: str
    after_s: float = 0.0
    was_up: bool = False
    busy: bool = False


class StepError(ResearchError):
    """A step's outside work failed; the loop records it as ``step.failed``.

    ``cost`` is a ``Cost``, all the same (None: nothing), ``exchange`` prompts and raw replies (b"": nothing sent). After an
    ``outage`` the session stays open: the step is tried again when the service is back. ``lost`` counts the attempts that were
    sent but whose reply never came whole: they may have been billed.
    """

    lost: int = 0
    cost: Any = None
    exchange: bytes = b""
    outage: Outage | None = None


class SearchFailed(StepError):
    """A search could not be made. An empty result is not this error."""

    retryable = True


class IndexRefused(SearchFailed):
    """The disk or a permission does not allow the index of passages to be read or written."""

    exit_code = ExitCode.SYSTEM


GONE = "it is no longer in the folder"  # why a document of the user's that was deleted or moved cannot be read


class ReadFailed(StepError):
    """A page could not be read."""


class ReadTimedOut(ReadFailed):
    """A page could not be read in the time that it has; on a machine that is less busy it may be."""


class AnswerInvalid(StepError):
    """A reasoner's answer does not fit its question."""

    retryable = True


class AnswerWithheld(StepError):
    """A model, or its provider's filter, will not answer on this material; asking again does not help."""


class BudgetSpent(StepError):
    """The worst case of the next call does not fit under a cap, so it was not sent.

    ``cap`` is ``usd``, ``tokens`` or ``calls``; ``limit`` and ``spent`` are its figures in words; ``ledger`` says whose it is.
    """

    def __init__(self, message: str, *, ledger: str, cap: str, limit: str, spent: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.ledger, self.cap, self.limit, self.spent = ledger, cap, limit, spent


class ServiceUnavailable(StepError):
    """A server cannot be reached, or asks to be left alone."""

    exit_code = ExitCode.UNFINISHED
    retryable = True


class ServiceFailed(StepError):
    """A server's answer to this call cannot be used, now or later."""


class Malformed(ServiceFailed):
    """What a server sent is not the JSON that was asked for; ``kind`` names the fault in a word or two."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ProviderRefused(StepError):
    """A provider refuses us for good: key, quota or credit."""

    exit_code = ExitCode.REFUSED


class ModelUnknown(ProviderRefused):
    """A server does not have the model, or is not at its address."""
