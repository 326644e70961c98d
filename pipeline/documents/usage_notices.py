"""What a page says about its use by programs: ``noai`` and ``noimageai``, and the TDM reservation protocol of the W3C group.

docs/models-and-web.md says what is done about it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_HEAD = 100_000
_META = re.compile(r"<meta\b([^<>]{0,1000})>", re.IGNORECASE)
_NAME = re.compile(r"""\bname\s{0,5}=\s{0,5}["']?([\w-]{1,40})""", re.IGNORECASE)
_CONTENT = re.compile(r"""\bcontent\s{0,5}=\s{0,5}(?:"([^"]{0,300})"|'([^']{0,300})'|([^\s"'>]{1,300}))""", re.IGNORECASE)
_NO_AI = re.compile(r"\bno(?:image)?ai\b", re.IGNORECASE)


def notices_in_html(source: str) -> tuple[str, ...]:
    """Return the notices in the ``meta`` elements at the beginning of the HTML ``source``."""
    found: dict[str, None] = {}
    for meta in _META.finditer(source[:_HEAD]):
        name, content = _NAME.search(meta[1]), _CONTENT.search(meta[1])
        if name and content:
            value = content[1] or content[2] or content[3] or ""
            found |= dict.fromkeys(_notices(name[1].lower(), value))
    return tuple(found)


def notices_in_headers(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the notices in a reply's headers, whose names are in lower case."""
    return (
        *_notices("robots", headers.get("x-robots-tag", "")),
        *_notices("tdm-reservation", headers.get("tdm-reservation", "")),
    )


def _notices(name: str, value: str) -> tuple[str, ...]:
    if name == "tdm-reservation":
        return ("tdm-reservation",) if value.strip().startswith("1") else ()
    return tuple(dict.fromkeys(sign.lower() for sign in _NO_AI.findall(value))) if name in ("robots", "night-research") else ()
