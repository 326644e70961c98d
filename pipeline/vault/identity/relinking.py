"""Changes the links of a rendered text: to another path, or into plain words.

``Links`` returns the path to link to for the path that is there, both without suffix; "" makes plain words of the link, None
leaves it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_LINK = re.compile(r"!?\[\[(?P<to>[^\[\]|#\\\n]+)(?P<place>#[^\[\]|\\\n]*)?(?:\\?\|(?P<words>[^\[\]\n]*))?\]\]")

Links = Callable[[str], str | None]


def relinked(text: str, links: Links, plain: Callable[[str], str] = str) -> str:
    """Return a text with its links changed; ``plain`` makes the words of a removed link fit for where they stand."""
    return _LINK.sub(lambda found: _link(found, links, plain), text)


def _link(found: re.Match[str], links: Links, plain: Callable[[str], str]) -> str:
    path = links(found["to"])
    if path is None:
        return found[0]
    return found[0].replace(found["to"], path, 1) if path else plain(found["words"] or "")
