"""The search index: the notes that contain each word, in small files that a page loads by the first letters of a word.

``meta.js`` holds the number of notes, the segments, and the words that are not indexed. Each segment has ``w-<letters>.js`` (the
words that begin with these letters, each with the notes that hold it), ``v-<length>.js`` (all words of that length, where the
page finds what a misspelt word was to be), ``f-<facet>.js`` (the notes of each kind, day or tag), and ``n-<number>.js`` (what is
shown of the notes, and their texts, compressed). They are scripts, not JSON, because a page opened from a folder may load scripts
beside it, but nothing else. Each file's content depends on the vault alone, not on the order of builds: a note's number derives
from its path.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pipeline.site.note_record import Face
from pipeline.site.paths import encoded, page_of
from pipeline.site.search_index.terms import STOP, WEIGHTS, Content, facets, is_spelt
from pipeline.text.normalise import digest_of

Entry = tuple[Face, Content]  # a note, and what is searched of it
Change = tuple[Entry | None, Entry | None]  # a note before and after; None: it is not there
Held = dict[str, Any]  # what a file of the index holds: codes by term, notes by number, or words
Words = tuple[set[str], set[str]]  # words that went and came
FORM = 2  # of the files; the page's script knows it
_DIGITS = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"  # in the order of their codes
_ID = 5  # 30 bits: two of a segment's 8,000 notes share a number once in thirty vaults; then both are found
_STEP = _ID + 1
_FACET_WEIGHT = WEIGHTS[0]
_END = b");\n"


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


def spelling_file(word: str) -> str:
    """Return the name of the file that lists a word among those of its length."""
    return f"v-{len(word)}"


def script(name: str, value: object) -> bytes:
    """Return a file of the index: a call with its name and what it holds, in ASCII; compressed where it holds texts."""
    data = json.dumps(value, separators=(",", ":"))
    if name.rpartition("/")[2].startswith("n-"):
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


def meta(notes: int, segments: Iterable[str]) -> dict[str, object]:
    """Return what says how many notes there are, where each segment's files stand, and which words are not indexed."""
    return {"form": FORM, "notes": notes, "segments": list(segments), "stop": sorted(STOP)}


def shown(entry: Entry) -> list[str]:
    """Return what the search shows of a note: address, title, kind, day, description, and the text that it shows a passage of."""
    face, content = entry
    return [encoded(page_of(face.path)), face.label + face.title, face.kind, face.date, face.description, content.text]


def whole(entries: Iterable[Entry]) -> Iterator[tuple[str, Held]]:
    """Yield the name of each file of a segment, with what it holds of these notes."""
    codes_of: dict[str, list[str]] = {}
    notes: dict[str, dict[str, list[list[str]]]] = {}
    for number, entry in sorted((note_id(entry[0].path), entry) for entry in entries):
        for term, code in _codes(number, entry).items():
            codes_of.setdefault(term, []).append(code)
        notes.setdefault(note_file(number), {}).setdefault(number, []).append(shown(entry))
    files: dict[str, list[str]] = {}
    for term in sorted(codes_of):
        files.setdefault(word_file(term), []).append(term)
    for file, held in _spellings((set(), set(codes_of)), lambda _file: {}):
        yield file, held
    for file, terms_in_it in files.items():
        yield file, {term: "".join(sorted(codes_of.pop(term))) for term in terms_in_it}
    for file, held in notes.items():
        yield file, {number: sorted(same) for number, same in held.items()}


def changed(changes: Iterable[Change], read: Callable[[str], Held]) -> Iterator[tuple[str, Held]]:
    """Yield each file of a segment that changes with these notes (before and after, None: not in it), with what it then holds.

    ``read`` returns what a file holds, nothing for one that is not there.

    Raises:
        ValueError: a file does not hold what it should.
    """
    codes: dict[str, list[tuple[str, str, str]]] = {}
    notes: dict[str, list[tuple[str, list[str] | None, list[str] | None]]] = {}
    for before, after in changes:
        number = _number(before, after)
        for difference in _differences(_codes(number, before), _codes(number, after)):
            codes.setdefault(word_file(difference[0]), []).append(difference)
        old, new = (shown(entry) if entry else None for entry in (before, after))
        if old != new:
            notes.setdefault(note_file(number), []).append((number, old, new))
    words: Words = set(), set()
    for file, of_terms in codes.items():
        held = read(file)
        known = set(held)
        now = _with_codes(held, of_terms)
        words[0].update(known - now.keys())
        words[1].update(now.keys() - known)
        yield file, now
    yield from _spellings(words, read)
    for file, of_notes in notes.items():
        yield file, _with_notes(read(file), of_notes)


def _spellings(words: Words, read: Callable[[str], Held]) -> Iterator[tuple[str, Held]]:
    """Yield the files that list the words by their length, without the words that went, with those that came."""
    files: dict[str, Words] = {}
    for which, of_kind in enumerate(words):
        for word in filter(is_spelt, of_kind):
            files.setdefault(spelling_file(word), (set(), set()))[which].add(word)
    for file, (gone, new) in files.items():
        known = {*read(file).get("words", "").split()}
        if not gone <= known:
            raise ValueError("a word is not where it was put")
        left = sorted(known - gone | new)
        yield file, {"words": " ".join(left)} if left else {}


def _number(before: Entry | None, after: Entry | None) -> str:
    return next(note_id(entry[0].path) for entry in (before, after) if entry)


def _codes(number: str, entry: Entry | None) -> dict[str, str]:
    """A note's code under each of its words and facets: its number and its weight there."""
    if entry is None:
        return {}
    face, content = entry
    codes = {term[:-2]: number + term[-1] for term in content.words.split()}
    return codes | dict.fromkeys(facets(face, content.tags), number + _FACET_WEIGHT)


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each term whose code differs, with the old one and the new one ("" for none)."""
    for term in before.keys() | after.keys():
        old, new = before.get(term, ""), after.get(term, "")
        if old != new:
            yield term, old, new


def _with_codes(held: Held, changes: Iterable[tuple[str, str, str]]) -> Held:
    for term, old, new in changes:
        codes = held.get(term, "")
        if old:
            place = _place(codes, old)
            if codes[place : place + _STEP] != old:
                raise ValueError("a note is not where it was put")
            codes = codes[:place] + codes[place + _STEP :]
        place = _place(codes, new)
        held[term] = codes[:place] + new + codes[place:]
    return {term: codes for term, codes in sorted(held.items()) if codes}


def _place(codes: str, code: str) -> int:
    """Where a code stands in a text of sorted codes, or should."""
    return bisect_left(range(0, len(codes), _STEP), code, key=lambda place: codes[place : place + _STEP]) * _STEP


def _with_notes(held: Held, changes: Iterable[tuple[str, list[str] | None, list[str] | None]]) -> Held:
    for number, old, new in changes:
        notes = held.setdefault(number, [])
        if old:
            notes.remove(old)
        if new:
            insort(notes, new)
    return {number: notes for number, notes in sorted(held.items()) if notes}
