"""Loads the workspace's settings from ``queries.yaml`` and the environment. The only module that reads the environment.

``load_workspace`` reads and checks the file in one pass. Nothing here opens a log, a search or a network connection.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from pipeline.config.keys import DATABASE_PASSWORD, STORE_VARIABLE, Keys, read_keys, usable_store
from pipeline.config.queue_file import checked, contents, invalid, parse
from pipeline.config.queue_schema import Queue
from pipeline.config.vault_queue import questions_in
from pipeline.errors import NoWorkspace
from pipeline.text.cleaning import one_line

QUEUE_FILE = "queries.yaml"
MACHINE = "RESEARCH_MACHINE"  # the variable that holds the name by which others know this machine


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with a valid queue."""

    folder: Path
    queue: Queue

    @property
    def corpora(self) -> tuple[Path, ...]:
        """All folders of documents that the local search reads, one at least. They need not exist."""
        return tuple(self.folder / name for name in self.queue.settings.corpus)

    def document_name(self, path: str) -> str:
        """Return how a skipped document is called in messages; ``path`` as in ``corpus_files.SkippedFile``."""
        is_of_another = len(self.queue.settings.corpus) > 1 and path.startswith("@")
        return path if is_of_another else f"{self.queue.settings.corpus[0]}/{path}"


def load_workspace(folder: Path) -> Workspace:
    """Read the workspace in ``folder``, with the questions in its vault.

    Raises:
        NoWorkspace: there is no ``queries.yaml``.
        QueueInvalid: it cannot be read or has faults; the message lists them all with line and column.
    """
    queue = checked(contents(folder / QUEUE_FILE), QUEUE_FILE)
    if queue.settings.vault_queue == "ignore":
        return Workspace(folder, queue)
    asked, faults = questions_in(folder / "vault", queue.queries)
    return Workspace(folder, replace(queue, queries=(*queue.queries, *asked), left_out=faults))


def keys_of(folder: Path) -> Keys:
    """Return the keys that the environment and the workspace's ``.env`` hold.

    Raises:
        UsageError: there is a ``.env`` that cannot be read.
    """
    return read_keys(environment(), folder)


def store_address(folder: Path) -> str:
    """Return the address of the database that holds the workspace's log; "" if it is in files.

    ``RESEARCH_STORE`` in the environment or in ``.env`` says more than the setting. Of ``queries.yaml``, only this setting must
    be valid.

    Raises:
        UsageError: what the environment says is no address.
        QueueInvalid: the setting is not valid, or cannot be read.
    """
    if said := keys_of(folder).value(STORE_VARIABLE):
        return usable_store(said, f"{STORE_VARIABLE}: ")
    return _text_in(folder, "store")


def objects_address(folder: Path) -> str:
    """Return where pages are kept beside a database, "" for in it. ``RESEARCH_OBJECTS`` says more than the setting."""
    if said := keys_of(folder).value("RESEARCH_OBJECTS"):
        return said
    return _text_in(folder, "objects")


def _text_in(folder: Path, setting: str) -> str:
    """A setting, "" without a queue or without a line of it that has the word: what is faulty elsewhere does not matter."""
    try:
        data = contents(folder / QUEUE_FILE)
    except NoWorkspace:
        return ""
    # A file with faults may name it in any style, and most files do not name it at all.
    named = re.search(rb"""\b%b["']?[ \t]*:""" % setting.encode(), data)
    queue, faults = parse(data) if named else (Queue(), ())
    if faults and not getattr(queue.settings, setting):
        raise invalid(faults, QUEUE_FILE)
    return str(getattr(queue.settings, setting))


def store_password(folder: Path) -> str:
    """Return the database's password from ``.env`` or a file that is named; "" if the client library finds it by itself.

    Raises:
        UsageError: the file that is named cannot be read.
    """
    keys = keys_of(folder)
    if keys.env.get(DATABASE_PASSWORD):
        return ""
    found = keys.secret(DATABASE_PASSWORD)
    return found.reveal() if found else ""


def environment() -> Mapping[str, str]:
    """Return the process's environment, read-only, as it is now."""
    return MappingProxyType(dict(os.environ))


def machine_of(folder: Path) -> str:
    """Return the name of this computer in the log: from the environment or ``.env``, else its host name.

    Raises:
        UsageError: there is a ``.env`` that cannot be read.
    """
    return one_line(keys_of(folder).value(MACHINE), 100) or platform.node()
