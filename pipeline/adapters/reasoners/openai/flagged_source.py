"""Handling of a provider's content filter: finds the source that was probably flagged, and leaves it out of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pipeline.domain.memory.values import Recalled
from pipeline.domain.reasoner_questions import Question, Reply
from pipeline.text.model_orders import orders_in
from pipeline.text.normalise import normalised

A = TypeVar("A", bound=Reply)


def without_flagged_source(question: Question[A], flagged: Sequence[str]) -> Question[A] | None:
    """Return the question without the flagged source; None if the source is unknown or is the only one.

    It is the source that contains the ``flagged`` text, or else the one with the most phrases that give orders to a model.
    """
    texts = _texts_by_source(question)
    offender = _flagged_source(texts, flagged) or _most_commanding_source(texts)
    return None if offender is None or len(texts) < 2 else _without(question, offender)


def _texts_by_source(question: Question[Any]) -> dict[str, str]:
    """Return the text of each source in the question, by address."""
    found: dict[str, list[str]] = {}
    for fact in (*getattr(question, "facts", {}).values(), *getattr(question, "earlier", ())):
        found.setdefault(fact.url, []).append(f"{fact.heading} {fact.quote}")
    for one in getattr(question, "recalled", Recalled()).statements:
        found.setdefault(one.statement.url, []).append(one.statement.claim)
    for hit in getattr(question, "hits", ()):
        found.setdefault(hit.url, []).append(f"{hit.title} {hit.heading} {hit.snippet}")
    for page in getattr(question, "pages", {}).values():
        found.setdefault(page.url, []).append(page.text)
    return {url: normalised(" ".join(parts)) for url, parts in found.items()}


def _flagged_source(texts: Mapping[str, str], flagged: Sequence[str]) -> str | None:
    wanted = [normalised(text).removesuffix("...").removesuffix("…").casefold() for text in flagged]
    held = (url for url, text in texts.items() if any(part and part in text.casefold() for part in wanted))
    return next(held, None)


def _most_commanding_source(texts: Mapping[str, str]) -> str | None:
    counts = {url: orders_in(text) for url, text in texts.items()}
    worst = max(counts, key=lambda url: counts[url], default=None)
    return worst if worst is not None and counts[worst] else None


def _without(question: Question[A], url: str) -> Question[A]:
    update: dict[str, Any] = {}
    for name in ("facts", "pages"):
        if hasattr(question, name):
            update[name] = {key: entry for key, entry in getattr(question, name).items() if entry.url != url}
    for name in ("earlier", "hits"):
        if hasattr(question, name):
            update[name] = tuple(entry for entry in getattr(question, name) if entry.url != url)
    if isinstance(recalled := getattr(question, "recalled", None), Recalled):
        kept = tuple(one for one in recalled.statements if one.statement.url != url)
        update["recalled"] = recalled.model_copy(update={"statements": kept})
    return question.model_copy(update=update)
