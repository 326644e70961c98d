"""The kinds of notes, the properties and tags that the program owns, and the paths of notes.

A path is derived from what never changes in a log, so a note never moves.

File names are of lower-case letters and digits of any script and ``-``, at most 80 characters and 200 bytes, start with a letter
(a night's is its date), and are unique in the whole vault, letter case aside: file systems that fold case, and links by bare
name, then never meet two of them. ``names``, as in ``ResearchStarted``, says by which rules a session's notes are named.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import unquote

from pipeline.system.files import read_text
from pipeline.text.cleaning import digest_of, name_slug, slug
from pipeline.vault.output.escaping import linked_host

if TYPE_CHECKING:  # a night with nothing to do imports nothing that is slow to import
    from pipeline.domain.events.session_events import PageRead

HOME = "Home"
MAX_STEM = 80
LATIN, NESTED = "latin", "nested"  # names of Latin letters only; names in any script, and workers in folders of their sessions
# What may stand in a block id of Obsidian, and what may not in the end of a session's id.
_BLOCK_ID, _NOT_PLAIN = re.compile(r"[A-Za-z0-9-]{1,64}"), re.compile(r"[^a-z0-9]+")


class Names:
    """Assigns each path once: a second note with the same name gets a digest of its key appended.

    The names are compared without folders and letter case.
    """

    def __init__(self) -> None:
        self._given = {HOME.casefold(), "memory", "readme"}

    def claim(self, path: str, key: str) -> str:
        """Return ``path``, or with eight hex digits of ``key``'s digest when another note has that name."""
        folder, _, stem = path.rpartition("/")
        if stem.casefold() in self._given:
            stem = f"{stem[: MAX_STEM - 9].rstrip('-')}-{digest_of(key.encode())[:8]}"
        self._given.add(stem.casefold())
        return f"{folder}/{stem}"


def report_path(query: str, session: str, at: str, names: str = NESTED) -> str:
    """Return the path of a report: the question, and the end of the session's id."""
    words = _slug(query, 64, names)
    return f"reports/{at[:4]}/{words if words[0].isalpha() else f'q-{words}'}-{tail_of(session)}"


def session_path(query: str, session: str, at: str, names: str = NESTED) -> str:
    """Return the path of a session's note."""
    return f"sessions/{at[:4]}/session-{_slug(query, 60, names)}-{tail_of(session)}"


def worker_path(query: str, session: str, at: str, perspective: str, names: str = NESTED) -> str:
    """Return the path of a worker's note: its perspective, in the folder of its session."""
    tail = tail_of(session)
    if names != NESTED:
        return f"workers/{at[:7]}/worker-{_slug(query, 28, names)}-{tail}-{_slug(perspective, 32, names)}"
    words = _slug(perspective, 48, names)
    return f"workers/{at[:4]}/{_slug(query, 60, names)}-{tail}/{words if words[0].isalpha() else f'p-{words}'}-{tail}"


def source_path(url: str, at: str, names: str = NESTED) -> str:
    """Return the path of a source: its address in words, and six hex digits that tell it from its like.

    ``names`` are those of the session that read it first, at the time ``at``.
    """
    _, _, rest = url.partition(":")
    address, shown = rest or url, unquote(rest or url)  # letters of other scripts instead of their percent codes
    if names != LATIN and not shown.isascii() and "\ufffd" not in shown:
        address = shown
    return f"sources/{at[:7]}/source-{_slug(address, 60, names)}-{digest_of(url.encode())[:6]}"


def block_id(fact_id: str) -> str:
    """Return the block id of a fact's quote; it consists of Latin letters, digits and ``-``."""
    if _BLOCK_ID.fullmatch(fact_id):
        return f"q-{fact_id}"
    return f"q-{digest_of(fact_id.encode('utf-8', 'replace'))[:16]}"


def tail_of(session: str) -> str:
    """Return the last four letters or digits of a session's id."""
    return _NOT_PLAIN.sub("", session.lower())[-4:] or digest_of(session.encode("utf-8", "replace"))[:4]


def _slug(text: str, limit: int, names: str) -> str:
    return slug(text, limit) if names == LATIN else name_slug(text, limit)


Kind = Literal["home", "night", "report", "session", "source", "topic", "worker"]
KINDS: tuple[Kind, ...] = get_args(Kind)
View = dict[str, Any]  # what a template, or a part of one, is given: values by name

ID = "id"  # the property that a note is known by, wherever a person puts it
# Lists that a person may add to: a rebuild keeps the added entries.
SHARED_LISTS = ("aliases", "tags", "cssclasses")
# Tags under these prefixes are the program's; a rebuild keeps all other tags.
OWN_TAGS = ("research/", "status/", "topic/")
# The CSS classes of each note: this one, and this one with the note's kind, e.g. "research-report".
OWN_CLASS = "research"

# What a page says of itself that is also a property of its note: fields of ``PageRead``.
OF_PAGE = ("author", "published")
# Every property that any version of the program has written, or notes with one would count as edited. All others are the user's
# and are kept. Which kind of property each is, a new vault's ``.obsidian/types.json`` says, a file that belongs to its user.
OWNED = frozenset(
    """
    title kind id status query session report night previous perspective source_url host origin superseded_by lang aliases tags
    cssclasses read_for created archived quality tokens duration_s words workers searches rounds skipped cost_usd sources facts
    quotes pages versions cited_by disputed disagreements changes open_questions questions done not_found failed sessions reports
    earlier_reports
    """.split()  # noqa: SIM905 - read as text
).union(OF_PAGE)


# A year in a date as a page gives it; what stands between the names of authors.
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
BETWEEN_NAMES = re.compile(r";|\band\b|&")
_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gov", "net", "org"})  # of a country: gov.uk, co.jp
_LONGEST_PART = 20
_TAIL = 4  # hex digits of the address: of two hundred sources with the same name two share them once in three


def citekey(page: PageRead, *, tail: int = _TAIL) -> str:
    """Return the key of a source: who or where, the year, a word of its title, and the end of its address's digest.

    It depends on ``page`` alone, so it stays the same whatever else is cited; give the source's first reading. Only
    ``[a-z0-9-]`` occur, and it begins with a letter: BibTeX, pandoc and Obsidian all take it.
    """
    family = _words(BETWEEN_NAMES.split(page.author)[0].strip().split(",")[0])  # what stands before a comma, else the last word
    file = _words(page.url.rpartition("/")[2].rpartition(":")[2].partition(".")[0])
    site = linked_host(page.url).split(".")
    if len(site) > 2 and len(site[-1]) == 2 and site[-2] in _SECOND_LEVEL:
        site.pop()
    host = "".join(_words(site[-2] if len(site) > 1 else site[0]))[:_LONGEST_PART]  # `postgresql`, of `www.postgresql.org`
    who, found = (family[-1] if family else "") or host or (file[0] if file else ""), _YEAR.search(page.published)
    year = found[0] if found else ""
    word = next((word for word in _words(page.title) if word not in _function_words() and len(word) > 2 and word not in who), "")
    name = f"{who}{year}{word}"
    return f"{name if name[:1].isalpha() else f's{name}'}-{digest_of(page.url.encode('utf-8', 'replace'))[:tail]}"


@cache
def _function_words() -> frozenset[str]:
    """Never a title's telling word, in twelve languages. A key that was given out must not change: nor may the file."""
    return frozenset(read_text(Path(__file__).with_name("function-words.txt")).split())


def _words(text: str) -> list[str]:
    _, *words = slug(f"x {text}", 100_000).split("-")  # of a text without Latin letters `slug` alone returns a digest
    return [word[:_LONGEST_PART] for word in words]
