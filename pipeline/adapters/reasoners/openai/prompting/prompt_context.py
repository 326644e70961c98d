"""The values that a question's prompt template may use. Fetched text is always ``Material`` inside delimiters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys
from pipeline.adapters.reasoners.openai.prompting.delimiters import Delimiters, Material
from pipeline.adapters.reasoners.openai.prompting.fact_listing import (
    confirmed,
    contradiction_lines,
    evidence,
    fact_tokens,
    group,
    place_of,
)
from pipeline.adapters.reasoners.openai.prompting.page_excerpt import excerpt
from pipeline.domain import reasoner_questions as q
from pipeline.domain.values import Fact, Hit, Perspective, Sentence
from pipeline.text.normalise import one_line, tokens

SUMMARY = "summary"
_SNIPPET = 400  # characters of a hit's snippet

View = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PromptParts:
    """The citation keys and delimiters of one prompt. ``limit`` is the most fetched text, in tokens."""

    keys: CitationKeys
    delimiters: Delimiters
    limit: int


def view_of(question: q.Question[Any], tools: PromptParts) -> View:
    """Return the values by name that the template of this question may use; ``query`` is always among them."""
    return {"query": question.query, **_VIEWS[type(question)](question, tools)}


def _perspective(view: Perspective, tools: PromptParts) -> View:
    asked = [{"key": tools.keys.give("Q", text), "text": text} for text in view.questions]
    return {"key": tools.keys.give("P", view.id), "name": view.name, "focus": view.focus, "questions": asked}


def _perspectives(question: q.PerspectivesQuestion, tools: PromptParts) -> View:
    lines, left = [], tools.limit
    for line in map(_hit, question.hits):
        left -= tokens(line)
        if left >= 0:
            lines.append(line)
    hits = tools.delimiters.block("HITS", "\n".join(lines) or "(none)")
    return {"hits": hits, "count": question.count, "questions": question.questions}


def _hit(hit: Hit) -> str:
    return f"- {one_line(hit.title)} ({place_of(hit.url, hit.heading)}): {one_line(hit.snippet, _SNIPPET)}"


def _memory(context: q.WorkerContext, tools: PromptParts) -> View:
    """Return a worker's context: condensed levels from the oldest to the newest, latest interactions, pages."""
    named = [f"L{level}: {text}" for level, text in reversed(list(enumerate(context.levels))) if text]
    return {
        "memory": tools.delimiters.block("MEMORY", "\n\n".join(named)) if named else "",
        "recent": tools.delimiters.block("RECENT", "\n".join(context.recent)) if context.recent else "",
        "pages": tools.delimiters.block("PAGES", "\n".join(context.pages)) if context.pages else "",
    }


def _unfolded(facts: Sequence[Fact], context: q.WorkerContext) -> list[Fact]:
    folded = set(context.folded)
    return [fact for fact in facts if fact.id not in folded]


def _thought(question: q.ThoughtQuestion, tools: PromptParts) -> View:
    facts = _unfolded(question.facts, question.context)
    return {
        **_memory(question.context, tools),
        "perspective": _perspective(question.perspective, tools),
        "iteration": question.iteration,
        "evidence": _evidence(facts, question, tools),
        "gaps": list(question.gaps),
        "asked": list(question.asked),
        "limit": question.limit,
        "earlier": _earlier(question.earlier, tools),
        "earlier_on": question.earlier_on,
    }


def _earlier(facts: Sequence[Fact], tools: PromptParts) -> Material | str:
    """Return the claims of an earlier report without keys, because they are not evidence for this one."""
    lines, left = [], tools.limit // 4
    for fact in facts:
        lines.append(f"- {one_line(fact.claim, _SNIPPET)} ({place_of(fact.url)})")
        left -= tokens(lines[-1])
        if left < 0:
            break
    return tools.delimiters.block("EARLIER", "\n".join(lines)) if lines else ""


def _observation(question: q.ObservationQuestion, tools: PromptParts) -> View:
    key = tools.keys.give("S", question.url)
    text = excerpt(question.text, question.focus, tools.limit)
    place = f"{one_line(question.title)} ({place_of(question.url)})"
    return {
        "perspective": _perspective(question.perspective, tools),
        "searches": list(question.searches),
        "source": key,
        "page": tools.delimiters.block(key, f"{place}\n\n{text}"),
        "limit": question.limit,
    }


