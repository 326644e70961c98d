"""The sources of reports: the key of each, what is cited of it, and the formats that reference managers read.

CSL-JSON is that of the Citation Style Language 1.0.2, BibTeX has biblatex's ``@online`` and ``@misc``, RIS the fields that Zotero
and EndNote read. Each quote that a report cites goes with its source, in a field that styles do not print.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.domain.events.session_events import PageRead
from pipeline.text.normalise import digest_of, one_line
from pipeline.vault.model import Card, Reading, readings_by_url, stored_cards
from pipeline.vault.output.escaping import host_of, web_address
from pipeline.vault.output.markdown import flat

# The words of a key; a year in a date as a page gives it; what stands between the names of authors.
_WORD = re.compile(r"[a-z0-9]+")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_NAMES = re.compile(r";|\band\b|&")
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
    family = _words(_NAMES.split(author)[0].strip().split(",")[0])  # what stands before a comma, else the last word
    file = _words(url.rpartition("/")[2].rpartition(":")[2].partition(".")[0])
    who, found = (family[-1] if family else "") or _site(url) or (file[0] if file else ""), _YEAR.search(published)
    year = found[0] if found else ""
    word = next((word for word in _words(title) if word not in _FUNCTION_WORDS and len(word) > 2 and word not in who), "")
    name = f"{who}{year}{word}"
    return f"{name if name[:1].isalpha() else f's{name}'}-{digest_of(url.encode('utf-8', 'replace'))[:tail]}"


def key_of(page: PageRead) -> str:
    """Return a source's key, which derives from its first reading, that of ``page``."""
    return citekey(page.url, page.title, page.author, page.published)


def _words(text: str) -> list[str]:
    bare = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower().replace("'", "")
    return [word[:_LONGEST_PART] for word in _WORD.findall(bare)]


def _site(url: str) -> str:
    """The name in a host: ``postgresql`` of ``www.postgresql.org``, ``ons`` of ``www.ons.gov.uk``."""
    labels = host_of(url).split(".")
    if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL:
        labels = labels[:-1]
    return "".join(_words(labels[-2] if len(labels) > 1 else labels[0]))[:_LONGEST_PART]


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
    counts = Counter(source.key for source in found)  # sources whose keys happen to be equal get longer ones
    told = (replace(one, key=_longer(one)) if counts[one.key] > 1 else one for one in found)
    return tuple(sorted(told, key=lambda source: (source.number, source.key)))


def _longer(source: CitedSource) -> str:
    return f"{source.key.rpartition('-')[0]}-{citekey(source.url, tail=_LONG_TAIL).rpartition('-')[2]}"


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


FORMATS: Mapping[str, str] = {"csl-json": "json", "bibtex": "bib", "ris": "ris"}
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_LONGEST = 600  # of a quote
_TEX_NAMES = {"\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}", "~": r"\textasciitilde{}"}
_TEX = str.maketrans({**_TEX_NAMES, "^": r"\textasciicircum{}", **{sign: f"\\{sign}" for sign in "%$&#_"}})


def references(sources: Iterable[CitedSource], form: str) -> str:
    """Return the sources in one of ``FORMATS``, a newline at its end."""
    if form == "csl-json":
        return json.dumps(list(map(_csl_item, sources)), ensure_ascii=False, indent=2) + "\n"
    return "\n".join(map(_bibtex if form == "bibtex" else _ris, sources))


def _csl_item(source: CitedSource) -> dict[str, Any]:
    def name(whole: str) -> dict[str, str]:
        family, comma, given = whole.partition(",")
        if not comma:
            given, _, family = whole.rpartition(" ")
        return {"family": family.strip(), "given": given.strip()} if given.strip() else {"literal": whole}

    def date(text: str) -> dict[str, list[list[int]]]:
        found = _DATE.match(text)
        return {"date-parts": [[int(part) for part in found.groups() if part]]} if found else {}

    host = host_of(source.url)
    item = {
        "id": source.key,
        "type": "webpage" if host else "document",
        "title": source.title,
        "author": [name(one) for one in _authors(source.author)],
        "issued": date(source.published),
        "accessed": date(source.accessed),
        "container-title": host,
        "URL": web_address(source.url),
        "archive_location": "" if host else source.url.removeprefix("corpus:"),
        "annote": "\n".join(_quotes(source)),
    }
    return {name: value for name, value in item.items() if value}


def _bibtex(source: CitedSource) -> str:
    host, published = host_of(source.url), _DATE.match(source.published)
    fields = {
        "title": f"{{{source.title.translate(_TEX)}}}",
        "author": " and ".join(name.translate(_TEX) for name in _authors(source.author)),
        "date": published[0] if published else "",
        "year": published[1] if published else "",
        "organization": host.translate(_TEX),
        "url": web_address(source.url),
        "urldate": source.accessed[:10] if host else "",
        "howpublished": "" if host else source.url.removeprefix("corpus:").translate(_TEX),
        "annotation": " ".join(_quotes(source)).translate(_TEX),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{'online' if host else 'misc'}{{{source.key},", *lines, "}", ""])


def _ris(source: CitedSource) -> str:
    host, published = host_of(source.url), _DATE.match(source.published)
    fields = [("TY", "ELEC" if host else "GEN"), ("ID", source.key), ("TI", source.title)]
    fields += [("AU", name) for name in _authors(source.author)]
    fields += [("PY", published[1]), ("DA", "/".join(part or "" for part in published.groups()) + "/")] if published else []
    if host:
        fields += [("T2", host), ("UR", web_address(source.url)), ("Y2", source.accessed[:10].replace("-", "/") + "/")]
    else:
        fields.append(("AV", source.url.removeprefix("corpus:")))
    fields += [*(("N1", quote) for quote in _quotes(source)), ("ER", "")]
    return "".join(f"{tag}  - {value}\n" for tag, value in fields)


def _authors(author: str) -> list[str]:
    """The names in an author line; one name may have a comma, several are parted by ``;``, ``&`` or ``and``."""
    return [name for part in _NAMES.split(author) if (name := part.strip(" ,"))]


def _quotes(source: CitedSource) -> Iterator[str]:
    """Each quote with the heading above it and its page in a PDF."""
    for quote in source.quotes:
        place = ", ".join(filter(None, (quote.heading, f"p. {quote.sheet}" if quote.sheet else "")))
        yield f"“{one_line(quote.text, _LONGEST)}”{f' ({place})' if place else ''}"
