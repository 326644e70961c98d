"""Jobs, the workers that take them, and how a job ended. Pure values; times are durations in seconds by the queue's own clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from pipeline import errors
from pipeline.errors import Outage, ProviderRefused, ResearchError, StepError

JobStatus = Literal["waiting", "taken", "lost", "done"]


@dataclass(frozen=True, slots=True)
class Job:
    """One session to be researched. What is to be done in it follows from its events, so a job says nothing about that.

    ``documents`` is the fingerprint of the documents that the session searches, "" for none. ``machine`` is the name
    of the only machine that may take the job, "" for any.
    """

    session: str
    documents: str = ""
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Night:
    """A distributed batch: when it ends, in seconds from now (None: without a limit), and what all workers together may spend.

    ``writing_s`` is how long before the end the gathering must be over. A cap of None is no cap.
    """

    batch: str
    ends_in_s: float | None = None
    writing_s: float = 0.0
    cap_usd: float | None = None
    cap_tokens: int | None = None
    cap_calls: int | None = None

    @property
    def capped(self) -> bool:
        """Return whether there is a cap on money, tokens or calls."""
        return (self.cap_usd, self.cap_tokens, self.cap_calls) != (None, None, None)


class Share(NamedTuple):
    """A session's share of a night's budget, in one ``turn``: from one take-over of the session to the next."""

    batch: str
    session: str
    turn: int


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A process that takes jobs. ``id`` is unique to the process, ``machine`` the name of its computer in the log.

    It works on ``sessions`` sessions at once. It is lost when it was not heard of for ``lease_s`` seconds: others may take its
    jobs then. ``documents`` is the fingerprint of its documents.
    """

    id: str
    machine: str
    sessions: int = 1
    lease_s: float = 30.0
    documents: str = ""


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """A worker as the queue knows it. ``silent_s`` is the time since its last sign of life; ``jobs`` the number of its jobs."""

    worker: WorkerProcess
    silent_s: float
    jobs: int = 0

    @property
    def lost(self) -> bool:
        """Return whether its jobs may be taken by others."""
        return self.silent_s > self.worker.lease_s


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that a worker has taken, and the night that it belongs to. ``taken`` counts the workers that took it so far."""

    job: Job
    night: Night
    taken: int = 1


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a worker left a session: without an ``error`` it ended, or its agenda is empty; else the error's class and message.

    ``service``, ``after_s`` and ``was_up`` are those of an ``Outage``. ``stopped``: it was asked to, and ``message`` says why;
    ``spent``: because the night's budget refused a call.
    """

    error: str = ""
    message: str = ""
    hint: str = ""
    service: str = ""
    after_s: float = 0.0
    was_up: bool = False
    stopped: bool = False
    spent: bool = False

    @classmethod
    def of(cls, error: Exception) -> JobResult:
        """Return the result of a session that ended in an error."""
        outage = error.outage if isinstance(error, StepError) else None
        message, hint = (error.message, error.hint) if isinstance(error, ResearchError) else (str(error), "")
        result = cls(type(error).__name__, message[:2_000], hint[:500])
        return replace(result, service=outage.service, after_s=outage.after_s, was_up=outage.was_up) if outage else result

    def as_error(self) -> ResearchError | None:
        """Return the error again, for a batch that treats it like one of its own; None if there was none.

        The class is kept where a batch distinguishes it: an outage, a provider's refusal, an error of the log.
        """
        if not self.error or self.stopped:
            return None
        if self.service:
            error = StepError(self.message, hint=self.hint)
            error.outage = Outage(self.service, self.after_s, self.was_up)
            return error
        known = getattr(errors, self.error, None)
        if self.error == ProviderRefused.__name__:
            return ProviderRefused(self.message, hint=self.hint)
        if isinstance(known, type) and issubclass(known, errors.LogError):
            return known(self.message, hint=self.hint)
        is_ours = isinstance(known, type) and issubclass(known, ResearchError)
        return ResearchError(self.message if is_ours else f"unexpected {self.error}: {self.message}", hint=self.hint)


@dataclass(frozen=True, slots=True)
class JobState:
    """A job of a batch as the queue knows it. ``machine`` is where it is researched, or was last; "" before it was taken.

    ``refused`` says by worker id which workers cannot take it, and why. A ``lost`` job's worker is not heard of any more.
    ``taken`` counts how often a worker took it.
    """

    job: Job
    status: JobStatus
    machine: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    result: JobResult | None = None
    taken: int = 0


def why_nobody(job: JobState, workers: Sequence[SeenWorker]) -> str:
    """Return why no worker that is connected can take a waiting job, or "" if one can."""
    if job.status != "waiting":
        return ""
    alive = [seen.worker for seen in workers if not seen.lost]
    if not alive:
        return "no worker is connected"
    reasons = {worker.machine: _why_not(job, worker) for worker in alive}
    if not all(reasons.values()):
        return ""
    return "; ".join(f"{machine}: {why}" for machine, why in sorted(reasons.items()))


def _why_not(job: JobState, worker: WorkerProcess) -> str:
    if job.job.machine not in ("", worker.machine):
        return f"it is for the machine {job.job.machine}"
    if job.job.documents not in ("", worker.documents):
        return other_documents(job.job.documents, worker.documents)
    return job.refused.get(worker.id, "")


def other_documents(wanted: str, own: str) -> str:
    """Return in words that a worker's documents are not those that a job is about; both are fingerprints."""
    return f"its documents differ from those of the run ({own[:8] or 'none'} instead of {wanted[:8]})"


def jobs_ahead(workers: Sequence[SeenWorker], least: int) -> int:
    """Return how many jobs may be open at once: twice what the connected workers can do, so that none waits, or ``least``."""
    return max(least, 2 * sum(seen.worker.sessions for seen in workers if not seen.lost))
