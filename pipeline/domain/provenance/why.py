"""Why a session says something: from a sentence or a fact back to its quotes, pages, searches, thoughts and perspectives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.domain.findings import all_facts
from pipeline.domain.provenance.graph import Edge, Graph, Node
from pipeline.domain.provenance.report_nodes import WrittenSentence, sentences_of_report
from pipeline.domain.state import SessionState
from pipeline.domain.values import Fact
from pipeline.text.normalise import normalised
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.words import jaccard

_LEAST_LIKENESS = 0.2  # of the words asked for and a sentence's


@dataclass(frozen=True, slots=True)
class Origin:
    """One way to a page: the thought that searched, or None for the first search; the search, and the hit's place in it."""

    perspective: Node | None
    thought: Node | None
    search: Node
    rank: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact with its page and the ways to it. ``confirmed_by`` are facts of other sources, ``against`` those that contradict it.

    ``against`` holds pairs of the contradicting fact and the explanation.
    """

    fact: Fact
    standing: str
    page: Node | None
    origins: tuple[Origin, ...]
    confirmed_by: tuple[Fact, ...]
    against: tuple[tuple[Fact, str], ...]


@dataclass(frozen=True, slots=True)
class Why:
    """A sentence, or None for a fact that was named, and the evidence for it, in the order of its citations."""

    sentence: WrittenSentence | None
    evidence: tuple[Evidence, ...]


def why(state: SessionState, graph: Graph, words: str) -> Why | None:
    """Return the evidence for the fact of that id, or for the sentence nearest to ``words``; None if nothing is near."""
    facts = {fact.id: fact for fact in all_facts(state)}
    wanted = words.strip().removeprefix("fact:")
    if named := [name for name in facts if len(wanted) >= _SHORTEST_ID and name.startswith(wanted)]:
        return Why(None, tuple(_evidence(facts[name], facts, graph) for name in named[:1]))
    sentence = nearest_sentence(sentences_of_report(state), words)
    if sentence is None:
        return None
    return Why(sentence, tuple(_evidence(facts[name], facts, graph) for name in sentence.facts if name in facts))


_SHORTEST_ID = 4


def nearest_sentence(sentences: list[WrittenSentence], words: str) -> WrittenSentence | None:
    """Return the sentence that contains ``words``, or else shares most of its stems with them; the first of several."""
    plain = normalised(words).casefold()
    for one in sentences:
        if plain and plain in normalised(one.text).casefold():
            return one
    stems = content_stems(words)
    ranked = [(_likeness(stems, content_stems(one.text)), -place) for place, one in enumerate(sentences)]
    best = max(ranked, default=(0.0, 0))
    return sentences[-best[1]] if best[0] >= _LEAST_LIKENESS else None


def _likeness(asked: frozenset[str], said: frozenset[str]) -> float:
    """Return the larger of two measures: words in common, and the share of the words asked for, at half weight."""
    share = len(asked & said) / len(asked) if asked else 0.0
    return max(jaccard(asked, said), 0.5 * share)


def _evidence(fact: Fact, facts: dict[str, Fact], graph: Graph) -> Evidence:
    name = f"fact:{fact.id}"
    pages = [graph.nodes[edge.target] for edge in graph.out_of(name, "quotes")]
    support = [facts[edge.source.removeprefix("fact:")] for edge in graph.into(name, "supports")]
    return Evidence(
        fact,
        graph.nodes[name].note,
        pages[0] if pages else None,
        tuple(origin for page in pages for origin in _origins(page, graph)),
        tuple(support),
        tuple(_against(name, facts, graph)),
    )


def _origins(page: Node, graph: Graph) -> Iterator[Origin]:
    """Yield the ways to a page: those of workers in plan order, then the first search."""
    found = graph.into(page.id, "found")
    for edge in sorted(found, key=lambda edge: edge.source == "search:survey"):
        searches = graph.into(edge.source, "searched")
        yield from (_origin(edge, above, graph) for above in searches)


def _origin(found: Edge, searched: Edge, graph: Graph) -> Origin:
    thought = graph.nodes[searched.source]
    if thought.kind != "thought":
        return Origin(None, None, graph.nodes[found.source], found.rank)
    above = graph.into(thought.id, "asks")
    return Origin(graph.nodes[above[0].source] if above else None, thought, graph.nodes[found.source], found.rank)


def _against(name: str, facts: dict[str, Fact], graph: Graph) -> Iterator[tuple[Fact, str]]:
    for edge in graph.into(name, "contradicts"):
        for other in graph.out_of(edge.source, "contradicts"):
            if other.target != name and (fact := facts.get(other.target.removeprefix("fact:"))):
                yield fact, graph.nodes[edge.source].label


def value_of(found: Why) -> dict[str, Any]:
    """Return a sentence and its evidence as one JSON value."""
    sentence = found.sentence
    named = {"text": sentence.text, "section": sentence.section, "cut": sentence.cut} if sentence else None
    return {"sentence": named, "evidence": [_evidence_value(one) for one in found.evidence]}


def _evidence_value(one: Evidence) -> dict[str, Any]:
    return {
        "fact": one.fact.model_dump(),
        "standing": one.standing,
        "origins": [
            {
                "search": origin.search.label,
                "rank": origin.rank,
                "thought": origin.thought.label if origin.thought else "",
                "perspective": origin.perspective.label if origin.perspective else "",
            }
            for origin in one.origins
        ],
        "confirmed_by": [fact.id for fact in one.confirmed_by],
        "against": [{"fact": fact.id, "quote": fact.quote, "explanation": explanation} for fact, explanation in one.against],
    }
