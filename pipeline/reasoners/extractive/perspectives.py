"""From which points of view to research: the basic facts, the subtopics that a first search shows, and the sceptic."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.questions import Perspectives, PerspectivesQuestion
from pipeline.reasoners.extractive import phrases, terms
from pipeline.text import slug
from pipeline.values import Hit, Perspective

_BASIC = (
    "What is meant by {topic}?",
    "How can {topic} be used in practice?",
    "Which details or defaults are known about {topic}?",
    "Why can {topic} matter?",
    "What can {topic} be compared with?",
)
_SUBTOPIC = (
    "What is said about {part} in connection with {topic}?",
    "How can {part} affect {topic}?",
    "When should one rely on {part}?",
    "Which details or defaults are known about {part}?",
    "What can go wrong with {part}?",
)
_SCEPTIC = (
    "What can go wrong with {topic}?",
    "Which limits or drawbacks can {topic} have?",
    "When should one avoid {topic}?",
    "Where do sources disagree about {topic}?",
    "Which warnings are given about {topic}?",
)
_DOUBTS = ("limitations", "failure", "warning", "not guaranteed", "drawbacks")


def perspectives(question: PerspectivesQuestion) -> Perspectives:
    """Return ``count`` perspectives with ``questions`` questions each, the basic facts first and the sceptic last."""
    topic = phrases.subject(question.query)
    found = [_basic(question, topic)]
    for part in _subtopics(question, topic, max(0, question.count - 2)):
        found.append(_subtopic(question, topic, part))
    if question.count > 1:
        found.append(_sceptic(question, topic))
    return Perspectives(perspectives=tuple(found))


def _basic(question: PerspectivesQuestion, topic: str) -> Perspective:
    made = (question.query, *(text.format(topic=topic) for text in _BASIC))
    return Perspective(
        id="basic-facts",
        name="Basic facts",
        focus=f"What the sources say in answer to the question itself, and what {topic} stands for.",
        questions=made[: max(1, question.questions)],
        keywords=tuple(phrases.salient_words(question.query)),
    )


def _subtopic(question: PerspectivesQuestion, topic: str, part: str) -> Perspective:
    inside = part if phrases.is_identifier(part.split(" ")[0]) or part.isupper() else part[:1].lower() + part[1:]
    made = tuple(text.format(topic=topic, part=inside) for text in _SUBTOPIC)
    return Perspective(
        id=slug(part, 40),
        name=part,
        focus=f"What the sources say about {inside} in connection with {topic}.",
        questions=made[: max(1, question.questions)],
        keywords=tuple(phrases.salient_words(part)),
    )


def _sceptic(question: PerspectivesQuestion, topic: str) -> Perspective:
    return Perspective(
        id="sceptic",
        name="Sceptic",
        focus=f"Limits, failures, warnings and disagreement about {topic}.",
        questions=tuple(text.format(topic=topic) for text in _SCEPTIC)[: max(1, question.questions)],
        keywords=_DOUBTS,
    )


def _subtopics(question: PerspectivesQuestion, topic: str, count: int) -> list[str]:
    scores = _candidates(question.hits, question.query)
    asked = terms.term_set(question.query)
    fresh = {name: score for name, score in scores.items() if terms.term_set(name) - asked}
    names = sorted(fresh, key=lambda name: (-fresh[name], name))[:60]
    picked = terms.spread([fresh[name] for name in names], [terms.term_set(name) for name in names], count * 2, 1.5)
    chosen = _distinct([names[index] for index in picked], count)
    return chosen + _fallbacks(topic, count - len(chosen))


def _distinct(names: Sequence[str], count: int) -> list[str]:
    chosen: list[str] = []
    taken = {"basic-facts", "sceptic"}
    for name in names:
        if slug(name, 40) not in taken and all(
            terms.contained(terms.term_set(name), terms.term_set(other)) < 0.6 for other in chosen
        ):
            chosen.append(name)
            taken.add(slug(name, 40))
    return chosen[:count]


def _fallbacks(topic: str, count: int) -> list[str]:
    plain = ("Practice", "Background", "Alternatives", "Consequences", "Costs", "Requirements", "Exceptions", "History")
    return [f"{name} of {topic}" for name in plain[: max(0, count)]]


def _candidates(hits: Sequence[Hit], query: str) -> dict[str, float]:
    """Score the hits' headings, titles and phrases: high ranks count most, and what several hits share."""
    wanted = terms.needs(query)
    scores: dict[str, float] = {}
    written: dict[terms.Terms, str] = {}
    for rank, hit in enumerate(hits):
        near = terms.coverage(wanted, dict.fromkeys(terms.term_set(f"{hit.title} {hit.heading} {hit.snippet}"), 1.0), {})
        weight = (0.3 + near) / (1 + rank / 6)
        for name, factor in _names(hit):
            key = terms.term_set(name)
            shown = written.setdefault(key, name)
            scores[shown] = scores.get(shown, 0.0) + weight * factor
    return scores


def _names(hit: Hit) -> list[tuple[str, float]]:
    found = {phrases.heading(hit.heading): 1.0, phrases.heading(hit.title): 0.6}
    for phrase in phrases.key_phrases(hit.snippet):
        found.setdefault(phrase[:1].upper() + phrase[1:], 0.35)
    return [(name, factor) for name, factor in found.items() if name and 1 <= len(terms.term_set(name)) <= 9]
