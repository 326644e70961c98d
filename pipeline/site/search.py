"""The search index: the notes that contain each word, in small files that a page loads by the first letters of a word.

``meta.js`` holds the number of notes and the words that are not indexed, ``w-<letters>.js`` the words that begin with these
letters, each with the notes that hold it, ``v-<length>.js`` all words of that length, where the page finds what a misspelt word
was to be, ``f-<facet>.js`` the notes of each kind, day or tag, and ``n-<number>.js`` what is shown of the notes, and their texts,
compressed. They are scripts, not JSON, because a page opened from a folder may load scripts beside it, but nothing else. Each
file's content depends on the vault alone, not on the order of builds: a note's number derives from its path.

``assets/search-words.js`` cuts what a reader types into words by the same rules; a change here is a change there.
"""

from __future__ import annotations

import json
import re
import unicodedata
import zlib
from base64 import b64decode, b64encode
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pipeline.site.note_to_html import Record
from pipeline.site.paths import encoded, page_of
from pipeline.text.cleaning import digest_of, grouped

WEIGHTS = "0123456789abcdefghijklmnopqrstuvwxyz"
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Han, kana; Hangul too, whose words take many endings.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17e0-\u17e9"
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_SIGNS = "\u0900-\u0963\u0966-\u0dff"  # the vowel signs of India's scripts are no letters, but part of a word
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:[{_SIGNS}]|[^\W_{_UNSPACED}])+")
_PLAIN_WORD = re.compile(r"[^\W_]+")  # the same for ASCII
_IN_PAIRS = re.compile(rf"[{_UNSPACED}]")
# Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel signs and the lengthening stroke of Arabic.
_COMBINING = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_SAME_LETTER = str.maketrans("\u0629\u0649", "\u0647\u064a")  # ta marbuta and alef maksura are often typed as ha and ya
_PARTING = "“”‘’„«»–—…·•→×∴\u00a0"  # the commonest signs beyond ASCII that are part of no word
_LONGEST = 24
_SHORTEST_SPELT = 4
STOP = frozenset(
    _PLAIN_WORD.findall(
        "a an and are as at be been but by can did do does for from had has have how if in into is it its more not of on or than "
        "that the their then there these they this to was were what when where which who why will with would"
    )
)
_DIGITS = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"  # in the order of their codes
_ID = 5  # 30 bits: two of 8,000 notes share a number once in thirty vaults; then both are found
_STEP = _ID + 1
_FACET_WEIGHT = WEIGHTS[0]
_END = b");\n"


Entry = tuple[Record, str]  # a note, and what is searched of it, as of ``content_of``
Change = tuple[Entry | None, Entry | None]  # a note before and after; None: it is not there
Held = dict[str, Any]  # what a file of the index holds: codes by term, notes by number, or words


def content_of(title: str, text: str) -> str:
    """Return what is searched of a note; ``text`` has a line for each paragraph, heading or table cell.

    The first line has its words as ``term:w term:w``, sorted; weights are one digit to base 36. The others are its text.
    """
    counts = Counter(terms(text))
    length = 0.3 + 0.7 * counts.total() / 300
    weights = {count: WEIGHTS[1 + int(10 * count / (count + 1.2 * length))] for count in {0, *counts.values()}}
    found = {term: weights[count] for term, count in counts.items()}
    found |= {term: WEIGHTS[20 + WEIGHTS.index(found.get(term, weights[0]))] for term in terms(title)}  # a title says more
    words = " ".join([f"{term}:{weight}" for term, weight in sorted(found.items())])
    return f"{words}\n{text}"


def terms(text: str) -> list[str]:
    """Return the words of a text as they are indexed; where no spaces part words, each two neighbouring letters."""
    bare = text
    for sign in "" if text.isascii() else _PARTING:
        bare = bare.replace(sign, " ")
    if bare.isascii():
        return [word for word in _PLAIN_WORD.findall(bare.lower()) if 1 < len(word) <= _LONGEST and word not in STOP]
    # In small letters, without what readers leave out: accents, points, vowel signs.
    bare = _COMBINING.sub("", unicodedata.normalize("NFKD", text.lower()))
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFC", bare).translate(_SAME_LETTER)):
        if _IN_PAIRS.match(word):
            found += [word[place : place + 2] for place in range(max(1, len(word) - 1))]
        elif 1 < len(word) <= _LONGEST and word not in STOP:
            found.append(word)
    return found


def note_id(path: str) -> str:
    """Return the number of a note in the index: five digits to base 64, from its path."""
    number = int(digest_of(path.encode())[:15], 16)
    digits = ""
    for _ in range(_ID):
        number, digit = divmod(number, 64)
        digits = _DIGITS[digit] + digits
    return digits


