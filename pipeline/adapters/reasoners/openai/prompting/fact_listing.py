"""Lists of facts for a prompt, each with its key, quote, source key and place. A model may cite only these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import unquote, urlsplit

from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys
from pipeline.adapters.reasoners.openai.prompting.delimiters import Delimiters, Material
from pipeline.domain.values import Contradiction, Fact, ValidatedFact
from pipeline.text.normalise import holds_quote, one_line, tokens

_WEIGHT = {"corroborated": 0.2, "disputed": 0.1, "single": 0.0}


def evidence(
    facts: Sequence[Fact],
    keys: CitationKeys,
    delimiters: Delimiters,
    limit: int,
    validated: Sequence[ValidatedFact] = (),
    label: str = "EVIDENCE",
    published: Mapping[str, str] = MappingProxyType({}),
) -> Material:
    """Return the facts as one block: ``[E3] "quote" (S1: place; published day; standing; claim)``, each part where it is known.

    ``published`` maps addresses to days. The claim, where it is not a part of the quote, says what the quote is about.

    If they exceed ``limit`` tokens, the least relevant facts are left out.
    """
    standings = {entry.fact_id: str(entry.standing) for entry in validated}
    kept = _within_tokens(facts, standings, limit)
    lines = [_line(fact, keys, fact.url, standings.get(fact.id, ""), published.get(fact.url, "")) for fact in kept]
    return delimiters.block(label, "\n".join(lines) or "(none)")


def group(facts: Sequence[Fact], keys: CitationKeys, delimiters: Delimiters, origins: Mapping[str, str], label: str) -> Material:
    """Return a group of similar facts as a block; facts of one origin share their source's key."""
    return delimiters.block(label, "\n".join(_line(fact, keys, origins.get(fact.id, fact.url), "") for fact in facts))


def contradiction_lines(pairs: Iterable[Contradiction], keys: CitationKeys) -> list[str]:
    """Return a line for each contradiction, with the facts' keys; facts that the prompt does not show are left out."""
    lines = []
    for pair in pairs:
        if len(names := keys.given("E", (pair.a, pair.b))) == 2:
            lines.append(f"{names[0]} against {names[1]}: {one_line(pair.explanation or pair.subject)}")
    return lines


def place_of(url: str, heading: str = "") -> str:
    """Return the place of a fact in words: host or document, and heading."""
    try:
        parts = urlsplit(url)
        where = (parts.hostname or "") if parts.scheme in ("http", "https") else unquote(parts.path)
    except ValueError:
        where = ""
    return one_line(" — ".join(filter(None, (where or url, heading))), 120)


def _line(fact: Fact, keys: CitationKeys, source: str, standing: str, published: str = "") -> str:
    known = f"; published {one_line(published, 40)}" if published else ""
    known += f"; {standing}" if standing else ""
    known += "" if holds_quote(fact.quote, fact.claim) else f"; claim: {one_line(fact.claim, 300)}" if fact.claim else ""
    shown = f'"{" ".join(fact.quote.split())}" ({keys.give("S", source)}: {place_of(fact.url, fact.heading)}{known})'
    return f"[{keys.give('E', fact.id)}] {shown}"


def _within_tokens(facts: Sequence[Fact], standings: dict[str, str], limit: int) -> list[Fact]:
    ranked = sorted(facts, key=lambda fact: (-fact.relevance - _WEIGHT.get(standings.get(fact.id, ""), 0.0), fact.id))
    kept: set[str] = set()
    for fact in ranked:
        limit -= tokens(fact.quote) + 60
        if limit < 0:
            break
        kept.add(fact.id)
    return [fact for fact in facts if fact.id in kept]
