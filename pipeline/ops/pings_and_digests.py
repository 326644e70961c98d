"""What a run tells elsewhere: pings to a monitor such as Healthchecks, and the night's digest to ntfy or a webhook.

What is not delivered fails no run. The addresses are secrets: who knows one can send pings for the run, or read and post
messages. A ping is sent from its own thread, so that neither a slow monitor nor a dead network delays the run.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pipeline.config.queue_schema import Notify
from pipeline.config.services import Route
from pipeline.errors import UsageError
from pipeline.net.calls_and_replies import Call, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard, AddressRefused, host_and_port
from pipeline.ops.console_output import PRINTED, add_mask
from pipeline.system.files import read_bytes
from pipeline.text.cleaning import one_line
from pipeline.text.redaction import Redaction, Secret

DEADLINE_S = 10.0
_SECRET_FROM = 16  # characters; a shorter part of the address may be an ordinary word
_POLICY = Policy(attempts=2, call_deadline_s=20, retry_after_cap_s=2)
_NTFY_BYTES = 3_900  # of a message; ntfy makes a file of one with more than 4,096
_CHAT_SIGNS = 1_900  # of a message; Discord takes 2,000

_log = logging.getLogger("pipeline.ops.pings_and_digests")


def read_address(path: Path) -> Secret:
    """Return the address in a file that holds nothing else.

    Raises:
        UsageError: the file cannot be read, or holds no http or https address.
    """
    hint = "it holds the monitor's address for this check, alone on one line"
    try:
        url = read_bytes(path, 4_000).decode().strip()
        host_and_port(url)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"--ping-url-file names {path}, which cannot be read: {reason}", hint=hint) from None
    except AddressRefused as error:
        raise UsageError(f"--ping-url-file: {path} holds no address to ping: {error}", hint=hint) from None
    return Secret(url, "ping-url")


def secrets_in(url: Secret) -> tuple[Secret, ...]:
    """Return the address and the parts of it that give it away. None of them may be written anywhere."""
    parts = urlsplit(url.reveal())
    pieces = [*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))]
    long = [piece for piece in pieces if len(piece) >= _SECRET_FROM]
    return tuple(Secret(value, url.name) for value in (url.reveal(), parts.path.strip("/"), *long) if value)


class MonitorPing:
    """Pings one address for one run: ``send_start``, then ``send_end``."""

    def __init__(self, url: Secret, deadline_s: float = DEADLINE_S) -> None:
        self._url = url
        self._deadline_s = deadline_s
        self._run = str(uuid.uuid4())
        self._first: Thread | None = None

    def send_start(self) -> None:
        """Report that the run starts; do not wait for the reply."""
        self._first = self._start_sending("start", {})

    def send_end(self, exit_code: int, body: dict[str, Any]) -> None:
        """Report how the run ended; wait up to ``deadline_s`` for the reply. ``body`` is short and contains no key."""
        if self._first is not None:
            self._first.join(self._deadline_s)  # a monitor that gets the end before the start takes the run for a new one
        self._start_sending(str(exit_code), body).join(self._deadline_s)

    def _start_sending(self, what: str, body: dict[str, Any]) -> Thread:
        thread = Thread(target=self._send, args=(what, body), name=f"ping {what}", daemon=True)
        thread.start()
        return thread

    def _send(self, what: str, body: dict[str, Any]) -> None:
        parts = urlsplit(self._url.reveal())
        target = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{what}"))
        try:
            asyncio.run(_sent("ping", target, body or None, {"rid": self._run}, deadline_s=self._deadline_s / 2))
        except Exception as error:  # noqa: BLE001 - a failed ping must not fail the run
            _log.warning("the ping %r was not delivered: %s", what, one_line(str(error), 300))


async def _sent(
    name: str, target: str, body: Any, params: Mapping[str, str], *, deadline_s: float, route: Route | None = None
) -> None:
    async with aclosing(HttpClient(_POLICY, guard=AddressGuard((target,)), route=route or Route())) as http:
        call = Call(name, "POST", target, params=params, json=body, max_bytes=50_000, deadline_s=deadline_s)
        await http.send(call, judged_by_status)


def post_digest(to: Notify, title: str, text: str, route: Route) -> Iterator[str]:
    """Post a digest; yield why it was not delivered, for each address that did not take it."""
    parts = urlsplit(to.ntfy)
    server, _, topic = parts.path.rstrip("/").rpartition("/")
    short = text.encode()[:_NTFY_BYTES].decode(errors="ignore")
    chat = f"{title}\n\n{text}"[:_CHAT_SIGNS]  # what Slack and Mattermost call `text`, Discord calls `content`
    for name, address, target, body in (
        ("ntfy", to.ntfy, urlunsplit(parts._replace(path=server or "/")), {"topic": topic, "title": title, "message": short}),
        ("webhook", to.webhook, to.webhook, {"title": title, "text": chat, "content": chat}),
    ):
        if not address:
            continue
        secrets = [one for one in secrets_in(Secret(address, "notify")) if len(one.reveal()) >= _SECRET_FROM]
        add_mask(Redaction(secrets).text)
        try:
            asyncio.run(_sent(name, target, body, {}, deadline_s=10, route=route))
        except Exception as error:  # noqa: BLE001 - a message that is not delivered must not fail the night
            _log.warning("the digest was not delivered by %s: %s", name, type(error).__name__, extra=PRINTED)
            yield f"the digest was not delivered by {name} ({urlsplit(target).hostname}): {Redaction(secrets).text(str(error))}"
