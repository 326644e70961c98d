"""Checks of the database that holds the event log: it answers, its tables fit, and the role may do what is needed."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.config.settings import Workspace
from pipeline.errors import ResearchError
from pipeline.ops.doctor.finding import Finding, note, ok, problem
from pipeline.text.normalise import counted

_ABOUT = "store"
_ROLES = "research store init --print-roles prints the SQL that grants what is needed"


def store_findings(workspace: Workspace) -> Iterator[Finding]:
    """Yield the findings on the database; none if the log is in files."""
    from pipeline.wiring.store_adapters import status_of_store, unused_files

    try:
        found = status_of_store(workspace.folder)
        unused = unused_files(workspace.folder)
    except ResearchError as error:
        yield problem(_ABOUT, error.message, error.hint, error.exit_code)
        return
    if found is None:
        return
    place = f"database {found.database}, PostgreSQL {found.server}, schema {found.schema}, as {found.role}"
    if found.is_copy:
        yield problem(_ABOUT, f"{place}: the server is a read-only copy", "name the primary server in `store`", 12)
    elif not found.may_append:
        yield problem(_ABOUT, f"{place}: the role may not append", _ROLES, 12)
    else:
        yield ok(_ABOUT, f"{place}, {'which may also remove' if found.may_remove else 'which may append only'}")
    if found.may_append and found.may_remove:
        yield note(_ABOUT, f"{found.role} can change and delete events", f"let nights run as a role that cannot: {_ROLES}")
    if not found.is_durable:
        todo = "set fsync and synchronous_commit to on"
        yield problem(_ABOUT, "the server acknowledges before it has written: a power cut can lose events", todo, 12)
    if unused:
        todo = f"research store copy {workspace.folder} ADDRESS --check says what the database lacks; then move events/ away"
        yield note(_ABOUT, f"events/ has {counted(unused, 'session')} in files that are not in use", todo)
