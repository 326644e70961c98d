"""What ``research ask`` prints: an answer with the places of its quotes, as lines or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.domain.talk import TalkState, Turn
    from pipeline.domain.values import Fact, Sentence

NEAREST = "The stored pages do not clearly say. This comes nearest:"
UNJUDGED = "The passages that come nearest. No model has read them."
_QUOTE_WORDS = 14


def refusal_of(turn: Turn) -> str:
    """Return what is printed where the stored pages hold no answer."""
    asked = turn.text.replace('"', "'")
    says = "Nothing that is stored is near the question." if _is_unjudged(turn) else "The stored pages do not say."
    return f'{says} research add "{asked}" has it researched.'


def _is_unjudged(turn: Turn) -> bool:
    """Tell whether no model had a part in the answer: then nothing is said of what the pages say."""
    return turn.answer is not None and turn.draft is None and turn.answer.outcome in ("passages", "not-found")


def _refusal_lines(turn: Turn, notes: Mapping[str, str]) -> list[str]:
    if turn.answer is None or not turn.answer.nearest:
        return [refusal_of(turn)]
    hint = refusal_of(turn).removeprefix("The stored pages do not say. ")
    return [NEAREST, "", *_quoted_lines(turn.answer.nearest, turn, notes), hint]


def turn_lines(turn: Turn, notes: Mapping[str, str]) -> list[str]:
    """Return the lines for one answer; ``notes`` are the paths of source notes by address."""
    if turn.answer is None or not turn.answer.found:
        return _refusal_lines(turn, notes)
    lines = [UNJUDGED, ""] if turn.answer.outcome == "passages" else []
    lines += _quoted_lines(turn.answer.sentences, turn, notes)
    lines += [f"  next: {text}" for text in turn.answer.follow_ups]
    lines += [f"  in part without the model: {why}" for why in dict.fromkeys(turn.failed.values())]
    return lines


def _quoted_lines(sentences: Sequence[Sentence], turn: Turn, notes: Mapping[str, str]) -> list[str]:
    """Return sentences with the numbers of the facts that they cite, and the place of each."""
    numbers = {fact.id: number for number, fact in enumerate(turn.cited(), start=1)}
    lines = []
    for sentence in sentences:
        lines += [f"{_lead(sentence.facts, turn)}{sentence.text} {''.join(f'[{numbers[name]}]' for name in sentence.facts)}", ""]
    for fact in turn.cited():
        lines += _place_lines(numbers[fact.id], fact, notes)
        lines += [f"      {gone_words(turn.gone()[fact.url])}"] if fact.url in turn.gone() else []
    return lines


def gone_words(read_at: str) -> str:
    """Return what is said of a document that is no longer in its folder; ``read_at`` is when it was last read, or ""."""
    return f"this document is no longer in the folder{f'; it was last read on {read_at[:10]}' if read_at else ''}"


def _lead(names: Sequence[str], turn: Turn) -> str:
    """Return the table header or the introduction that a quoted passage needs, on a line of its own."""
    known = {fact.id: fact for fact in turn.facts()}
    leads = (known[name].lead for name in names if name in known and known[name].lead)
    return "".join(f"{lead}\n" for lead in leads)


def _place_lines(number: int, fact: Fact, notes: Mapping[str, str]) -> Iterator[str]:
    words = fact.quote.split()
    quote = " ".join(words[:_QUOTE_WORDS]) + (" …" if len(words) > _QUOTE_WORDS else "")
    yield f"  [{number}] {' › '.join(fact.path)}  {_address(fact)}"
    yield f"      fact {fact.id}: “{quote}”"
    if fact.url in notes:
        yield f"      note {notes[fact.url]}"


def _address(fact: Fact) -> str:
    return f"{fact.url}#{fact.anchor}" if fact.anchor else fact.url


def talk_value(state: TalkState, turns: Sequence[Turn], notes: Mapping[str, str]) -> dict[str, Any]:
    """Return the answers as one JSON value."""
    return {
        "talk": state.id,
        "scope": {"kind": state.scope, "ids": list(state.ids)},
        "cost_usd": round(state.cost().usd, 6),
        "turns": [_turn_value(turn, notes) for turn in turns],
    }


def _turn_value(turn: Turn, notes: Mapping[str, str]) -> dict[str, Any]:
    answer = turn.answer
    found = answer is not None and answer.found
    return {
        "question": turn.text,
        "stands_alone": turn.stands_alone,
        "found": found,
        "outcome": answer.outcome if answer else "",
        "answer": [{"text": one.text, "facts": list(one.facts)} for one in answer.sentences] if answer else [],
        "facts": [
            {
                "id": fact.id,
                "quote": fact.quote,
                "lead": fact.lead,
                "path": list(fact.path),
                "address": _address(fact),
                "note": notes.get(fact.url, ""),
                "page": fact.digest,
                "gone": fact.url in turn.gone(),
                "read_at": turn.gone().get(fact.url, ""),
            }
            for fact in turn.cited()
        ],
        "missing": list(answer.missing) if answer else [],
        "nearest": [{"text": one.text, "facts": list(one.facts)} for one in answer.nearest] if answer else [],
        "follow_ups": list(answer.follow_ups) if answer else [],
        "hint": "" if found else refusal_of(turn),
        "session": turn.session,
        "without_meaning": [side.reason for side in turn.found.failed] if turn.found else [],
        "without_model": list(dict.fromkeys(turn.failed.values())),
    }
