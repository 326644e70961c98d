"""The values that a question's prompt template may use. Fetched text is always ``Material`` inside delimiters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys
from pipeline.adapters.reasoners.openai.prompting.delimiters import Material
from pipeline.adapters.reasoners.openai.prompting.fact_listing import (
    confirmed,
    contradiction_lines,
    evidence,
    fact_tokens,
    group,
    place_of,
)
from pipeline.adapters.reasoners.openai.prompting.memory_context import (
    episode_view,
    recalled_view,
    stand_alone_view,
    talk_view,
)
from pipeline.adapters.reasoners.openai.prompting.page_excerpt import PAGE_TOKENS, Excerpt, excerpt
from pipeline.adapters.reasoners.openai.prompting.prompt_parts import SNIPPET, PromptParts, View, evidence_for
from pipeline.domain import reasoner_questions as q
from pipeline.domain.reasoner_questions.memory_questions import EpisodeQuestion
from pipeline.domain.reasoner_questions.talk_questions import StandAloneQuestion, TalkQuestion
from pipeline.domain.values import Fact, Hit, Perspective, Sentence
from pipeline.text.normalise import one_line, tokens

SUMMARY = "summary"
_GAP_TOKENS = 1_500  # of a page in which an answer to one question is looked for
_OTHERS_TOKENS = 750  # of what other workers found, and of what a worker found on other questions
_SHOWN = 2  # facts of one page on one question that a worker is shown, to tell what is still open


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
    recalled = recalled_view(question.recalled, tools)
    return {"hits": hits, "count": question.count, "questions": question.questions, "recalled": recalled}


def _hit(hit: Hit) -> str:
    return f"- {one_line(hit.title)} ({place_of(hit.url, hit.heading)}): {one_line(hit.snippet, SNIPPET)}"


def _memory(context: q.WorkerContext, tools: PromptParts) -> View:
    """Return a worker's context: condensed levels from the oldest to the newest, latest interactions, pages."""
    named = [f"L{level}: {text}" for level, text in reversed(list(enumerate(context.levels))) if text]
    return {
        "memory": tools.delimiters.block("MEMORY", "\n\n".join(named)) if named else "",
        "recent": tools.delimiters.block("RECENT", "\n".join(context.recent)) if context.recent else "",
        "pages": tools.delimiters.block("PAGES", "\n".join(context.pages)) if context.pages else "",
    }


def _known(facts: Sequence[Fact], view: Perspective, context: q.WorkerContext, tools: PromptParts, most: int = 0) -> View:
    """Return the worker's facts since its last fold: its own questions' as evidence, those of other questions as claims.

    ``most``: of each page and question only that many, the most relevant ones; ``more`` counts the others. 0: all.
    """
    fresh = [fact for fact in facts if fact.id not in set(context.folded)]
    own = [fact for fact in fresh if not fact.question or fact.question in view.questions]
    also = _claims(_best([fact for fact in fresh if fact not in own], 1), min(tools.limit, _OTHERS_TOKENS))
    shown = _best(own, most) if most else own
    return {
        "evidence": evidence(shown, tools.keys, tools.delimiters, tools.limit),
        "more": len(own) - len(shown),
        "also": tools.delimiters.block("ALSO", also) if also else "",
    }


def _best(facts: Sequence[Fact], most: int) -> list[Fact]:
    """Return the most relevant facts of each page on each question, in the order of ``facts``.

    What is read later does not change the choice among the pages before, so a longer list begins with the shorter one.
    """
    kept: Counter[tuple[str, str]] = Counter()
    best: set[str] = set()
    for fact in sorted(facts, key=lambda fact: -fact.relevance):
        kept[fact.url, fact.question] += 1
        if kept[fact.url, fact.question] <= most:
            best.add(fact.id)
    return [fact for fact in facts if fact.id in best]


def _thought(question: q.ThoughtQuestion, tools: PromptParts) -> View:
    return {
        **_memory(question.context, tools),
        "perspective": _perspective(question.perspective, tools),
        "iteration": question.iteration,
        **_known(question.facts, question.perspective, question.context, tools, _SHOWN),
        "gaps": list(question.gaps),
        "asked": list(question.asked),
        "limit": question.limit,
        "others": _others(question, tools),
        "earlier": _earlier(question.earlier, tools),
        "earlier_on": question.earlier_on,
        "recalled": recalled_view(question.recalled, tools),
    }


