"""The digest of a night, posted to a phone through ntfy, or to a webhook. What is not delivered fails no night.

The address is a secret: who knows it can read the messages of a topic, or post to the webhook.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pipeline.config.network import Route
from pipeline.config.values import Notify
from pipeline.net.calls import Call, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.ops.console_output import PRINTED, add_mask
from pipeline.ops.monitor_ping import secrets_in
from pipeline.text.redaction import Redaction, Secret

_POLICY = Policy(attempts=2, call_deadline_s=20, retry_after_cap_s=2)
_NTFY_BYTES = 3_900  # of a message; ntfy makes a file of one with more than 4,096
_CHAT_SIGNS = 1_900  # of a message; Discord takes 2,000
_SHORTEST_SECRET = 16  # characters of an address's part; a shorter one may be an ordinary word
_log = logging.getLogger("pipeline.ops.notify")


def post_digest(to: Notify, title: str, text: str, route: Route) -> Iterator[str]:
    """Post a digest; yield why it was not delivered, for each address that did not take it."""
    if to.ntfy:
        parts = urlsplit(to.ntfy)
        server, _, topic = parts.path.rstrip("/").rpartition("/")
        body = {"topic": topic, "title": title, "message": text.encode()[:_NTFY_BYTES].decode(errors="ignore")}
        yield from _posted("ntfy", to.ntfy, urlunsplit(parts._replace(path=server or "/")), body, route)
    if to.webhook:
        chat = f"{title}\n\n{text}"[:_CHAT_SIGNS]  # what Slack and Mattermost call `text`, Discord calls `content`
        yield from _posted("webhook", to.webhook, to.webhook, {"title": title, "text": chat, "content": chat}, route)


def _posted(name: str, address: str, target: str, body: dict[str, Any], route: Route) -> Iterator[str]:
    secrets = [one for one in secrets_in(Secret(address, "notify")) if len(one.reveal()) >= _SHORTEST_SECRET]
    add_mask(Redaction(secrets).text)

    async def send() -> None:
        http = HttpClient(_POLICY, guard=AddressGuard((target,)), route=route)
        try:
            await http.send(Call(name, "POST", target, json=body, max_bytes=50_000, deadline_s=10), judged_by_status)
        finally:
            await http.aclose()

    try:
        asyncio.run(send())
    except Exception as error:  # noqa: BLE001 - a message that is not delivered must not fail the night
        _log.warning("the digest was not delivered by %s: %s", name, type(error).__name__, extra=PRINTED)
        yield f"the digest was not delivered by {name} ({urlsplit(target).hostname}): {Redaction(secrets).text(str(error))}"
