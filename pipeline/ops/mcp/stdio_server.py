"""The transport: one message a line on standard input, one reply a line on standard output."""

from __future__ import annotations

from typing import BinaryIO

from pipeline.ops.mcp.protocol import INVALID_REQUEST, Served, reply_to

LONGEST = 4_000_000  # bytes of a message


def serve(served: Served, incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer messages until the other side closes its end. A message that is too long is refused, not held in memory."""
    while line := incoming.readline(LONGEST + 1):
        if len(line) > LONGEST:
            _skip(line, incoming)
            reply = _TOO_LONG
        else:
            reply = reply_to(line, served) if line.strip() else b""
        if reply:
            outgoing.write(reply)
            outgoing.flush()


def _skip(line: bytes, incoming: BinaryIO) -> None:
    while line and not line.endswith(b"\n"):
        line = incoming.readline(LONGEST)


_TOO_LONG = b'{"jsonrpc": "2.0", "id": null, "error": {"code": %d, "message": "a message has at most %d bytes"}}\n' % (
    INVALID_REQUEST,
    LONGEST,
)
