"""Cleaning of a reasoner's text: sentences on one line, only known citations, the basis that their citations allow."""

from __future__ import annotations

from collections.abc import Collection

from pipeline.domain.values import Basis, Paragraph, Sentence
from pipeline.text.normalise import clean


def valid_paragraphs(paragraphs: tuple[Paragraph, ...], known: Collection[str]) -> tuple[Paragraph, ...]:
    """Return the text cleaned, without empty sentences; citations of facts that are not ``known`` become ``unknown`` ones."""
    sound = []
    for paragraph in paragraphs:
        sentences = tuple(one for sentence in paragraph.sentences if (one := valid_sentence(sentence, paragraph, known)))
        if sentences:
            sound.append(paragraph.model_copy(update={"sentences": sentences}))
    return tuple(sound)


def valid_sentence(sentence: Sentence, paragraph: Paragraph, known: Collection[str]) -> Sentence | None:
    """Return a sentence of this paragraph cleaned, None if it is empty. Passages and code keep their lines."""
    cells = tuple(" ".join(clean(cell).split()) for cell in sentence.cells) if paragraph.form == "table" else ()
    text = _row_in_words(cells, paragraph.header) if cells else _cleaned(sentence.text, paragraph)
    if not text:
        return None
    facts = tuple(name for name in dict.fromkeys(sentence.facts) if name in known)
    unknown = tuple(dict.fromkeys([*sentence.unknown, *(name for name in sentence.facts if name not in known)]))
    cited = Sentence(text=text, facts=facts, cells=cells, unknown=unknown)
    return cited.model_copy(update={"basis": _basis(sentence.basis, cited, paragraph)})


def _cleaned(text: str, paragraph: Paragraph) -> str:
    if paragraph.kind == "passages" or paragraph.form == "code":
        return clean(text).strip("\n") if paragraph.form == "code" else clean(text).strip()
    return " ".join(clean(text).split())


def _row_in_words(cells: tuple[str, ...], header: tuple[str, ...]) -> str:
    names = (*header, *[""] * len(cells))
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell)


def _basis(said: Basis, sentence: Sentence, paragraph: Paragraph) -> Basis:
    if sentence.facts:
        return "derived" if said == "derived" else "quoted"
    may_link = paragraph.kind == "prose" and paragraph.form in ("paragraph", "steps", "bullets")
    return "bridge" if may_link and not sentence.unknown else "quoted"
