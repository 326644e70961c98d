"""From which points of view to research: the basic facts, the subtopics that a first search shows, and the sceptic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline import terms
from pipeline.questions import Perspectives, PerspectivesQuestion
from pipeline.reasoners.extractive import frames, phrases
from pipeline.reasoners.extractive.topic import subject_weights, subject_words
from pipeline.text import slug
from pipeline.values import Hit, Perspective
from pipeline.vocabulary import COMMON

_NEAR = 0.4  # share of the best hit's score below which a hit leads away from the question
_READ = 0.3  # share of a hit's score that its text has by itself; the rest goes by its heading and title
_UNLIKE = 0.6  # what a hit pays for likeness to those already chosen
_DOUBTS = ("limitations", "failure", "warning", "not guaranteed", "drawbacks")


def perspectives(question: PerspectivesQuestion) -> Perspectives:
    """Return ``count`` perspectives with ``questions`` questions each, the basic facts first and the sceptic last."""
    topic = phrases.subject(question.query)
    found = [_basic(question, topic)]
    for part, keywords in _subtopics(question, topic, max(0, question.count - 2)):
        found.append(_subtopic(question, topic, part, keywords))
    if question.count > 1:
        found.append(_sceptic(question, topic))
    return Perspectives(perspectives=tuple(found))


def _basic(question: PerspectivesQuestion, topic: str) -> Perspective:
    made = (question.query, *(text.format(topic=topic) for text in frames.BASIC))
    return Perspective(
        id="basic-facts",
        name="Basic facts",
        focus=f"What the sources say in answer to the question itself, and what {topic} stands for.",
        questions=made[: max(1, question.questions)],
        keywords=subject_words(question.query, question.hits),
    )


def _subtopic(question: PerspectivesQuestion, topic: str, part: str, keywords: tuple[str, ...]) -> Perspective:
    inside = part if phrases.is_identifier(part.split(" ")[0]) or part[:2].isupper() else part[:1].lower() + part[1:]
    made = tuple(text.format(topic=topic, part=part) for text in frames.SUBTOPIC)
    return Perspective(
        id=slug(part, 40),
        name=part,
        focus=f"What the sources say about {inside} in connection with {topic}.",
        questions=made[: max(1, question.questions)],
        keywords=(
            *tuple(dict.fromkeys((*phrases.salient_words(part, 4), *keywords)))[:7],
            *subject_words(question.query, question.hits),
        ),
    )


def _sceptic(question: PerspectivesQuestion, topic: str) -> Perspective:
    return Perspective(
        id="sceptic",
        name="Sceptic",
        focus=f"Limits, failures, warnings and disagreement about {topic}.",
        questions=tuple(text.format(topic=topic) for text in frames.SCEPTIC)[: max(1, question.questions)],
        keywords=(*_DOUBTS, *subject_words(question.query, question.hits)),
    )


def _subtopics(question: PerspectivesQuestion, topic: str, count: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return names and keywords of the subtopics: the hits that answer best and are least alike, by what sets them apart."""
    spoken = [terms.term_set(f"{hit.heading} {hit.snippet}") for hit in question.hits]
    wanted = subject_weights(question.query, question.hits)
    scores = [
        terms.coverage(wanted, dict.fromkeys(held | terms.term_set(hit.title), 1.0), {})
        * (_READ + (1 - _READ) * terms.coverage(wanted, dict.fromkeys(terms.term_set(f"{hit.title} {hit.heading}"), 1.0), {}))
        / (1 + rank / 12)
        for rank, (hit, held) in enumerate(zip(question.hits, spoken, strict=True))
    ]
    chosen: dict[str, tuple[str, ...]] = {}
    order = [index for index in terms.spread(scores, spoken, len(spoken), _UNLIKE) if scores[index] >= _NEAR * max(scores)]
    for names in (_headings, _phrases):
        for index in order:
            name = names(question.hits[index], terms.term_set(question.query))
            if len(chosen) < count and name and _is_new(name, chosen):
                chosen[name] = _keywords(question.hits[index], spoken, question.query)
    return [*chosen.items(), *((name, ()) for name in _fallbacks(topic, count - len(chosen)))]


def _headings(hit: Hit, asked: terms.Terms) -> str:
    """Return a hit's heading, or its title, if it names more than the query does; else ""."""
    names = [name for name in (phrases.heading(hit.heading), phrases.heading(hit.title)) if name and not name.endswith("?")]
    return next((name for name in names if terms.term_set(name) - asked and len(terms.term_set(name)) <= 7), "")


def _phrases(hit: Hit, asked: terms.Terms) -> str:
    """Return the first phrase of a hit's text that names more than the query does; else ""."""
    found = (name for name in phrases.key_phrases(hit.snippet) if terms.term_set(name) - asked)
    return next((name[:1].upper() + name[1:] for name in found), "")


def _is_new(name: str, chosen: Iterable[str]) -> bool:
    mine = terms.term_set(name)
    taken = {"basic-facts", "sceptic", *(slug(other, 40) for other in chosen)}
    return slug(name, 40) not in taken and all(terms.contained(mine, terms.term_set(other)) < 0.6 for other in chosen)


def _keywords(hit: Hit, spoken: Sequence[terms.Terms], query: str) -> tuple[str, ...]:
    """Return the words that set this hit apart from the others, as written."""
    rare = terms.rarity(terms.document_counts(spoken), len(spoken))
    asked = terms.term_set(query)
    weights: dict[str, float] = {}
    for word in terms.words(hit.snippet):
        form = (terms.forms(word) or ("",))[0]
        if form and form not in asked and len(word) > 3 and word.lower() not in COMMON and not word[0].isdigit():
            weights[word.lower()] = weights.get(word.lower(), 0.0) + rare.get(form, 0.0)
    return tuple(sorted(weights, key=lambda word: (-weights[word], word))[:3])


def _fallbacks(topic: str, count: int) -> list[str]:
    plain = ("Practice", "Background", "Alternatives", "Consequences", "Costs", "Requirements", "Exceptions", "History")
    return [f"{name} of {topic}" for name in plain[: max(0, count)]]
