"""The search index: which words stand in which notes, in small files that a page loads by the first letters of a word.

``search/meta.js`` holds the number of notes and the words that are not indexed; ``search/w-<letters>.js`` the words that begin
with these letters, each with the notes that hold it; ``search/n-<number>.js`` what is shown of the notes. They are scripts, not
JSON, because a page opened from a folder may load scripts beside it, but nothing else. Each file's content depends on the vault
alone, not on the order of builds: a note's number derives from its path.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pipeline.site.notes import Face
from pipeline.site.paths import encoded, page_of
from pipeline.text import digest_of

FOLDER = "search"
_WORD = re.compile(r"[^\W_]+")
_COMBINING = re.compile(r"[\u0300-\u036f]")
_LONGEST = 24
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_WEIGHTS = _DIGITS + "wxyz"
_ID = 7
_STEP = _ID + 1
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
    """Return the file that holds a term."""
    first = term[:2]
    letters = first if first.isascii() and len(first) == 2 else f"u{ord(term[0]):x}"
    return f"{FOLDER}/w-{letters}.js"


def note_file(number: str) -> str:
    """Return the file that holds what is shown of a note."""
    return f"{FOLDER}/n-{int(number[:2], 32) >> 2:02x}.js"


def script(name: str, value: object) -> bytes:
    """Return a file of the index: a call with its name and what it holds, in ASCII."""
    return f"researchIndex({json.dumps(name)},{json.dumps(value, separators=(',', ':'))});\n".encode()


def loaded(data: bytes) -> dict[str, Any]:
    """Return what a file of the index holds.

    Raises:
        ValueError: it is none.
    """
    found = re.fullmatch(rb"researchIndex\(\"[^\"]*\",(\{.*\})\);\n", data, re.DOTALL)
    if not found:
        raise ValueError("no file of the index")
    held: dict[str, Any] = json.loads(found[1])
    return held


def shown(face: Face) -> list[str]:
    """Return what the search shows of a note: address, title, kind, day, description."""
    return [encoded(page_of(face.path)), face.title, face.kind, face.date, face.description]


def note_files(faces: Iterable[Face]) -> dict[str, bytes]:
    """Return the files that hold these notes; notes of the same number stand side by side."""
    held: dict[str, dict[str, list[list[str]]]] = {}
    for face in sorted(faces, key=lambda face: face.path):
        number = note_id(face.path)
        held.setdefault(note_file(number), {}).setdefault(number, []).append(shown(face))
    return {
        file: script(_name(file), {number: sorted(same) for number, same in sorted(notes.items())})
        for file, notes in held.items()
    }


def meta_file(notes: int) -> dict[str, bytes]:
    """Return the file that says how many notes there are and which words are not indexed."""
    return {f"{FOLDER}/meta.js": script("meta", {"notes": notes, "stop": sorted(STOP)})}


def word_files(terms: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files that hold the words of all notes; ``terms`` maps a note's path to what ``terms_of`` returned."""
    held: dict[str, list[str]] = {}
    for number, path in sorted((note_id(path), path) for path in terms):
        codes = {weight: number + weight for weight in _WEIGHTS}
        for entry in terms[path].split():
            held.setdefault(entry[:-2], []).append(codes[entry[-1]])
    files: dict[str, list[str]] = {}
    for term in sorted(held):
        files.setdefault(word_file(term), []).append(term)
    for file, words in files.items():
        yield file, script(_name(file), {term: "".join(held[term]) for term in words})


def changed(
    terms: Mapping[str, tuple[str, str]], face_of: Callable[[str], Face | None], read: Callable[[str], bytes]
) -> Iterator[tuple[str, bytes | None]]:
    """Yield each file of the index that changes with these notes (path → terms before and after), None for one that is empty now.

    ``face_of`` knows the notes as they are now; ``read`` returns a file of the index, b"" if there is none.

    Raises:
        ValueError: ``read`` returned what is no file of the index.
    """
    by_file: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for path, (old, new) in terms.items():
        for file, weights in _differences(old, new).items():
            by_file.setdefault(file, []).append((note_id(path), weights))
    for file, changes in sorted(by_file.items()):
        yield file, _with_words(file, read(file), changes)
    for file in sorted({note_file(note_id(path)) for path in terms}):
        yield file, _with_notes(file, read(file), {path: face_of(path) for path in terms if note_file(note_id(path)) == file})


def _differences(old: str, new: str) -> dict[str, dict[str, str]]:
    """By file, each term whose weight changed, with the new one ("" for: no longer there)."""
    before, after = ({entry[:-2]: entry[-1] for entry in terms.split()} for terms in (old, new))
    found: dict[str, dict[str, str]] = {}
    for term in before.keys() | after.keys():
        if before.get(term) != after.get(term):
            found.setdefault(word_file(term), {})[term] = after.get(term, "")
    return found


def _with_words(file: str, data: bytes, changes: Iterable[tuple[str, Mapping[str, str]]]) -> bytes | None:
    held = loaded(data) if data else {}
    for number, weights in changes:
        for term, weight in weights.items():
            codes = [code for code in _codes(held.get(term, "")) if not code.startswith(number)]
            held[term] = "".join(sorted([*codes, number + weight] if weight else codes))
    left = {term: codes for term, codes in sorted(held.items()) if codes}
    return script(_name(file), left) if left else None


def _codes(text: str) -> list[str]:
    return [text[place : place + _STEP] for place in range(0, len(text), _STEP)]


def _with_notes(file: str, data: bytes, faces: Mapping[str, Face | None]) -> bytes | None:
    held = loaded(data) if data else {}
    for path, face in faces.items():
        number, address = note_id(path), encoded(page_of(path))
        notes = [note for note in held.get(number, []) if note[0] != address] + ([shown(face)] if face else [])
        held[number] = sorted(notes)
    left = {number: notes for number, notes in sorted(held.items()) if notes}
    return script(_name(file), left) if left else None


def _name(file: str) -> str:
    return file.removeprefix(f"{FOLDER}/").removesuffix(".js")
