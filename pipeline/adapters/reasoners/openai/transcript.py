"""What was sent and what came back, as canonical JSON for the log: request bodies and raw replies, never a header or a key."""

from __future__ import annotations

import base64
import json
from typing import Any

from pipeline.adapters.http.call_and_reply import Reply
from pipeline.text.redaction import Redaction

_KEPT_OF_ERROR = 2_000  # bytes of a reply that is no answer


class Transcript:
    """Grows with each call of one answer. ``redaction`` takes keys out by value, in case a server echoes one.

    ``removed`` counts what the replies cited without having been given it.
    """

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._calls: list[dict[str, Any]] = []
        self.removed = 0

    def asked(self, body: dict[str, Any]) -> None:
        """Note a request."""
        self._calls.append({"request": body, "replies": []})

    def replied(self, reply: Reply, *, whole: bool) -> None:
        """Note a reply to the latest request; one that is no answer is kept in part."""
        data = reply.body if whole else reply.body[:_KEPT_OF_ERROR]
        kept: dict[str, Any] = {"status": reply.status}
        try:
            kept["body"] = data.decode("utf-8")
        except UnicodeDecodeError:
            kept["base64"] = base64.b64encode(data).decode()
        if len(data) < len(reply.body):
            kept["bytes"] = len(reply.body)
        self._calls[-1]["replies"].append(kept)

    def lost(self, attempts: int) -> None:
        """Note attempts of the latest request whose reply never came whole."""
        if attempts:
            self._calls[-1]["lost"] = attempts

    def data(self) -> bytes:
        """Return all of it as canonical JSON; b"" when nothing was sent."""
        if not self._calls:
            return b""
        whole = {"calls": self._calls, "removed": self.removed}
        text = json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return self._redaction.data(text.encode("utf-8", "replace"))
