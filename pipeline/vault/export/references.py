"""The sources of reports in the formats that reference managers read: CSL-JSON, BibTeX and RIS.

CSL-JSON is that of the Citation Style Language 1.0.2, BibTeX has biblatex's ``@online`` and ``@misc``, RIS the fields that Zotero
and EndNote read. Each quote that a report cites goes with its source, in a field that styles do not print.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pipeline.text.normalise import one_line
from pipeline.vault.citations.cited_sources import CitedQuote, CitedSource
from pipeline.vault.output.escaping import host_of, web_address

FORMATS: Mapping[str, str] = {"csl-json": "json", "bibtex": "bib", "ris": "ris"}
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_LONGEST = 600  # of a quote
_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\textbraceleft{}",
        "}": r"\textbraceright{}",
        "%": r"\%",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)


def references(sources: Iterable[CitedSource], form: str) -> str:
    """Return the sources in one of ``FORMATS``, a newline at its end."""
    return _WRITERS[form](sources)


def _csl_json(sources: Iterable[CitedSource]) -> str:
    return json.dumps([_present(_csl_item(source)) for source in sources], ensure_ascii=False, indent=2) + "\n"


def _csl_item(source: CitedSource) -> dict[str, Any]:
    return {
        "id": source.key,
        "type": "webpage" if host_of(source.url) else "document",
        "title": source.title,
        "author": [_csl_name(name) for name in _authors(source.author)],
        "issued": _csl_date(source.published),
        "accessed": _csl_date(source.accessed),
        "container-title": host_of(source.url),
        "URL": web_address(source.url),
        "archive_location": "" if host_of(source.url) else _document(source.url),
        "annote": "\n".join(_quotes(source)),
    }


def _csl_name(name: str) -> dict[str, str]:
    family, comma, given = name.partition(",")
    if not comma:
        given, _, family = name.rpartition(" ")
    return {"family": family.strip(), "given": given.strip()} if given.strip() else {"literal": name}


def _csl_date(text: str) -> dict[str, list[list[int]]]:
    found = _DATE.match(text)
    return {"date-parts": [[int(part) for part in found.groups() if part]]} if found else {}


def _bibtex(sources: Iterable[CitedSource]) -> str:
    return "\n".join(map(_bibtex_entry, sources))


def _bibtex_entry(source: CitedSource) -> str:
    is_web = bool(host_of(source.url))
    published = _DATE.match(source.published)
    fields = {
        "title": f"{{{_tex(source.title)}}}",
        "author": " and ".join(map(_tex, _authors(source.author))),
        "date": published[0] if published else "",
        "year": published[1] if published else "",
        "organization": _tex(host_of(source.url)),
        "url": web_address(source.url),
        "urldate": source.accessed[:10] if is_web else "",
        "howpublished": "" if is_web else _tex(_document(source.url)),
        "annotation": _tex(" ".join(_quotes(source))),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{'online' if is_web else 'misc'}{{{source.key},", *lines, "}", ""])


def _tex(text: str) -> str:
    return text.translate(_TEX)


def _ris(sources: Iterable[CitedSource]) -> str:
    return "\n".join("".join(f"{tag}  - {value}\n" for tag, value in _ris_fields(source)) for source in sources)


def _ris_fields(source: CitedSource) -> Iterator[tuple[str, str]]:
    published, is_web = _DATE.match(source.published), bool(host_of(source.url))
    yield "TY", "ELEC" if is_web else "GEN"
    yield "ID", source.key
    yield "TI", source.title
    yield from (("AU", name) for name in _authors(source.author))
    if published:
        yield "PY", published[1]
        yield "DA", "/".join(part or "" for part in published.groups()) + "/"
    if is_web:
        yield "T2", host_of(source.url)
        yield "UR", web_address(source.url)
        yield "Y2", source.accessed[:10].replace("-", "/") + "/"
    else:
        yield "AV", _document(source.url)
    yield from (("N1", quote) for quote in _quotes(source))
    yield "ER", ""


_WRITERS: Mapping[str, Callable[[Iterable[CitedSource]], str]] = {"csl-json": _csl_json, "bibtex": _bibtex, "ris": _ris}


def _authors(author: str) -> list[str]:
    """The names in an author line; one name may have a comma, several are parted by ``;`` or ``and``."""
    return [name for part in re.split(r";|\band\b", author) if (name := part.strip(" ,"))]


def _document(url: str) -> str:
    return url.removeprefix("corpus:")


def _quotes(source: CitedSource) -> list[str]:
    """Each quote with the heading above it and its page in a PDF."""
    return [f"“{one_line(quote.text, _LONGEST)}”{_place_of(quote)}" for quote in source.quotes]


def _place_of(quote: CitedQuote) -> str:
    place = ", ".join(filter(None, (quote.heading, f"p. {quote.sheet}" if quote.sheet else "")))
    return f" ({place})" if place else ""


def _present(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if value}
