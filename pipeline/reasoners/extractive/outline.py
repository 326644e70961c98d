"""Which sections tell it best: the strongest facts, gathered around seeds that differ, titled by their headings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline import terms
from pipeline.questions import Outline, OutlineQuestion
from pipeline.reasoners.extractive import cues, phrases
from pipeline.reasoners.extractive.ranking import merits
from pipeline.reasoners.extractive.selection import length, select, worth
from pipeline.reasoners.extractive.summary import summarise
from pipeline.text import slug
from pipeline.values import Fact, Perspective, SectionPlan

_PER_SECTION = 3  # facts that make a section worth its heading
_SUMMARY_WORDS = 150
_HEADING_WORDS = 5  # kept free for a section's title
_SPARE = 1.1  # words of facts offered for one word wanted


@dataclass
class _Cluster:
    seed: Fact
    facts: list[Fact] = field(default_factory=list)
    words: int = 0


def outline(question: OutlineQuestion) -> Outline:
    """Return title and sections; no section without facts, the weakest and the repeated facts in none."""
    merit = worth(
        question.query,
        question.facts,
        merits(question.query, question.facts, question.validated, question.hits),
        question.hits,
    )
    chosen = _body(question, merit)
    count = min(question.max_sections, max(question.min_sections, len(chosen) // _PER_SECTION), len(chosen))
    words = question.words - len(question.query.split()) - _HEADING_WORDS * count
    clusters = _without_loners(_gathered(chosen, merit, count, words), question.min_sections)
    ordered = sorted(clusters, key=lambda cluster: _place(cluster, question, merit))
    titles = _titles(ordered, question)
    sections = tuple(_plan(cluster, title) for cluster, title in zip(ordered, titles, strict=True))
    return Outline(title=title_of(question.query), sections=sections)


def title_of(query: str) -> str:
    """Return the query as a title: one line, opening with a capital."""
    plain = " ".join(query.split())
    return plain if not plain or phrases.is_identifier(plain.split(" ")[0]) else plain[:1].upper() + plain[1:]


def _body(question: OutlineQuestion, merit: Mapping[str, float]) -> list[Fact]:
    """Return the facts for the body, best first: not those that the summary will quote, as long as enough others are left."""
    words = round(_SPARE * question.words)
    summary = summarise(question.query, question.facts, question.validated, _SUMMARY_WORDS, question.hits)
    quoted = {fact.id for fact in summary}
    support = {entry.fact_id: entry.support for entry in question.validated}
    others = [fact for fact in question.facts if fact.id not in quoted]
    if len(others) >= question.max_sections * _PER_SECTION * 2:
        return select(others, merit, words, summary, support, question.hits)
    return select(question.facts, merit, words, support=support, hits=question.hits)


def _gathered(facts: Sequence[Fact], merit: Mapping[str, float], count: int, words: int) -> list[_Cluster]:
    """Return the facts in ``count`` clusters around strong facts unlike each other, none longer than its share of the words.

    A fact that fits nowhere any more is left out.
    """
    if not facts:
        return []
    described = {fact.id: _described(fact) for fact in facts}
    seeds = terms.spread([merit[fact.id] for fact in facts], [described[fact.id] for fact in facts], count, 2.0)
    clusters = [_Cluster(facts[index]) for index in seeds]
    for cluster in clusters:
        _put(cluster, cluster.seed)
    taken = {cluster.seed.id for cluster in clusters}
    for fact in facts:
        open_ones = [cluster for cluster in clusters if cluster.words + length(fact) <= words // count]
        if fact.id not in taken and open_ones:
            _put(max(open_ones, key=lambda cluster: (_nearness(fact, cluster, described), -clusters.index(cluster))), fact)
    return clusters


def _without_loners(clusters: list[_Cluster], least: int) -> list[_Cluster]:
    """Return the clusters with those of a single fact put to their nearest, as long as ``least`` clusters are left."""
    kept = list(clusters)
    for lone in [cluster for cluster in clusters if len(cluster.facts) == 1]:
        others = [cluster for cluster in kept if cluster is not lone]
        if len(others) >= least:
            described = {fact.id: _described(fact) for cluster in kept for fact in cluster.facts}
            nearest = max(others, key=lambda cluster: (_nearness(lone.seed, cluster, described), -kept.index(cluster)))
            _put(nearest, lone.seed)
            kept = others
    return kept


def _put(cluster: _Cluster, fact: Fact) -> None:
    cluster.facts.append(fact)
    cluster.words += length(fact)


def _described(fact: Fact) -> terms.Terms:
    return terms.term_set(fact.claim) | terms.term_set(fact.heading.partition("(")[0])


def _nearness(fact: Fact, cluster: _Cluster, described: Mapping[str, terms.Terms]) -> float:
    likeness = [terms.alike(described[fact.id], described[other.id]) for other in cluster.facts]
    same_heading = any(other.heading and (other.url, other.heading) == (fact.url, fact.heading) for other in cluster.facts)
    same_page = any(other.url == fact.url for other in cluster.facts)
    return 0.5 * max(likeness) + 0.5 * sum(likeness) / len(likeness) + 0.2 * same_heading + 0.08 * same_page


def _place(cluster: _Cluster, question: OutlineQuestion, merit: Mapping[str, float]) -> tuple[float, str]:
    """Return where a cluster belongs: answers and definitions first, doubts last."""
    basic = {text for view in question.perspectives[:1] for text in view.questions}
    doubts = {text for view in question.perspectives[1:] if view.id == "sceptic" for text in view.questions}
    count = len(cluster.facts)
    sceptical = sum(fact.question in doubts or cues.doubts(fact.claim) for fact in cluster.facts) / count
    plain = sum((fact.question in basic) + cues.defines(fact.claim) for fact in cluster.facts) / count
    strength = sum(sorted((merit[fact.id] for fact in cluster.facts), reverse=True)[:3]) / min(3, count)
    return round(1.2 * sceptical - 0.5 * plain - 1.5 * strength, 6), cluster.seed.id


def _plan(cluster: _Cluster, title: str) -> SectionPlan:
    return SectionPlan(
        id=f"s-{slug(title, 40)}",
        title=title,
        facts=tuple(fact.id for fact in cluster.facts),
        purpose=f"What the sources say about {title}.",
    )


def _titles(clusters: Sequence[_Cluster], question: OutlineQuestion) -> list[str]:
    titles: list[str] = []
    for cluster in clusters:
        candidates = _candidates(cluster, question)
        titles.append(next((name for name in candidates if _is_new(name, titles)), f"Further findings {len(titles) + 1}"))
    return titles


def _is_new(name: str, titles: Sequence[str]) -> bool:
    mine = terms.term_set(name)
    return all(name.lower() != other.lower() and terms.contained(mine, terms.term_set(other)) < 0.75 for other in titles)


def _candidates(cluster: _Cluster, question: OutlineQuestion) -> list[str]:
    """Return possible titles, best first: headings and phrases by how many of the facts they speak for, then perspectives."""
    spoken = _spoken(cluster)
    scores = {name: 0.5 * share + 0.6 * _about(name, spoken) for name, share in _headings(cluster).items()}
    for name, share in _phrases(cluster, terms.term_set(question.query)).items():
        scores.setdefault(name, 0.5 * share + 0.3 * _about(name, spoken))
    return [*sorted(scores, key=lambda name: (-scores[name], name)), *_views(cluster, question.perspectives)]


def _headings(cluster: _Cluster) -> dict[str, float]:
    """Return the headings above the cluster's facts with the share of facts under them."""
    found: dict[str, float] = {}
    for fact in cluster.facts:
        if name := phrases.heading(fact.heading):
            found[name] = found.get(name, 0.0) + 1.0 / len(cluster.facts)
    return found


