"""Delimiters around fetched text in a prompt, which no page can guess, and the removal of look-alikes from the text.

The code in a delimiter derives from a secret, from the material's key and from the material itself. So the same material has the
same delimiters in all prompts of a session, and a cache can serve it. The secret is never stored. The log's exchanges show codes,
but a page cannot contain its own code: with the code in it, it would be other material and have another code.
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
    """Makes the delimiters of one session's prompts from ``secret`` (16 random bytes or more)."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def block(self, key: str, text: str) -> Material:
        """Return ``text`` between an opening and a closing line that carry ``key`` and a code."""
        safe = harmless(text)
        label = f"material {key} {self.code(key, safe)}"
        return Material(f"<<{label}>>\n{safe}\n<<end {label}>>")

    def code(self, key: str, text: str) -> str:
        """Return the code for a key and its material: 16 hex digits."""
        return hmac.new(self._secret, f"{key}\n{text}".encode("utf-8", "replace"), "sha256").hexdigest()[:16]


def harmless(text: str) -> str:
    """Return ``text`` cleaned, with the brackets of anything that looks like a delimiter replaced by ``[``."""
    return _LOOK_ALIKE.sub("[", clean(text))
