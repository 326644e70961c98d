"""Telling a monitor that a run began and how it ended, as Healthchecks and its like understand it. Its failure never matters.

The address is a secret: whoever knows it can speak for the run. A ping is sent from a thread of its own, so that neither a slow
monitor nor a dead network holds up the night.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pipeline.adapters.http.address_guard import AddressGuard, AddressRefused, origin_of
from pipeline.adapters.http.call_and_reply import Call, judged_by_status
from pipeline.adapters.http.client import HttpClient
from pipeline.adapters.http.retry_policy import Policy
from pipeline.errors import UsageError
from pipeline.system.folder_fingerprint import plain_bytes
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Secret

DEADLINE_S = 10.0
_SECRET_FROM = 16  # characters; a shorter part of the address may be a name
_POLICY = Policy(attempts=2, call_deadline_s=DEADLINE_S, retry_after_cap_s=2)

_log = logging.getLogger("pipeline.ops.monitor_ping")


def address_in(path: Path) -> Secret:
    """Return the address that stands alone in a file.

    Raises:
        UsageError: the file cannot be read, or holds no http or https address.
    """
    hint = "it holds the monitor's address for this check, alone on one line"
    try:
        url = plain_bytes(path, 4_000).decode().strip()
        origin_of(url)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"--ping-url-file names {path}, which cannot be read: {reason}", hint=hint) from None
    except AddressRefused as error:
        raise UsageError(f"--ping-url-file: {path} holds no address to ping: {error}", hint=hint) from None
    return Secret(url, "ping-url")


def secrets_in(url: Secret) -> tuple[Secret, ...]:
    """Return the address and those parts of it that may tell it: what is never to be written anywhere."""
    parts = urlsplit(url.reveal())
    pieces = [*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))]
    long = [piece for piece in pieces if len(piece) >= _SECRET_FROM]
    return tuple(Secret(value, url.name) for value in (url.reveal(), parts.path.strip("/"), *long) if value)


class MonitorPing:
    """Pings one address for one run: ``started``, then ``ended``."""

    def __init__(self, url: Secret, deadline_s: float = DEADLINE_S) -> None:
        self._url = url
        self._deadline_s = deadline_s
        self._run = str(uuid.uuid4())
        self._first: Thread | None = None

    def started(self) -> None:
        """Say that the run begins; do not wait for the answer."""
        self._first = self._sent("start", {})

    def ended(self, exit_code: int, body: dict[str, Any]) -> None:
        """Say how the run ended; wait for the answer, not for long. ``body`` is short and holds no key."""
        if self._first is not None:
            self._first.join(self._deadline_s)  # a monitor that hears of the end before the start takes the run for a new one
        self._sent(str(exit_code), body).join(self._deadline_s)

    def _sent(self, what: str, body: dict[str, Any]) -> Thread:
        thread = Thread(target=self._send, args=(what, body), name=f"ping {what}", daemon=True)
        thread.start()
        return thread

    def _send(self, what: str, body: dict[str, Any]) -> None:
        try:
            asyncio.run(self._exchange(what, body))
        except Exception as error:  # noqa: BLE001 - whatever it is, the night matters more
            _log.warning("the ping %r was not delivered: %s", what, one_line(str(error), 300))

    async def _exchange(self, what: str, body: dict[str, Any]) -> None:
        url = self._url.reveal()
        http = HttpClient(_POLICY, guard=AddressGuard((url,)))
        parts = urlsplit(url)
        target = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{what}"))
        call = Call(
            "ping",
            "POST",
            target,
            params={"rid": self._run},
            json=body or None,
            max_bytes=10_000,
            deadline_s=self._deadline_s / 2,
        )
        try:
            await http.send(call, judged_by_status)
        finally:
            await http.aclose()
