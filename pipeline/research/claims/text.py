"""Cleaning of a reasoner's text: sentences on one line, only known citations, the basis that their citations allow."""

from __future__ import annotations

from collections.abc import Collection

from pipeline.domain.values import Basis, Paragraph, Sentence
from pipeline.research.claims.code_check import is_bridge
from pipeline.text.normalise import clean


def valid_paragraphs(paragraphs: tuple[Paragraph, ...], known: Collection[str]) -> tuple[Paragraph, ...]:
    """Return the text cleaned, without empty sentences and without citations of facts that are not ``known``."""
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
    return Sentence(text=text, facts=facts, basis=_basis(sentence, text, facts, paragraph), cells=cells)


def _cleaned(text: str, paragraph: Paragraph) -> str:
    if paragraph.kind == "passages" or paragraph.form == "code":
        return clean(text).strip("\n") if paragraph.form == "code" else clean(text).strip()
    return " ".join(clean(text).split())


def _row_in_words(cells: tuple[str, ...], header: tuple[str, ...]) -> str:
    names = (*header, *[""] * len(cells))
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell)


def _basis(sentence: Sentence, text: str, facts: tuple[str, ...], paragraph: Paragraph) -> Basis:
    if facts:
        return "derived" if sentence.basis == "derived" and len(facts) > 1 else "quoted"
    return "bridge" if paragraph.kind == "prose" and paragraph.form in ("paragraph", "steps") and is_bridge(text) else "quoted"
