"""Questions that other programs queue: only where the settings allow it, and with caps of their own.

Each such question gets the cap ``each_usd`` as its ``budget_usd``, and the caps of all that stand in the file are ``cost_usd`` at
most in sum: no night spends more on them, whatever a hostile page makes a model queue.
"""

from __future__ import annotations

from pipeline.config.queries.model import Query, Queue
from pipeline.config.settings import Workspace, add_allowed
from pipeline.errors import UsageError
from pipeline.ops.mcp.inputs import Enqueue

TAG = "mcp"  # marks what was queued by other programs


def enqueue(workspace: Workspace, wanted: Enqueue) -> Query:
    """Append a question to ``queries.yaml``; return it.

    Raises:
        UsageError: the settings do not allow it, a cap is reached, or the question stands there already.
        SystemRefused: the file cannot be written.
    """
    allowed = workspace.queue.settings.mcp
    fields = {"mode": wanted.mode, "every": wanted.every, "tags": [TAG, *wanted.tags], "budget_usd": allowed.each_usd}
    given = {name: value for name, value in fields.items() if value is not None}
    return add_allowed(workspace.queue_file, wanted.question, _refuse, **given)


def _refuse(queue: Queue) -> None:
    allowed, queued = queue.settings.mcp, [query for query in queue.queries if TAG in query.tags]
    if not allowed.enqueue:
        hint = "the user allows it in queries.yaml: settings: {mcp: {enqueue: true}}"
        raise UsageError("this workspace takes no questions from other programs", hint=hint)
    if len(queued) >= allowed.questions:
        hint = f"the user removes entries with the tag {TAG}, or raises settings: {{mcp: {{questions: …}}}}"
        raise UsageError(f"{len(queued)} questions of other programs stand in the queue, as many as may", hint=hint)
    if sum(query.budget_usd or 0.0 for query in queued) + allowed.each_usd > allowed.cost_usd + 1e-9:
        hint = f"the user removes entries with the tag {TAG}, or raises settings: {{mcp: {{cost_usd: …}}}}"
        raise UsageError(f"the questions of other programs may cost {allowed.cost_usd:.2f} USD in sum, and do", hint=hint)
