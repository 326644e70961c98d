"""Builds what a distributed run needs: the queue of jobs, the shared budget, and the fingerprint of the documents."""

from __future__ import annotations

import secrets
import socket
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.settings import Workspace, store_address, store_password
from pipeline.errors import CorpusUnusable, ReadFailed, UsageError
from pipeline.wiring.store_adapters import postgres_store, require_psycopg

if TYPE_CHECKING:
    from pipeline.adapters.dispatch.job_queue import PostgresDispatcher
    from pipeline.adapters.dispatch.shared_budget import PostgresBudget
    from pipeline.adapters.store.postgres.postgres_store import PostgresStore
    from pipeline.search.folders import Corpus, FoundFile

PATIENCE_S = 600.0
_IN_FILES = "several machines need a log in PostgreSQL, and this workspace's is in files"
_HINT = "write `store: postgresql://ROLE@HOST/DATABASE` under settings, and run research store init; see docs/several-machines.md"


def queue_of(folder: Path) -> tuple[PostgresDispatcher, PostgresBudget]:
    """Return the queue and the budget in the database that holds the workspace's log.

    Raises:
        UsageError: the log is in files, or psycopg is not installed.
    """
    address = store_address(folder)
    if not address:
        raise UsageError(_IN_FILES, hint=_HINT)
    require_psycopg()
    from pipeline.adapters.dispatch.connections import Connections
    from pipeline.adapters.dispatch.job_queue import PostgresDispatcher
    from pipeline.adapters.dispatch.shared_budget import PostgresBudget

    connections = Connections(address, store_password(folder))
    return PostgresDispatcher(connections), PostgresBudget(connections)


def patient_store_of(folder: Path) -> PostgresStore:
    """Return the workspace's store for a run that does not end because the database is being restarted.

    Raises:
        UsageError: the log is in files, or psycopg is not installed.
    """
    if not (address := store_address(folder)):
        raise UsageError(_IN_FILES, hint=_HINT)
    return postgres_store(folder, address, PATIENCE_S)


def new_worker_id() -> str:
    """Return an id for a worker of this process."""
    return f"{socket.gethostname()}-{secrets.token_hex(4)}"


@dataclass
class DocumentsFingerprint:
    """The fingerprint of a workspace's documents: the SHA-256 of their addresses and contents. ``value`` is "" for none."""

    workspace: Workspace
    value: str = ""
    _hashes: dict[FoundFile, str] = field(default_factory=dict)

    def refresh(self) -> bool:
        """Look at the folders again, reading only files that look changed; return whether the fingerprint is another one."""
        from pipeline.search.folders import Corpus

        before, corpus = self.value, Corpus(self.workspace.corpora)
        self._hashes = {file: self._hashes.get(file) or _hash_of(corpus, file) for file in _files_of(corpus)}
        lines = sorted(f"{file.url} {digest}" for file, digest in self._hashes.items())
        self.value = sha256("\n".join(lines).encode()).hexdigest() if lines else ""
        return self.value != before


def _files_of(corpus: Corpus) -> list[FoundFile]:
    from pipeline.search.folders import FoundFile

    try:
        return [file for file in corpus.scan() if isinstance(file, FoundFile)]
    except (CorpusUnusable, OSError):
        return []


def _hash_of(corpus: Corpus, file: FoundFile) -> str:
    from pipeline.search.folders import contents

    try:
        return sha256(contents(corpus.locate(file.url))).hexdigest()
    except ReadFailed:
        return "unreadable"