def _about(name: str, spoken: Mapping[str, float]) -> float:
    return terms.coverage(dict.fromkeys(terms.term_set(name), 1.0), spoken, {})


def _spoken(cluster: _Cluster) -> dict[str, float]:
    counts = terms.document_counts(terms.term_set(fact.claim) for fact in cluster.facts)
    return {term: min(1.0, 2 * count / len(cluster.facts)) for term, count in counts.items()}


def _phrases(cluster: _Cluster, asked: terms.Terms) -> dict[str, float]:
    """Return the phrases that two facts at least share and that say more than the query, with their share of the facts."""
    found: dict[str, float] = {}
    for fact in cluster.facts:
        for phrase in dict.fromkeys(phrases.key_phrases(fact.claim)):
            name = phrase if phrases.is_identifier(phrase.split(" ")[0]) else phrase[:1].upper() + phrase[1:]
            found[name] = found.get(name, 0.0) + 1.0 / len(cluster.facts)
    return {name: share for name, share in found.items() if share * len(cluster.facts) > 1.5 and terms.term_set(name) - asked}


def _views(cluster: _Cluster, perspectives: Sequence[Perspective]) -> list[str]:
    asked = {fact.question for fact in cluster.facts}
    return [view.name for view in perspectives if asked & set(view.questions)]
