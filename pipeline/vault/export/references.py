"""The sources of reports: the key of each, what is cited of it, and the formats that reference managers read.

CSL-JSON is that of the Citation Style Language 1.0.2, BibTeX has biblatex's ``@online`` and ``@misc``, RIS the fields that Zotero
and EndNote read. Each quote that a report cites goes with its source, in a field that styles do not print.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.domain.values import PageDone
from pipeline.text.normalise import digest_of, one_line
from pipeline.vault.cards import Card, Reading
from pipeline.vault.model import readings_by_url, stored_cards
from pipeline.vault.output.escaping import host_of, web_address
from pipeline.vault.output.page_markdown import flat

_WORD = re.compile(r"[a-z0-9]+")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
# Never a title's telling word, in twelve languages. A key that was given out must not change: nor may this list.
_FUNCTION_WORDS = frozenset(
    """
    aan aber af al als am an and ao are as at att au auch auf aus aux av avec be bei beim bis by can ce che com come
    comment como con cuál cómo da damit dans das dass dat de del della dem den der des det di die diese dieser dieses do
    dos du durch e een ei ein eine einem einen einer eines el eller em en er es est et ett että for from för für gegen gli
    haben har hat have het hoe how hur hva hvad hvordan hän ihr ikke il im in inte is ist it ja joka kan kann kein keine
    kuin la las le les lo los mais man med met mikä mit miten mutta myös más na nach ne nel nicht niet no noch non not nur
    não o och oder of og ohne oli om on ook op or os ou ovat par para pas per perché più por pour pourquoi på qual quale
    que quel quelle qui qué se seit si sich sie sind som son sono sont su sur são tai te that the this til till to um uma
    un una und une unter vad van viele voi vom von voor vor waarom wann warum was wat welche welchem welchen welcher
    welches wem wen wenn wer werden weshalb wessen what which why wie wieso wieviel wieviele wird with wo wobei wodurch
    wofür wogegen woher wohin womit woran worauf woraus worden worin worum worüber wovon wozu y you zijn zu zum zur
    zwischen är è é über а в где для же и из или к как на не но он от по почему с так что это
    """.split()  # noqa: SIM905 - read as text
)
_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gov", "net", "org"})  # of a country: gov.uk, co.jp
_LONGEST_PART = 20
_TAIL = 4  # hex digits of the address: of two hundred sources with the same name two share them once in three


def citekey(url: str, title: str = "", author: str = "", published: str = "", *, tail: int = _TAIL) -> str:
    """Return the key of a source: who or where, the year, a word of its title, and the end of its address's digest.

    It depends on these values alone, so it stays the same whatever else is cited; give those of the source's first reading. Only
    ``[a-z0-9-]`` occur, and it begins with a letter: BibTeX, pandoc and Obsidian all take it.
    """
    who = _family(author) or _site(url) or _stem(url)
    year = year_of(published)
    word = next((word for word in _words(title) if word not in _FUNCTION_WORDS and len(word) > 2 and word not in who), "")
    name = f"{who}{year}{word}"
    return f"{name if name[:1].isalpha() else f's{name}'}-{digest_of(url.encode('utf-8', 'replace'))[:tail]}"


def key_of(page: PageDone) -> str:
    """Return a source's key, which derives from its first reading, that of ``page``."""
    return citekey(page.url, page.title, page.author, page.published)


def year_of(published: str) -> str:
    """Return the year in a date, "" if there is none."""
    found = _YEAR.search(published)
    return found[0] if found else ""


def _words(text: str) -> list[str]:
    bare = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower().replace("'", "")
    return [word[:_LONGEST_PART] for word in _WORD.findall(bare)]


def _family(author: str) -> str:
    """The family name of the first author: what stands before a comma, else the last word before an ``and`` or ``;``."""
    first = re.split(r";|\band\b|&", author)[0].strip()
    named = _words(first.split(",")[0])
    return named[-1] if named else ""


def _site(url: str) -> str:
    """The name in a host: ``postgresql`` of ``www.postgresql.org``, ``ons`` of ``www.ons.gov.uk``."""
    labels = host_of(url).split(".")
    if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL:
        labels = labels[:-1]
    return "".join(_words(labels[-2] if len(labels) > 1 else labels[0]))[:_LONGEST_PART]


def _stem(url: str) -> str:
    """The first word of a document's file name."""
    words = _words(url.rpartition("/")[2].rpartition(":")[2].partition(".")[0])
    return words[0] if words else ""


_LONG_TAIL = 12


@dataclass(frozen=True, slots=True)
class CitedQuote:
    """A quote that a report cites: the fact's id, its words, the heading above it, or "", and the page of a PDF, or 0."""

    fact: str
    text: str
    heading: str
    sheet: int = 0


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source of reports. ``number`` is its number in the session's report, 0 for the sources of all reports.

    ``published`` is as the page says it, ``accessed`` when it was last read for a report (RFC 3339). ``url`` is an address, or
    ``corpus:`` and the path of one of the user's documents.
    """

    key: str
    url: str
    title: str
    author: str
    published: str
    accessed: str
    media_type: str
    number: int
    quotes: tuple[CitedQuote, ...]


def cited_sources(state_dir: Path, session: str = "") -> tuple[CitedSource, ...]:
    """Return the sources that a session's report cites, in their order there; without ``session`` those of all reports, by key.

    ``state_dir`` holds the vault's catalogue; the vault must be up to date.
    """
    found = [source for readings in readings_by_url(stored_cards(state_dir)).values() if (source := _cited(readings, session))]
    return tuple(sorted(_told_apart(found), key=lambda source: (source.number, source.key)))


def _cited(readings: Sequence[tuple[Card, Reading]], session: str) -> CitedSource | None:
    """A source from all its readings, in order of time; None if no report in question cites it."""
    citing = [reading for card, reading in readings if reading.number and session in ("", card.id)]
    if not citing:
        return None
    first, page = readings[0][1].page, citing[-1].page
    quotes = {quote.fact: quote for reading in citing for quote in reading.quotes if quote.cited}
    return CitedSource(
        key_of(first),
        page.url,
        one_line(page.title, 500) or one_line(first.title, 500) or page.url,
        one_line(page.author, 500),
        one_line(page.published, 40),
        page.at,
        page.media_type,
        citing[-1].number if session else 0,
        tuple(CitedQuote(quote.fact, flat(quote.text), one_line(quote.heading, 200), quote.sheet) for quote in quotes.values()),
    )


def _told_apart(sources: list[CitedSource]) -> list[CitedSource]:
    """Sources whose keys happen to be equal get longer ones."""
    shared = {key for key, count in Counter(source.key for source in sources).items() if count > 1}
    return [replace(source, key=_longer(source)) if source.key in shared else source for source in sources]


def _longer(source: CitedSource) -> str:
    tail = citekey(source.url, tail=_LONG_TAIL).rpartition("-")[2]
    return f"{source.key.rpartition('-')[0]}-{tail}"


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
