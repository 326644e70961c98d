"""Lists of facts for a prompt, each with its key, claim, quote, source key and place. A model may cite only these.

A list is cut into blocks with delimiters of their own. So a longer list of the same session begins with the same text as a
shorter one, and a cache can serve it. What is known of the facts otherwise (which are confirmed) comes after the list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import unquote, urlsplit

from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys
from pipeline.adapters.reasoners.openai.prompting.delimiters import Delimiters, Material
from pipeline.domain.values import Contradiction, Fact, ValidatedFact
from pipeline.text.normalise import holds_quote, one_line, tokens

_BLOCK = 16  # facts


def evidence(
    facts: Sequence[Fact],
    keys: CitationKeys,
    delimiters: Delimiters,
    limit: int,
    published: Mapping[str, str] = MappingProxyType({}),
) -> Material:
    """Return the facts in blocks, a line each: ``[E3] "quote" (S1: place; published 2026-03-01; claim: …)``.

    The claim, where it is not part of the quote, says what the quote is about. ``published`` gives the dates of pages by address.
    If the facts exceed ``limit`` tokens, the least relevant ones are left out, and a line behind the blocks counts them.
    """
    kept = _within_tokens(facts, limit)
    lines = list(_lines(kept, keys, published)) or ["(none)"]
    blocks = (lines[at : at + _BLOCK] for at in range(0, len(lines), _BLOCK))
    shown = [delimiters.block("EVIDENCE", "\n".join(block)) for block in blocks]
    more = len(facts) - len(kept)
    return Material(
        "\n".join([*shown, *([f"({more} more, less relevant, are left out: there is no room for them.)"] if more else [])])
    )


def confirmed(validated: Iterable[ValidatedFact], keys: CitationKeys) -> list[str]:
    """Return the keys of the shown facts that another source confirms."""
    return keys.given("E", (entry.fact_id for entry in validated if entry.support))


def group(
    facts: Sequence[Fact],
    keys: CitationKeys,
    delimiters: Delimiters,
    origins: Mapping[str, str],
    label: str,
    published: Mapping[str, str] = MappingProxyType({}),
) -> Material:
    """Return a group of similar facts as a block; facts of one origin share their source's key."""
    return delimiters.block(label, "\n".join(_lines(facts, keys, published, origins)))


def fact_tokens(fact: Fact) -> int:
    """Return an estimate of a fact's tokens in a prompt."""
    return tokens(fact.quote) + (0 if fact.claim == fact.quote else tokens(fact.claim)) + 25


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


def _lines(
    facts: Iterable[Fact], keys: CitationKeys, published: Mapping[str, str], origins: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Yield a line for each fact. The place of a source is named once; later its key is enough, with the heading if it is new."""
    last: dict[str, str] = {}
    for fact in facts:
        source = keys.give("S", origins.get(fact.id, fact.url))
        known = []
        if source not in last:
            date = published.get(fact.url, "")
            known = [place_of(fact.url, fact.heading), f"published {one_line(date, 40)}" if date else ""]
        elif fact.heading != last[source]:
            known = [f"— {one_line(fact.heading, 60)}" if fact.heading else ""]
        last[source] = fact.heading
        known.append("" if holds_quote(fact.quote, fact.claim) else f"claim: {one_line(fact.claim, 300)}")
        where = ": ".join(filter(None, (source, "; ".join(filter(None, known)))))
        yield f'[{keys.give("E", fact.id)}] "{" ".join(fact.quote.split())}" ({where})'


def _within_tokens(facts: Sequence[Fact], limit: int) -> list[Fact]:
    """Return the most relevant facts, in their order; of equally relevant ones, the first of each page before its second."""
    places = Counter[str]()
    order: list[tuple[float, int, int]] = []
    for place, fact in enumerate(facts):
        order.append((-fact.relevance, places[fact.url], place))
        places[fact.url] += 1
    kept: set[int] = set()
    for _, _, place in sorted(order):
        limit -= fact_tokens(facts[place])
        if limit < 0:
            break
        kept.add(place)
    return [facts[place] for place in sorted(kept)]
