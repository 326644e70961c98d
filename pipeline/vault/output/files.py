"""``GeneratedFile``: a file of the vault, rendered and ready to be written.

Bases, pictures and the style sheet carry the signature of what was generated in their last line, as notes do (``user_text``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pipeline.text.normalise import digest_of
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.note import ID, Note, Plain, Rendered
from pipeline.vault.output.user_text import NOTHING, UserText, compose, each, letters_of, taken_off

# A part of an owner's name that may stand in a note's id as it is.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,149}")
# By suffix: what stands before and after the signature of a file that is no note.
_FORMS: Mapping[str, tuple[bytes, bytes]] = {
    "css": (b"/* generated: ", b" */\n"),
    "base": (b"# generated: ", b"\n"),
    "svg": (b"<?generated ", b"?>\n"),
}


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """The bytes of a file without a person's text, and its owner.

    ``path`` has its suffix. ``properties`` and ``id`` are a note's, None and "" for another file; ``yields`` as in ``Plain``.
    """

    owner: str
    kind: str
    path: str
    data: bytes
    properties: Mapping[str, Property] | None = None
    yields: bool = False
    id: str = ""
    digest: str = field(init=False, default="")  # of ``data``

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest_of(self.data))

    @property
    def note(self) -> Rendered:
        """The file parsed back into a rendered note."""
        body = as_text(self.data.partition(b"\n---\n\n")[2])
        return Rendered(self.path.removesuffix(".md"), self.properties or {}, taken_off(body)[0].removesuffix("\n"))


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file with the path where it is to be; ``doubles`` are other places, with a person's words that belong to it.

    ``former`` are notes that are no longer made: this one takes over what a person wrote in their blocks.
    """

    file: GeneratedFile
    doubles: tuple[str, ...] = ()
    former: tuple[str, ...] = ()


def of_note(owner: str, note: Note, body: str) -> GeneratedFile:
    """Return a note with its rendered ``body`` as a file; the note gets its id."""
    name = note_id(owner, note.kind, note.key)
    properties, path = {**note.properties, ID: name}, f"{note.path}.md"
    data = as_bytes(compose(Rendered(path, properties, body)))
    return GeneratedFile(owner, note.kind, path, data, properties, id=name)


def of_plain(owner: str, kind: str, plain: Plain) -> GeneratedFile:
    """Return a file that is not a note, with its signature."""
    data, form = plain.text.encode("utf-8", "replace"), _FORMS.get(plain.path.rpartition(".")[2])
    data = data + form[0] + _letters(data).encode() + form[1] if form else data
    return GeneratedFile(owner, kind, plain.path, data, None, plain.yields)


def composed(file: GeneratedFile, body: str, additions: UserText = NOTHING) -> GeneratedFile:
    """Return a note with this generated body and a person's additions."""
    return replace(file, data=as_bytes(compose(Rendered(file.path, file.properties or {}, body), additions)))


def note_id(owner: str, kind: str, key: str = "") -> str:
    """Return the id of a note of an owner: ``report:<session>``, ``worker:<session>/<worker>``, ``source:<digest>``, ``home``."""
    parts = filter(None, (owner.partition(":")[2], key))
    name = "/".join(part if _PLAIN.fullmatch(part) else digest_of(as_bytes(part))[:16] for part in parts)
    return f"{kind}:{name}" if name else kind


def as_text(data: bytes) -> str:
    """Return a file's text; bytes that are no UTF-8 are kept."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    """Return the bytes of ``as_text``."""
    return text.encode("utf-8", "surrogateescape")


def are_untouched(path: str, sides: Iterable[bytes], generated: Callable[[], Iterable[bytes]] = tuple) -> bool:
    """Tell whether a file that is no note is as it was generated; of a conflict, whether each line of both sides was.

    Git may have put in lines of a third version, or of another file that was removed. So a line also counts as generated if it
    is in one of the files ``generated``.
    """
    before, after = _FORMS.get(path.rpartition(".")[2], (b"", b""))
    pattern = re.escape(before) + rb"([A-Za-z0-9_-]*)" + re.escape(after) + rb"\Z"
    found = [(side, re.search(pattern, side)) for side in sides]
    if not after or not all(mark for _side, mark in found):
        return False
    if len(found) == 1:
        return all(mark and mark[1].decode() == _letters(side[: mark.start()]) for side, mark in found)
    known = {letters for _side, mark in found if mark for letters in each(mark[1].decode())}
    lines = {line.rstrip() for side, mark in found if mark for line in side[: mark.start()].split(b"\n")}
    unknown = {line for line in lines if not each(_letters(line)) <= known}
    return not unknown or unknown <= {line.rstrip() for data in generated() for line in data.split(b"\n")}


def _letters(data: bytes) -> str:
    """A comma that ends a line does not count: so it was in signatures from the beginning."""
    return letters_of(filter(None, (line.rstrip().removesuffix(b",") for line in data.split(b"\n"))))
