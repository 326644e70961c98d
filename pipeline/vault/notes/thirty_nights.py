"""``picture``: the last thirty nights at a glance, as an image: for each night a bar of the outcomes of its questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pipeline.domain.state import OUTCOME_WORDS
from pipeline.text import labels
from pipeline.vault.mornings.entries import ended_as, outcome_words
from pipeline.vault.output import formatting
from pipeline.vault.output.note import Plain
from pipeline.vault.vault_model import Night, VaultModel

PATH = "nights/thirty-nights.svg"
_NIGHTS, _WIDE, _HIGH, _STEP = 30, 600, 72, 20  # pixels
# From the foot of a bar to its top; the colours are told apart on light and on dark ground, and by brightness alone.
_COLOURS = {"answered": "#2f8f5b", "in-part": "#7cc29a", "passages": "#5b8bd0", "not-found": "#c9a227", "failed": "#b5493a"}
_NAMES = {"answered": "green", "in-part": "light green", "passages": "blue", "not-found": "yellow", "failed": "red"}


def picture(model: VaultModel) -> Plain:
    """Return the image. Each bar has a text that a pointer shows: the day, the outcomes, and the cost."""
    nights = model.nights[-_NIGHTS:]
    counts = [Counter(_outcomes(model, night)) for night in nights]
    most = max((sum(count.values()) for count in counts), default=0) or 1
    bars = "\n".join(
        _bar(model, night, count, place, most) for place, (night, count) in enumerate(zip(nights, counts, strict=True))
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" width="{_WIDE}" height="{_HIGH}" role="img">'
    return Plain(PATH, f"{head}\n<title>The last {len(nights)} nights</title>\n{bars}\n</svg>\n")


def legend(model: VaultModel) -> str:
    """Return what the colours in the image mean, those that it has; "" if it has none."""
    seen = {outcome for night in model.nights[-_NIGHTS:] for outcome in _outcomes(model, night)}
    words = {**OUTCOME_WORDS, "failed": "failed"}
    return ", ".join(f"{words[name]} {colour}" for name, colour in _NAMES.items() if name in seen)


def _outcomes(model: VaultModel, night: Night) -> Iterator[str]:
    """How each question of a night ended; a question counts once."""
    last = {entry.query_id: entry for entry in night.ended}
    return (ended_as(entry.status, model.by_id.get(entry.session)) for entry in last.values())


def _bar(model: VaultModel, night: Night, counts: Counter[str], place: int, most: int) -> str:
    usd = sum(model.spent[entry.id][0] for entry in night.ended)
    words = f"{labels.day(night.date)}: {outcome_words(counts.elements()) or 'nothing was due'}, {formatting.money(usd)}"
    parts, top = [], float(_HIGH)
    for name, colour in _COLOURS.items():
        tall = counts[name] / most * (_HIGH - 4)
        top -= tall
        if tall:
            parts.append(f'<rect x="{place * _STEP + 2}" y="{top:.1f}" width="{_STEP - 4}" height="{tall:.1f}" fill="{colour}"/>')
    foot = f'<rect x="{place * _STEP + 2}" y="{_HIGH - 1}" width="{_STEP - 4}" height="1" fill="#888888"/>'
    return f"<g><title>{words}</title>{''.join(parts)}{foot}</g>"