def _others(question: q.ThoughtQuestion | q.EvaluationQuestion, tools: PromptParts) -> View:
    """Return what other workers did, shortly: their facts as claims without keys, because they are cited by others."""
    others, own = question.others, {fact.id for fact in question.facts}
    known = _best([fact for fact in others.facts if fact.id not in own], 1)
    claims = _claims(known, min(tools.limit, _OTHERS_TOKENS))
    return {
        "searches": list(others.queries),
        "pages": tools.delimiters.block("OTHERS-PAGES", "\n".join(others.pages)) if others.pages else "",
        "facts": tools.delimiters.block("OTHERS-FACTS", claims) if claims else "",
        "failed": tools.delimiters.block("FAILED", "\n".join(others.failed)) if others.failed else "",
    }


def _claims(facts: Sequence[Fact], left: int) -> str:
    lines: list[str] = []
    for fact in facts:
        lines.append(f"- {one_line(fact.claim, SNIPPET)} ({place_of(fact.url)})")
        left -= tokens(lines[-1])
        if left < 0:
            break
    return "\n".join(lines)


def _earlier(facts: Sequence[Fact], tools: PromptParts) -> Material | str:
    """Return the claims of an earlier report without keys, because they are not evidence for this one."""
    claims = _claims(facts, tools.limit // 4)
    return tools.delimiters.block("EARLIER", claims) if claims else ""


def _observation(question: q.ObservationQuestion, tools: PromptParts) -> View:
    key = tools.keys.give("S", question.url)
    asked = [text for view in question.perspectives for text in view.questions]
    shown = _shown(question, asked, min(tools.limit, PAGE_TOKENS))
    place = f"{one_line(question.title)} ({place_of(question.url)})"
    left_out = "\n".join(shown.left_out) if question.part == "page" else ""
    wrong = "\n\n".join(_wrong_quote(entry) for entry in question.wrong_quotes)
    return {
        "perspectives": [_perspective(view, tools) for view in question.perspectives],
        "source": key,
        "page": tools.delimiters.block(key, f"{place}\n\n{shown.text}") if shown.text else "",
        "left_out": tools.delimiters.block("HEADINGS", left_out) if left_out else "",
        "wrong_quotes": tools.delimiters.block("CLAIMS", wrong) if wrong else "",
        "limit": question.limit,
        "part": question.part,
        **_names_of_older_templates(asked, tools),
    }


def _names_of_older_templates(asked: Sequence[str], tools: PromptParts) -> View:
    """Return what a workspace's observation template from before pages were shared prints: one perspective, the searches."""
    questions = [{"key": tools.keys.give("Q", text), "text": text} for text in asked]
    return {"perspective": {"key": "", "name": "All perspectives", "focus": "", "questions": questions}, "searches": []}


def _shown(question: q.ObservationQuestion, asked: Sequence[str], limit: int) -> Excerpt:
    """Return what is shown of a page: of a large one the parts on the questions, or the sections that were asked for."""
    if question.part == "gap":
        return excerpt(question.text, asked, min(limit, _GAP_TOKENS))
    if question.part == "rest":
        return excerpt(question.text, asked, limit, question.sections)
    return excerpt(question.text, [question.query, *asked], limit)


def _wrong_quote(entry: q.WrongQuote) -> str:
    return f"Claim: {one_line(entry.claim, 1_000)}\nQuote: {entry.quote}\nNearest passage of the page:\n{entry.nearest}"


def _evaluation(question: q.EvaluationQuestion, tools: PromptParts) -> View:
    return {
        **_memory(question.context, tools),
        "perspective": _perspective(question.perspective, tools),
        "iteration": question.iteration,
        **_known(question.facts, question.perspective, question.context, tools, _SHOWN),
        "asked": list(question.asked),
        "limit": question.limit,
        "others": _others(question, tools),
    }


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
    shown = evidence_for(question.facts, question, tools)
    return {
        "perspectives": [_perspective(view, tools) for view in question.perspectives],
        "evidence": shown,
        "confirmed": confirmed(question.validated, tools.keys),
        "contradictions": contradiction_lines(question.contradictions, tools.keys),
        "open_questions": list(question.open_questions),
    }


def _outline(question: q.OutlineQuestion, tools: PromptParts) -> View:
    shown = evidence_for(question.facts, question, tools)
    return {
        "perspectives": [_perspective(view, tools) for view in question.perspectives],
        "evidence": shown,
        "today": question.today,
        "confirmed": confirmed(question.validated, tools.keys),
        "contradictions": contradiction_lines(question.contradictions, tools.keys),
        "min_sections": question.min_sections,
        "max_sections": question.max_sections,
        "words": question.words,
    }


def _section(question: q.SectionQuestion, tools: PromptParts) -> View:
    written = {name for sentence in question.written for name in sentence.facts}
    facts = [fact for fact in question.facts if not written or fact.id in written]
    shown = evidence_for(facts, question, tools)
    return {
        "is_summary": question.section.id == SUMMARY,
        "title": question.section.title,
        "purpose": question.section.purpose,
        "shape": question.section.shape,
        "own": tools.keys.given("E", question.section.facts),
        "evidence": shown,
        "confirmed": confirmed(question.validated, tools.keys),
        "contradictions": contradiction_lines(question.contradictions, tools.keys),
        "other_sections": list(question.other_sections),
        "written": [_sentence_view(sentence, tools.keys) for sentence in question.written],
        "words": question.words,
        "today": question.today,
    }


def _sentence_view(sentence: Sentence, keys: CitationKeys) -> View:
    return {"text": sentence.text, "keys": keys.given("E", sentence.facts), "basis": sentence.basis}


def _claim_check(question: q.ClaimCheckQuestion, tools: PromptParts) -> View:
    shown = evidence_for(question.facts, question, tools)
    noticed = question.warnings or [""] * len(question.sentences)
    keyed = _keyed(question.sentences, tools.keys)
    listed = [{**view, "warning": warning} for view, warning in zip(keyed, noticed, strict=True)]
    headings = [{"key": tools.keys.give("T", str(len(listed) + at)), "text": text} for at, text in enumerate(question.headings)]
    claims = tools.keys.given("E", question.claims)
    return {"evidence": shown, "sentences": listed, "headings": headings, "claims": claims, "today": question.today}


def _keyed(sentences: Sequence[Sentence], keys: CitationKeys, start: int = 0) -> list[View]:
    return [
        {**_sentence_view(sentence, keys), "key": keys.give("T", str(place))}
        for place, sentence in enumerate(sentences, start=start)
    ]


def _revision(question: q.RevisionQuestion, tools: PromptParts) -> View:
    shown = evidence_for(question.facts, question, tools)
    listed = _keyed(question.sentences, tools.keys)
    return {
        "title": question.section.title,
        "evidence": shown,
        "sentences": [{**view, "fault": fault} for view, fault in zip(listed, question.reasons, strict=True)],
        "heading": question.heading,
        "today": question.today,
    }


def _editing(question: q.EditingQuestion, tools: PromptParts) -> View:
    shown = evidence_for(question.facts, question, tools)
    sections: list[View] = []
    start = 0
    for section in question.sections:
        sentences = [sentence for paragraph in section.paragraphs for sentence in paragraph.sentences]
        key = "" if section.id == SUMMARY else tools.keys.give("R", section.id)
        sections.append({"key": key, "title": section.title, "sentences": _keyed(sentences, tools.keys, start)})
        start += len(sentences)
    return {
        "title": question.title,
        "evidence": shown,
        "sections": sections,
        "contradictions": contradiction_lines(question.contradictions, tools.keys),
        "gaps": [gap.question for gap in question.gaps],
        "words": question.words,
        "today": question.today,
    }


def _fold(question: q.FoldQuestion, tools: PromptParts) -> View:
    return {
        **_memory(question.context, tools),
        "perspective": _perspective(question.perspective, tools),
        **_known(question.facts, question.perspective, question.context, tools),
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
        q.RevisionQuestion: _revision,
        q.EditingQuestion: _editing,
        q.FoldQuestion: _fold,
        StandAloneQuestion: stand_alone_view,
        TalkQuestion: talk_view,
        EpisodeQuestion: episode_view,
    }
)
