"""How a reply goes out: whole, late, cut, or never."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Literal

from tests.standin.wire import Reply, phrase_of

PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Delivery:
    """What happens on the wire: seconds before the reply, where it hangs, after how many bytes it is cut, whether it is reset."""

    delay_s: float = 0.0
    hang: Literal["", "before_headers", "mid_body"] = ""
    cut_at: int | None = None
    reset: bool = False


async def deliver(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply, how: Delivery) -> bool:
    """Send ``reply`` in that manner; return whether the connection may serve another request."""
    await asyncio.sleep(how.delay_s)
    if how.reset:
        return _reset(writer)
    if how.hang == "before_headers":
        return await _wait_for_client(reader)
    has_body = reply.status not in (204, 304)
    length = {"Content-Length": str(len(reply.body))} if has_body else {}
    lines = [
        f"HTTP/1.1 {reply.status} {phrase_of(reply.status)}",
        *(f"{name}: {value}" for name, value in ({**reply.headers, **length}).items()),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))
    if has_body:
        writer.write(reply.body[: len(reply.body) // 2 if how.hang else how.cut_at])
    await writer.drain()
    return await _wait_for_client(reader) if how.hang else how.cut_at is None


def _reset(writer: asyncio.StreamWriter) -> bool:
    held = writer.get_extra_info("socket")
    # Lingering for zero seconds makes the kernel send RST where it would send FIN.
    held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False


async def _wait_for_client(reader: asyncio.StreamReader) -> bool:
    while await reader.read(PIECE):
        pass
    return False
