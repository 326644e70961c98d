"""Decoding of compressed reply bodies under a size cap, so that a decompression bomb costs no more memory than the cap."""

from __future__ import annotations

import zlib

_AUTOMATIC = zlib.MAX_WBITS | 32  # gzip or zlib, by the header


class BodyFault(Exception):
    """The body cannot be decoded; ``passing`` is whether another attempt may succeed."""

    def __init__(self, why: str, *, passing: bool) -> None:
        super().__init__(why)
        self.passing = passing


class Decoder:
    """Decodes a body with at most one content coding, chunk by chunk. With ``cut_off``, what exceeds the cap is dropped.

    Raises:
        BodyFault: from the constructor, if ``coding`` was not asked for or names several codings.
    """

    def __init__(self, coding: str, max_bytes: int, *, cut_off: bool = False) -> None:
        names = [name.strip().lower() for name in coding.split(",") if name.strip().lower() not in ("", "identity")]
        if len(names) > 1:
            raise BodyFault("the body is compressed more than once", passing=False)
        if names and names[0] not in ("gzip", "x-gzip", "deflate"):
            raise BodyFault("the body is compressed in a way that was not asked for", passing=False)
        self._zlib = zlib.decompressobj(_AUTOMATIC) if names else None
        self._room = max_bytes
        self._cut_off = cut_off
        self.is_full = False
        self._chunks: list[bytes] = []
        self._started = False

    def feed(self, data: bytes) -> None:
        """Decode the next bytes of the body.

        Raises:
            BodyFault: the bytes cannot be decompressed, or the body exceeds its cap.
        """
        if self._zlib is None:
            self._keep(data)
            return
        self._started = self._started or bool(data)
        try:
            while data and not self._zlib.eof and not self.is_full:
                self._keep(self._zlib.decompress(data, self._room + 1))
                data = self._zlib.unconsumed_tail
        except zlib.error:
            raise BodyFault("the compressed body is damaged", passing=True) from None

    def finished(self) -> bytes:
        """Return the whole body.

        Raises:
            BodyFault: the compressed body is cut off.
        """
        if self._zlib is not None and self._started and not self._zlib.eof:
            raise BodyFault("the compressed body is cut off", passing=True)
        return self.beginning()

    def beginning(self) -> bytes:
        """Return what was decoded so far."""
        return b"".join(self._chunks)

    def _keep(self, data: bytes) -> None:
        if len(data) > self._room:
            if not self._cut_off:
                raise BodyFault("the body is larger than its cap", passing=False)
            data, self.is_full = data[: self._room], True
        self._room -= len(data)
        if data:
            self._chunks.append(data)
