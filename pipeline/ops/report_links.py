"""``link_reports``: links the questions in the vault to their reports, in the notes that ask them.

What to link follows from the log alone, so a run that was killed is made good by the next run or build, and a second pass changes
nothing. Of a person's note only boxes of tasks and our own links are changed. A note that changes meanwhile is left to the next
build.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path

from pipeline.batch.session_index import SessionIndex
from pipeline.config.settings import Workspace
from pipeline.config.values import Query
from pipeline.config.vault_queue import QUEUE_NOTE, Find, linked
from pipeline.domain.summary import Summary
from pipeline.system.folders import Obstacle, Tree
from pipeline.text.normalise import spelling_free

_ENDED = {"complete": "Report", "not-found": "Not found"}


def link_reports(workspace: Workspace, known: Callable[[], SessionIndex], report: Callable[[str], str]) -> list[str]:
    """Link each question in the vault's notes to its newest report; return what could not be written, and why.

    ``report`` returns the path of a session's report in the workspace, "" if there is none.
    """
    vault = workspace.folder / "vault"
    queries = workspace.queue.queries
    files = sorted({QUEUE_NOTE, *(query.file.removeprefix("vault/") for query in queries if query.file)})
    if workspace.queue.settings.vault_queue == "ignore" or not any((vault / file).exists() for file in files):
        return []
    found = _links(queries, known, report)
    with closing(Tree(vault)) as tree:
        return [problem for file in files if (problem := _link(tree, file, found))]


def _links(queries: tuple[Query, ...], known: Callable[[], SessionIndex], report: Callable[[str], str]) -> Find:
    """Return how a question's link is found; the sessions are read only for the first question."""

    @cache
    def sessions() -> dict[str, list[Summary]]:
        found: dict[str, list[Summary]] = {}
        for summary in sorted(known().sessions, key=lambda one: (one.started_at, one.id)):
            if summary.status in _ENDED:
                found.setdefault(summary.query_id, []).append(summary)
        return found

    by_block = {query.id: query for query in queries if query.file}
    by_text = {spelling_free(query.text): query for query in queries}

    def find(text: str, identity: str) -> tuple[str, str] | None:
        query = by_block.get(identity) or by_text.get(spelling_free(text))
        return _link_to(sessions().get(query.id, []), text, report) if query else None

    return find


def _link_to(sessions: list[Summary], text: str, report: Callable[[str], str]) -> tuple[str, str] | None:
    latest = next((one for one in reversed(sessions) if report(one.id)), None)
    if latest is None or spelling_free(latest.query) != spelling_free(text):
        return None  # edited since: not researched yet
    path = report(latest.id).removeprefix("vault/").removesuffix(".md")
    return path, f"{_ENDED[latest.status]}, {latest.started_at[:10]}"


def _link(tree: Tree, file: str, find: Find) -> str:
    """Link the questions of one note; return why that was not possible, or ""."""
    try:
        data = tree.read(file)
        if data is None:
            return ""
        text = data.decode("utf-8")
        fresh = linked(text, find, is_queue=file == QUEUE_NOTE, stem=Path(file).stem).encode()
        if fresh != data and tree.read(file) == data:
            tree.write(file, fresh, durable=True)
    except (Obstacle, OSError, UnicodeDecodeError) as error:
        return f"vault/{file}: its questions are not linked to their reports: {error}"
    return ""
