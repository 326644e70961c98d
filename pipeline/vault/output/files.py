"""``GeneratedFile``: a file of the vault, rendered and ready to be written.

Bases, pictures and the style sheet carry the signature of what was generated in their last line, as notes do (``user_text``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.text.normalise import digest_of
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.note import Plain
from pipeline.vault.output.user_text import NOTHING, UserText, compose, each, letters_of

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
    """A file without a person's text, and its owner. ``path`` has its suffix; ``yields`` as in ``Plain``.

    ``properties`` and ``id`` are a note's, None and "" for another file. ``doubles`` are other places of a note, with a person's
    words that belong to it; ``former`` are notes that are no longer made: this one takes over the texts of their blocks.
    """

    owner: str
    kind: str
    path: str
    body: str
    properties: Mapping[str, Property] | None = None
    id: str = ""
    yields: bool = False
    doubles: tuple[str, ...] = ()
    former: tuple[str, ...] = ()

    def data(self, additions: UserText = NOTHING) -> bytes:
        """The bytes of the file, of a note with a person's additions."""
        return as_bytes(self.body if self.properties is None else compose(self.properties, self.body, additions))


def of_plain(owner: str, kind: str, plain: Plain) -> GeneratedFile:
    """Return a file that is not a note, with its signature."""
    text, form = plain.text, _FORMS.get(plain.path.rpartition(".")[2])
    signature = f"{form[0].decode()}{_letters(as_bytes(text))}{form[1].decode()}" if form else ""
    return GeneratedFile(owner, kind, plain.path, text + signature, yields=plain.yields)


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


def are_untouched(path: str, sides: Sequence[bytes], fresh: bytes) -> bool:
    """Tell whether a file that is no note is as it was generated; of a conflict, whether each line of both sides was.

    A line of ``fresh``, which takes its place, counts as generated.
    """
    before, after = _FORMS.get(path.rpartition(".")[2], (b"", b""))
    pattern = re.escape(before) + rb"([A-Za-z0-9_-]*)" + re.escape(after) + rb"\Z"
    signed = [(side[: mark.start()], mark[1].decode()) for side in sides if after and (mark := re.search(pattern, side))]
    if len(signed) < 2 or len(signed) < len(sides):
        return len(signed) == len(sides) and all(letters == _letters(text) for text, letters in signed)
    known = each("".join(letters for _, letters in signed) + _letters(fresh))
    return all(each(_letters(text)) <= known for text, _ in signed)


def _letters(data: bytes) -> str:
    """A comma that ends a line does not count: so it was in signatures from the beginning."""
    return letters_of(filter(None, (line.rstrip().removesuffix(b",") for line in data.split(b"\n"))))
