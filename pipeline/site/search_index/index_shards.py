"""The search index: the notes that contain each word, in small files that a page loads by the first letters of a word.

``meta.js`` holds the number of notes, the segments, and the words that are not indexed; of each segment ``w-<letters>.js`` holds
the words that begin with these letters, each with the notes that hold it, and ``n-<number>.js`` what is shown of the notes. They
are scripts, not JSON, because a page opened from a folder may load scripts beside it, but nothing else. Each file's content
depends on the vault alone, not on the order of builds: a note's number derives from its path.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pipeline.site.cache.note_record import Face
from pipeline.site.paths import encoded, page_of
from pipeline.text.normalise import digest_of

Entry = tuple[Face, str]  # a note, and its search terms
Change = tuple[Entry | None, Entry | None]  # a note before and after; None: it is not there
Held = dict[str, Any]  # what a file of the index holds: codes by term, or notes by number
_WORD = re.compile(r"[^\W_]+")
_COMBINING = re.compile(r"[\u0300-\u036f]")
_LONGEST = 24
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_WEIGHTS = _DIGITS + "wxyz"
_ID = 7
_STEP = _ID + 1
_END = b");\n"
_FROM_HERE = "\u2e80"  # scripts without spaces between words begin about here
STOP = frozenset(
    _WORD.findall(
        "a an and are as at be been but by can did do does for from had has have how if in into is it its more not of on or than "
        "that the their then there these they this to was were what when where which who why will with would"
    )
)


def terms_of(title: str, text: str) -> str:
    """Return the terms of a note with their weights (one digit to base 36), as ``term:w term:w``, sorted."""
    counts = Counter(_terms(text))
    length = 0.3 + 0.7 * counts.total() / 300
    digits = {count: _WEIGHTS[1 + int(10 * count / (count + 1.2 * length))] for count in {0, *counts.values()}}
    found = {term: digits[count] for term, count in counts.items()}
    found |= {term: _WEIGHTS[20 + _WEIGHTS.index(found.get(term, digits[0]))] for term in _terms(title)}
    return " ".join([f"{term}:{digit}" for term, digit in sorted(found.items())])


def _terms(text: str) -> list[str]:
    if text.isascii():
        return [word for word in _WORD.findall(text.lower()) if word not in STOP and 1 < len(word) <= _LONGEST]
    plain = _COMBINING.sub("", unicodedata.normalize("NFKD", text))
    words = [part for word in _WORD.findall(plain.lower()) for part in _parts(word)]
    return [word for word in words if word >= _FROM_HERE or (1 < len(word) <= _LONGEST and word not in STOP)]


def _parts(word: str) -> Iterable[str]:
    """A word; where words are written without spaces between them, each two letters that stand side by side."""
    return (word[place : place + 2] for place in range(max(1, len(word) - 1))) if word >= _FROM_HERE else (word,)


def note_id(path: str) -> str:
    """Return the number of a note in the index: seven digits to base 32, from its path."""
    number = int(digest_of(path.encode())[:15], 16)
    digits = ""
    for _ in range(_ID):
        number, digit = divmod(number, 32)
        digits = _DIGITS[digit] + digits
    return digits


def word_file(term: str) -> str:
    """Return the name of the file that holds a term."""
    first = term[:2]
    return f"w-{first}" if first.isascii() and len(first) == 2 else f"w-u{ord(term[0]):x}"


def note_file(number: str) -> str:
    """Return the name of the file that holds what is shown of a note."""
    return f"n-{int(number[:2], 32) >> 2:02x}"


def script(name: str, value: object) -> bytes:
    """Return a file of the index: a call with its name and what it holds, in ASCII."""
    return f"researchIndex({json.dumps(name)},{json.dumps(value, separators=(',', ':'))});\n".encode()


def loaded(data: bytes) -> Held:
    """Return what a file of the index holds.

    Raises:
        ValueError: it is none.
    """
    start, end = data.find(b"{"), len(data) - len(_END)
    if not data.startswith(b"researchIndex(") or start < 0 or data[end:] != _END:
        raise ValueError("no file of the index")
    held: Held = json.loads(data[start:end])
    return held


def meta(notes: int, segments: Iterable[str]) -> dict[str, object]:
    """Return what says how many notes there are, where each segment's files stand, and which words are not indexed."""
    return {"notes": notes, "segments": list(segments), "stop": sorted(STOP)}


def shown(face: Face) -> list[str]:
    """Return what the search shows of a note: address, title, kind, day, description."""
    return [encoded(page_of(face.path)), face.label + face.title, face.kind, face.date, face.description]


def whole(entries: Iterable[Entry]) -> Iterator[tuple[str, Held]]:
    """Yield the name of each file of a segment, with what it holds of these notes, each given with its terms."""
    codes_of: dict[str, list[str]] = {}
    notes: dict[str, dict[str, list[list[str]]]] = {}
    for number, face, terms in sorted((note_id(face.path), face, terms) for face, terms in entries):
        codes = {weight: number + weight for weight in _WEIGHTS}
        for entry in terms.split():
            codes_of.setdefault(entry[:-2], []).append(codes[entry[-1]])
        notes.setdefault(note_file(number), {}).setdefault(number, []).append(shown(face))
    files: dict[str, list[str]] = {}
    for term in sorted(codes_of):
        files.setdefault(word_file(term), []).append(term)
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
        old, new = (shown(entry[0]) if entry else None for entry in (before, after))
        if old != new:
            notes.setdefault(note_file(number), []).append((number, old, new))
    for file, of_terms in codes.items():
        yield file, _with_codes(read(file), of_terms)
    for file, of_notes in notes.items():
        yield file, _with_notes(read(file), of_notes)


def _number(before: Entry | None, after: Entry | None) -> str:
    return next(note_id(entry[0].path) for entry in (before, after) if entry)


def _codes(number: str, entry: Entry | None) -> dict[str, str]:
    return {term[:-2]: number + term[-1] for term in entry[1].split()} if entry else {}


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
