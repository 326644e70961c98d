"""``GeneratedFile``: a file of the vault, rendered and ready to be written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pipeline.text.normalise import digest_of
from pipeline.vault.identity import plain_files
from pipeline.vault.output import merge_user_text, signature
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.merge_user_text import UserText
from pipeline.vault.output.note import ID, Note, Plain, Rendered

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,149}")


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """The bytes of a file without a person's text, and its owner.

    ``path`` has its suffix. ``properties`` and ``id`` are a note's, None and "" for another file; ``yields`` as in ``Plain``;
    ``former_ids`` are those that the note had in earlier versions of the program.
    """

    owner: str
    kind: str
    path: str
    data: bytes
    properties: Mapping[str, Property] | None = None
    yields: bool = False
    id: str = ""
    former_ids: tuple[str, ...] = ()
    digest: str = field(init=False, default="")  # of ``data``; worked out here, so where the file is rendered

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest_of(self.data))

    @property
    def aliases(self) -> tuple[str, ...]:
        """The generated aliases."""
        aliases = (self.properties or {}).get("aliases", ())
        return aliases if isinstance(aliases, tuple) else ()

    @property
    def note(self) -> Rendered:
        """The file parsed back into a rendered note."""
        body = self.data.partition(b"\n---\n\n")[2].decode("utf-8", "surrogateescape")
        return Rendered(self.path.removesuffix(".md"), self.properties or {}, signature.taken_off(body)[0].removesuffix("\n"))


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file with the path where it is to be; ``doubles`` are other places, with a person's words that belong to it.

    ``former`` are notes that are no longer made: this one takes over what a person wrote in their blocks.
    """

    file: GeneratedFile
    doubles: tuple[str, ...] = ()
    former: tuple[str, ...] = ()


def of_note(owner: str, note: Note, rendered: Rendered) -> GeneratedFile:
    """Return a rendered note as a file; the note gets its id."""
    name = note_id(owner, note.kind, note.key)
    properties = {**rendered.properties, ID: name}
    path = f"{note.path}.md"
    data = _bytes(merge_user_text.compose(Rendered(path, properties, rendered.body), merge_user_text.NOTHING))
    return GeneratedFile(owner, note.kind, path, data, properties, id=name, former_ids=note.formerly)


def composed(file: GeneratedFile, body: str, additions: UserText = merge_user_text.NOTHING) -> GeneratedFile:
    """Return a note with this generated body and a person's additions."""
    text = merge_user_text.compose(Rendered(file.path, file.properties or {}, body), additions)
    return replace(file, data=_bytes(text))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def note_id(owner: str, kind: str, key: str = "") -> str:
    """Return the id of a note of an owner: ``report:<session>``, ``worker:<session>/<worker>``, ``source:<digest>``, ``home``."""
    name = "/".join(map(_short, filter(None, (owner.partition(":")[2], key))))
    return f"{kind}:{name}" if name else kind


def _short(part: str) -> str:
    return part if _PLAIN.fullmatch(part) else digest_of(part.encode("utf-8", "surrogateescape"))[:16]


def of_plain(owner: str, kind: str, plain: Plain) -> GeneratedFile:
    """Return a file that is not a note."""
    data = plain_files.signed(plain.path, plain.text.encode("utf-8", "replace"))
    return GeneratedFile(owner, kind, plain.path, data, None, plain.yields)
