"""Pings to a monitor such as Healthchecks when a run starts and ends. A ping that fails does not fail the run.

The address is a secret: anyone who knows it can send pings for the run. A ping is sent from its own thread, so that neither a
slow monitor nor a dead network delays the run.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pipeline.errors import UsageError
from pipeline.net.calls import Call, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard, AddressRefused, origin_of
from pipeline.system.files import read_bytes
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Secret

DEADLINE_S = 10.0
_SECRET_FROM = 16  # characters; a shorter part of the address may be an ordinary word
_POLICY = Policy(attempts=2, call_deadline_s=DEADLINE_S, retry_after_cap_s=2)

_log = logging.getLogger("pipeline.ops.monitor_ping")


def read_address(path: Path) -> Secret:
    """Return the address in a file that holds nothing else.

    Raises:
        UsageError: the file cannot be read, or holds no http or https address.
    """
    hint = "it holds the monitor's address for this check, alone on one line"
    try:
        url = read_bytes(path, 4_000).decode().strip()
        origin_of(url)
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
        try:
            asyncio.run(self._exchange(what, body))
        except Exception as error:  # noqa: BLE001 - a failed ping must not fail the run
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
