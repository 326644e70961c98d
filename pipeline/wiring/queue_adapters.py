"""Builds what a shared night needs: its rows, the engine that gives jobs, and the fingerprint of the documents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.settings import Workspace, store_address, store_password
from pipeline.errors import CorpusUnusable, ReadFailed, UsageError
from pipeline.wiring.store_adapters import postgres_store, require_psycopg

if TYPE_CHECKING:
    from pipeline.ports.distribution import Nights
    from pipeline.search.folders import Corpus, FoundFile
    from pipeline.store.jobs import PgQueuerEngine
    from pipeline.store.nights import PostgresNights
    from pipeline.store.postgres import PostgresStore

PATIENCE_S = 600.0
LOOK_S = 0.5  # at most, between two looks whether a turn is free
_IN_FILES = "several machines need a log in PostgreSQL, and this workspace's is in files"
_HINT = "write `store: postgresql://ROLE@HOST/DATABASE` under settings, and run research store init; see docs/several-machines.md"


def require_queue(folder: Path) -> str:
    """Return the address of the database that machines can share.

    Raises:
        UsageError: the log is in files, or the extra ``postgres`` is not installed.
    """
    if not (address := store_address(folder)):
        raise UsageError(_IN_FILES, hint=_HINT)
    require_psycopg()
    return address


def nights_of(folder: Path, patience_s: float = 30.0) -> PostgresNights:
    """Return the nights in the database that holds the workspace's log. Raises: as ``require_queue``."""
    address = require_queue(folder)
    from pipeline.store.nights import PostgresNights
    from pipeline.store.postgres_database import Database, check_schema

    return PostgresNights(Database(address, check_schema, password=store_password(folder), patience_s=patience_s))


def engine_of(folder: Path, program: str, at_once: int, lease_s: float, say: Callable[[str], None]) -> PgQueuerEngine:
    """Return what gives jobs to this process; ``program`` names it to others. Raises: as ``require_queue``."""
    address = require_queue(folder)
    from pipeline.store.jobs import PgQueuerEngine

    return PgQueuerEngine(address, store_password(folder), program=program[:63], at_once=at_once, lease_s=lease_s, say=say)


def patient_store_of(folder: Path) -> PostgresStore:
    """Return the workspace's store for a run that does not end because the database is being restarted. Raises: as above."""
    return postgres_store(folder, require_queue(folder), PATIENCE_S)


@dataclass(frozen=True, slots=True)
class NightsPace:
    """The port ``SharedPace`` over the rows of nights."""

    nights: Nights

    async def turn(self, name: str, hold_s: float) -> None:
        """Return when it is this process's turn at a host or provider."""
        while (wait_s := await asyncio.to_thread(self.nights.take_turn, name, hold_s)) > 0:
            await asyncio.sleep(min(wait_s, LOOK_S))

    async def rest(self, name: str, pause_s: float) -> None:
        """End a turn."""
        await asyncio.to_thread(self.nights.rest, name, pause_s)


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
