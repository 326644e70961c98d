"""``citekey``: the key under which a source is cited elsewhere, such as ``rogov2024autovacuum-9c1f``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from pipeline.text.normalise import digest_of
from pipeline.vault.output.escaping import host_of
from pipeline.vault.session_card import Reading

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


def key_of(readings: Sequence[Reading]) -> str:
    """Return a source's key, which derives from its first reading."""
    page = readings[0].page
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