def word_file(term: str) -> str:
    """Return the name of the file that holds a term: a word, or a facet such as ``kind=report``."""
    if "=" in term:
        return f"f-{term.partition('=')[0]}"
    first = term[:2]
    return f"w-{first}" if first.isascii() and len(first) == 2 else f"w-u{ord(term[0]):x}"


def note_file(number: str) -> str:
    """Return the name of the file that holds what is shown of a note: one of 256."""
    return f"n-{(_DIGITS.index(number[0]) << 2) + (_DIGITS.index(number[1]) >> 4):02x}"


def script(name: str, value: object) -> bytes:
    """Return a file of the index: a call with its name and what it holds, in ASCII; compressed where it holds texts."""
    data = json.dumps(value, separators=(",", ":"))
    if name.startswith("n-"):
        data = f'"{b64encode(zlib.compress(data.encode())).decode()}"'
    return f"researchIndex({json.dumps(name)},{data});\n".encode()


def loaded(data: bytes) -> Held:
    """Return what a file of the index holds.

    Raises:
        ValueError: it is none.
    """
    start, end = data.find(b'",') + 2, len(data) - len(_END)
    if not data.startswith(b"researchIndex(") or start < 2 or data[end:] != _END:
        raise ValueError("no file of the index")
    try:
        held = json.loads(data[start:end])
        return dict(json.loads(zlib.decompress(b64decode(held))) if isinstance(held, str) else held)
    except (zlib.error, TypeError) as error:
        raise ValueError("no file of the index") from error


def shown(entry: Entry) -> list[str]:
    """Return what the search shows of a note: address, title, kind, day, description, and the text that it shows a passage of."""
    note, content = entry
    text = content.partition("\n")[2]
    return [encoded(page_of(note.path)), note.label + note.title, note.kind, note.date, note.description, text]


def changed(changes: Iterable[Change], read: Callable[[str], Held]) -> Iterator[tuple[str, Held]]:
    """Yield each file that changes with these notes (before and after, None: not in it), with what it then holds.

    ``read`` returns what a file holds, nothing for one that is not there.

    Raises:
        ValueError: a file does not hold what it should.
    """
    moved: dict[str, tuple[list[str], list[str]]] = {}  # by term: the codes that go and that come
    notes: dict[str, list[tuple[str, list[str] | None, list[str] | None]]] = {}
    for before, after in changes:
        number = next(note_id(entry[0].path) for entry in (before, after) if entry)
        old, new = _codes(number, before), _codes(number, after)
        for which, ours, others in ((0, old, new), (1, new, old)):
            for term, code in ours.items():
                if others.get(term) != code:
                    moved.setdefault(term, ([], []))[which].append(code)
        was, now = (shown(entry) if entry else None for entry in (before, after))
        if was != now:
            notes.setdefault(note_file(number), []).append((number, was, now))
    terms_in = grouped((word_file(term), term) for term in sorted(moved))
    spelt: dict[str, tuple[set[str], set[str]]] = {}  # by length: the words that went and that came
    for file, some in terms_in.items():
        held = read(file)
        for term in some:
            known = held.pop(term, "")
            codes = [known[place : place + _STEP] for place in range(0, len(known), _STEP)]
            for code in moved[term][0]:
                codes.remove(code)
            codes += moved.pop(term)[1]
            held |= {term: "".join(sorted(codes))} if codes else {}
            is_spelt = len(term) >= _SHORTEST_SPELT and "=" not in term and not any(map(str.isdigit, term))
            if bool(known) != bool(codes) and is_spelt:  # a reader may misspell it
                spelt.setdefault(f"v-{len(term)}", (set(), set()))[bool(codes)].add(term)
        yield file, dict(sorted(held.items()))
    for file, (gone, came) in spelt.items():
        listed = {*read(file).get("words", "").split()}
        if not gone <= listed:
            raise ValueError("a word is not where it was put")
        left = sorted(listed - gone | came)
        yield file, {"words": " ".join(left)} if left else {}
    for file, of_notes in notes.items():
        shown_there = read(file)
        for number, was, now in of_notes:
            same = shown_there.setdefault(number, [])
            if was:
                same.remove(was)
            if now:
                insort(same, now)
        yield file, {number: same for number, same in sorted(shown_there.items()) if same}


def _codes(number: str, entry: Entry | None) -> dict[str, str]:
    """A note's code under each of its words and facets: its number and its weight there."""
    if entry is None:
        return {}
    note, content = entry
    codes = {term[:-2]: number + term[-1] for term in content.partition("\n")[0].split()}
    facets = (f"kind={note.kind}", *([f"day={note.date}"] if note.date else ()), *(f"tag={tag.lower()}" for tag in note.tags))
    return codes | dict.fromkeys(facets, number + _FACET_WEIGHT)  # what a reader can narrow a search by
