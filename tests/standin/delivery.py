"""How a reply goes out: whole, slowly, cut, never, or as no HTTP at all."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

from tests.standin.wire import Reply

TLS_ALERT = b"\x15\x03\x03\x00\x02\x02\x28"
PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Delivery:
    """What happens on the wire. Seconds, bytes, bytes per second; None and 0 mean: nothing unusual."""

    delay_s: float = 0.0
    drip: float = 0.0
    hang: Literal["", "before_headers", "mid_body"] = ""
    cut_at: int | None = None
    chunked: bool = False
    endless: bool = False
    reset: bool = False
    no_http: bool = False
    extra_header_bytes: int = 0
    claimed_length: int | None = None

    @property
    def whole(self) -> bool:
        """Whether a patient client gets the reply complete."""
        broken = self.hang or self.endless or self.reset or self.no_http or self.extra_header_bytes
        return not broken and self.cut_at is None and self.claimed_length is None


async def deliver(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply, how: Delivery, *, head_only: bool = False
) -> bool:
    """Send ``reply`` in that manner; return whether the connection may serve another request."""
    await asyncio.sleep(how.delay_s)
    if how.reset:
        return _reset(writer)
    if how.hang == "before_headers":
        return await _wait_for_client(reader)
    if how.no_http:
        return await _send_last(writer, TLS_ALERT)
    writer.write(_head(reply, how))
    if head_only or reply.status in (204, 304):
        await writer.drain()
        return how.whole
    return await _send_body(reader, writer, reply.body, how)


def _head(reply: Reply, how: Delivery) -> bytes:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Unknown"
    headers = dict(reply.headers)
    if how.chunked or how.endless:
        headers["Transfer-Encoding"] = "chunked"
    elif reply.status not in (204, 304):
        headers["Content-Length"] = str(len(reply.body) if how.claimed_length is None else how.claimed_length)
    lines = [f"HTTP/1.1 {reply.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    lines += [f"X-Padding-{at}: {'x' * 1000}" for at in range(how.extra_header_bytes // 1000)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


async def _send_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes, how: Delivery) -> bool:
    end = len(body) if how.cut_at is None else how.cut_at
    if how.hang == "mid_body":
        end = len(body) // 2
    async for piece in _pieces(body[:end], how):
        writer.write(_chunk(piece) if how.chunked or how.endless else piece)
        await writer.drain()
    if how.hang == "mid_body":
        return await _wait_for_client(reader)
    if how.chunked and how.cut_at is None:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    return how.whole


async def _pieces(body: bytes, how: Delivery) -> AsyncIterator[bytes]:
    pause = max(0.02, 1 / how.drip) if how.drip else 0.0
    size = max(1, round(how.drip * pause)) if how.drip else PIECE
    while True:
        for start in range(0, len(body), size):
            yield body[start : start + size]
            await asyncio.sleep(pause)
        if not how.endless:
            return
        body = b" " * PIECE


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


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


async def _send_last(writer: asyncio.StreamWriter, data: bytes) -> bool:
    writer.write(data)
    await writer.drain()
    return False
