"""A body's content coding, undone under a cap: a bomb costs no more memory than the cap."""

from __future__ import annotations

import zlib

_AUTOMATIC = zlib.MAX_WBITS | 32  # gzip or zlib, by the header


class BodyFault(Exception):
    """The body cannot be decoded; ``passing`` tells whether another try may help."""

    def __init__(self, why: str, *, passing: bool) -> None:
        super().__init__(why)
        self.passing = passing


class Decoder:
    """Undoes one content coding, chunk by chunk.

    Raises:
        BodyFault: from the constructor, for a coding that was not asked for, or more than one of them.
    """

    def __init__(self, coding: str, max_bytes: int) -> None:
        names = [name.strip().lower() for name in coding.split(",") if name.strip().lower() not in ("", "identity")]
        if len(names) > 1:
            raise BodyFault("the body is packed more than once", passing=False)
        if names and names[0] not in ("gzip", "x-gzip", "deflate"):
            raise BodyFault("the body is packed in a way that was not asked for", passing=False)
        self._zlib = zlib.decompressobj(_AUTOMATIC) if names else None
        self._room = max_bytes
        self._chunks: list[bytes] = []
        self._started = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes off the wire.

        Raises:
            BodyFault: they cannot be unpacked, or the body is larger than its cap.
        """
        if self._zlib is None:
            self._keep(data)
            return
        self._started = self._started or bool(data)
        try:
            while data and not self._zlib.eof:
                self._keep(self._zlib.decompress(data, self._room + 1))
                data = self._zlib.unconsumed_tail
        except zlib.error:
            raise BodyFault("the body's packing is damaged", passing=True) from None

    def finished(self) -> bytes:
        """Return the whole body.

        Raises:
            BodyFault: the packed body is cut off.
        """
        if self._zlib is not None and self._started and not self._zlib.eof:
            raise BodyFault("the packed body is cut off", passing=True)
        return b"".join(self._chunks)

    def _keep(self, data: bytes) -> None:
        self._room -= len(data)
        if self._room < 0:
            raise BodyFault("the body is larger than its cap", passing=False)
        if data:
            self._chunks.append(data)
