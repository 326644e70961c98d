"""``GeneratedFile``: a file of the vault, rendered and ready to be written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.text.normalise import digest_of
from pipeline.vault.output import merge_user_text
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.note import Note, Plain, Rendered


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """The bytes of a file without a person's text, and its owner.

    ``path`` has its suffix. ``skeleton`` is the digest of the generated part. ``properties`` are a note's, None for another file;
    ``yields`` as in ``Plain``.
    """

    owner: str
    kind: str
    path: str
    data: bytes
    skeleton: str
    properties: Mapping[str, Property] | None = None
    yields: bool = False

    @property
    def aliases(self) -> tuple[str, ...]:
        """The generated aliases."""
        aliases = (self.properties or {}).get("aliases", ())
        return aliases if isinstance(aliases, tuple) else ()

    @property
    def note(self) -> Rendered:
        """The file parsed back into a rendered note."""
        body = self.data.partition(b"\n---\n\n")[2].decode("utf-8", "surrogateescape")
        return Rendered(self.path.removesuffix(".md"), self.properties or {}, body)


def of_note(owner: str, note: Note, rendered: Rendered) -> GeneratedFile:
    """Return a rendered note as a file."""
    data = merge_user_text.compose(rendered, merge_user_text.NOTHING).encode("utf-8", "surrogateescape")
    skeleton = merge_user_text.skeleton_of(rendered, merge_user_text.NOTHING)
    return GeneratedFile(owner, note.kind, f"{note.path}.md", data, skeleton, rendered.properties)


def of_plain(owner: str, kind: str, plain: Plain) -> GeneratedFile:
    """Return a file that is not a note."""
    data = plain.text.encode("utf-8", "replace")
    return GeneratedFile(owner, kind, plain.path, data, digest_of(data), None, plain.yields)
