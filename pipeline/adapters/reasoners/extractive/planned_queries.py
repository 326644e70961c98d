"""Answers to perspective and thought questions: the query, its parts and a sceptic's question as perspectives and searches."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.adapters.reasoners.extractive.question_subject import subject_of
from pipeline.domain.reasoner_questions import Perspectives, PerspectivesQuestion, Thought, ThoughtQuestion
from pipeline.domain.values import Perspective
from pipeline.text.normalise import counted, one_line, slug
from pipeline.text.ranking.query_terms import parse_question

BASIC, SCEPTIC = "basic-facts", "sceptic"
_DOUBTS = "limits exceptions risks warnings restrictions"


def perspectives(question: PerspectivesQuestion) -> Perspectives:
    """Return at most ``count`` perspectives: the query itself, each of its parts, and for a broad query the sceptic's."""
    query = parse_question(question.query)
    views = [
        Perspective(
            id=BASIC, name="The question itself", focus="What the sources say to the question", questions=(question.query,)
        )
    ]
    if len(query.clauses) > 1:
        views += [_part(clause, number) for number, clause in enumerate(query.clauses, start=1)]
    if query.broad:
        subject = subject_of(query, [f"{hit.title} {hit.heading}" for hit in question.hits])
        views = [*views[: max(1, question.count - 1)], _sceptic(subject)]
    return Perspectives(perspectives=tuple(views[: question.count]))


def _part(clause: str, number: int) -> Perspective:
    name = one_line(clause[:1].upper() + clause[1:], 80)
    return Perspective(id=f"part-{number}-{slug(clause, 30)}", name=name, focus="One part of the question", questions=(clause,))


def _sceptic(subject: str) -> Perspective:
    text = f"What are the limits, exceptions and risks of {subject}?"
    return Perspective(
        id=SCEPTIC, name="Limits, exceptions and risks", focus="What speaks against it", questions=(text,), keywords=(subject,)
    )


def think(question: ThoughtQuestion) -> Thought:
    """Return the perspective's questions that have not been searched for; none if all have."""
    asked = {query.casefold() for query in question.asked}
    fresh = [query for query in dict.fromkeys(_searches(question)) if query.casefold() not in asked][: question.limit]
    done = f"{counted(len(question.facts), 'passage is', 'passages are')} known." if question.facts else "Nothing is known yet."
    following = f"Next: {'; '.join(fresh)}" if fresh else "All has been asked."
    return Thought(reasoning=f"{done} {following}", queries=tuple(fresh))


def _searches(question: ThoughtQuestion) -> Iterator[str]:
    view = question.perspective
    if view.id == SCEPTIC and view.keywords:
        yield f"{' '.join(view.keywords)} {_DOUBTS}"
        return
    yield from view.questions
    if question.iteration > 1:
        yield from question.gaps