def _evaluation(question: q.EvaluationQuestion, tools: PromptParts) -> View:
    facts = _unfolded(question.facts, question.context)
    return {
        **_memory(question.context, tools),
        "perspective": _perspective(question.perspective, tools),
        "iteration": question.iteration,
        "evidence": _evidence(facts, question, tools),
    }


def _evidence(facts: Sequence[Fact], question: q.Question[Any], tools: PromptParts) -> Material:
    """Return the list of ``facts``, with what the question knows of them and of their sources."""
    validated, published = getattr(question, "validated", ()), dict(getattr(question, "published", {}))
    return evidence(facts, tools.keys, tools.delimiters, tools.limit, validated, published)


def _cross_check(question: q.CrossCheckQuestion, tools: PromptParts) -> View:
    blocks: list[Material] = []
    left = tools.limit
    for number, facts in enumerate(question.groups, start=1):
        left -= sum(fact_tokens(fact) for fact in facts)
        if left >= 0 or not blocks:
            label = f"GROUP-{number}"
            blocks.append(group(facts, tools.keys, tools.delimiters, question.origins, label, question.published))
    return {"groups": blocks, "today": question.today}


def _gaps(question: q.GapsQuestion, tools: PromptParts) -> View:
    shown = _evidence(question.facts, question, tools)
    return {
        "perspectives": [_perspective(view, tools) for view in question.perspectives],
        "evidence": shown,
        "confirmed": confirmed(question.validated, tools.keys),
        "contradictions": contradiction_lines(question.contradictions, tools.keys),
        "open_questions": list(question.open_questions),
    }


def _outline(question: q.OutlineQuestion, tools: PromptParts) -> View:
    shown = _evidence(question.facts, question, tools)
    return {
        "perspectives": [_perspective(view, tools) for view in question.perspectives],
        "evidence": shown,
        "confirmed": confirmed(question.validated, tools.keys),
        "contradictions": contradiction_lines(question.contradictions, tools.keys),
        "min_sections": question.min_sections,
        "max_sections": question.max_sections,
        "words": question.words,
    }


def _section(question: q.SectionQuestion, tools: PromptParts) -> View:
    written = {name for sentence in question.written for name in sentence.facts}
    facts = [fact for fact in question.facts if not written or fact.id in written]
    shown = _evidence(facts, question, tools)
    draft = [sentence for paragraph in question.draft for sentence in paragraph.sentences]
    faults = {verdict.sentence: verdict.reason for verdict in question.unsupported}
    return {
        "is_summary": question.section.id == SUMMARY,
        "title": question.section.title,
        "purpose": question.section.purpose,
        "own": tools.keys.given("E", question.section.facts),
        "evidence": shown,
        "confirmed": confirmed(question.validated, tools.keys),
        "contradictions": contradiction_lines(question.contradictions, tools.keys),
        "other_sections": list(question.other_sections),
        "written": [_sentence_view(sentence, tools.keys) for sentence in question.written],
        "draft": [{**_sentence_view(text, tools.keys), "fault": faults.get(place, "")} for place, text in enumerate(draft)],
        "words": question.words,
    }


def _sentence_view(sentence: Sentence, keys: CitationKeys) -> View:
    return {"text": sentence.text, "keys": keys.given("E", sentence.facts)}


def _claim_check(question: q.ClaimCheckQuestion, tools: PromptParts) -> View:
    shown = _evidence(question.facts, question, tools)
    listed = [
        {**_sentence_view(sentence, tools.keys), "key": tools.keys.give("T", str(place))}
        for place, sentence in enumerate(question.sentences)
    ]
    return {"evidence": shown, "sentences": listed}


def _fold(question: q.FoldQuestion, tools: PromptParts) -> View:
    return {
        **_memory(question.context, tools),
        "perspective": _perspective(question.perspective, tools),
        "evidence": _evidence(question.facts, question, tools),
        "searches": list(question.searches),
        "words": max(20, question.limit_tokens // 2),
        "folded_levels": "L2, L1 and L0" if question.deep_level == 2 else "L1 and L0",
    }


_VIEWS: Mapping[type[q.Question[Any]], Callable[[Any, PromptParts], View]] = MappingProxyType(
    {
        q.PerspectivesQuestion: _perspectives,
        q.ThoughtQuestion: _thought,
        q.ObservationQuestion: _observation,
        q.EvaluationQuestion: _evaluation,
        q.CrossCheckQuestion: _cross_check,
        q.GapsQuestion: _gaps,
        q.OutlineQuestion: _outline,
        q.SectionQuestion: _section,
        q.ClaimCheckQuestion: _claim_check,
        q.FoldQuestion: _fold,
    }
)
