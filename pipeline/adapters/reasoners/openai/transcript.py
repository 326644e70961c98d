"""The transcript of an answer's calls for the log, as canonical JSON: request bodies and raw replies, no headers, no keys."""

from __future__ import annotations

import base64
import json
from typing import Any

from pipeline.adapters.http.call_and_reply import Reply
from pipeline.text.redaction import Redaction

_KEPT_OF_ERROR = 2_000  # bytes kept of an error reply


class Transcript:
    """The calls of one answer. ``redaction`` removes keys by value, in case a server echoes one.

    ``removed`` counts the unknown citation keys and addresses that were removed from the replies.
    """

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._calls: list[dict[str, Any]] = []
        self.removed = 0

    def asked(self, body: dict[str, Any]) -> None:
        """Add a request."""
        self._calls.append({"request": body, "replies": []})

    def replied(self, reply: Reply, *, whole: bool) -> None:
        """Add a reply to the latest request; if not ``whole``, only its beginning is kept."""
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
        """Add the number of attempts of the latest request without a complete reply."""
        if attempts:
            self._calls[-1]["lost"] = attempts

    def data(self) -> bytes:
        """Return the transcript as canonical JSON; b"" if nothing was sent."""
        if not self._calls:
            return b""
        whole = {"calls": self._calls, "removed": self.removed}
        text = json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return self._redaction.data(text.encode("utf-8", "replace"))
