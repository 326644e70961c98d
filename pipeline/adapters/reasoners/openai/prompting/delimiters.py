"""Delimiters around fetched text in a prompt, which no page can guess, and the removal of look-alikes from the text.

The random part of a delimiter derives from a new secret for each answer and from the material's key. A page that quotes an
earlier prompt, or that guesses a delimiter, therefore cannot close its own.
"""

from __future__ import annotations

import hmac
import re

from pipeline.text.normalise import clean

_ANGLES = "<＜‹«〈《"
_LOOK_ALIKE = re.compile(rf"(?<![{_ANGLES}])[{_ANGLES}]{{2,}}+(?=\s{{0,3}}(?:end\s{{1,3}})?material)", re.IGNORECASE)


class Material(str):
    """Text that is already inside delimiters; a template prints it unchanged."""

    __slots__ = ()


class Delimiters:
    """Makes the delimiters of one answer's prompts from ``secret`` (16 random bytes or more)."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def block(self, key: str, text: str) -> Material:
        """Return ``text`` between an opening and a closing line that carry ``key`` and its random part."""
        label = f"material {key} {self.token(key)}"
        return Material(f"<<{label}>>\n{harmless(text).replace(self.token(key), '…')}\n<<end {label}>>")

    def token(self, key: str) -> str:
        """Return the random part for a key: 16 hex digits."""
        return hmac.new(self._secret, key.encode(), "sha256").hexdigest()[:16]


def harmless(text: str) -> str:
    """Return ``text`` cleaned, with the brackets of anything that looks like a delimiter replaced by ``[``."""
    return _LOOK_ALIKE.sub("[", clean(text))
