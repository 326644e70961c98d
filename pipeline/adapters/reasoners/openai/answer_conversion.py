"""Conversion of wire models into answers: keys become ids, levels become numbers, invalid parts are removed or refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pipeline.adapters.reasoners.openai import schemas as w
from pipeline.adapters.reasoners.openai.json_reply import UnusableReply
from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys
from pipeline.domain import reasoner_questions as q
from pipeline.domain.values import (
    Contradiction,
    Fact,
    Gap,
    Paragraph,
    Perspective,
    SectionPlan,
    Sentence,
    ValidatedFact,
    Value,
    Verdict,
)
from pipeline.text.normalise import digest_of, slug

_RELEVANCE = {"high": 0.9, "medium": 0.6, "low": 0.3}
_CONFIDENCE = {"high": 0.9, "medium": 0.7, "low": 0.5}
_NUMBER = re.compile(r"\d+(?:[.,\u202f\u00a0]\d{3}(?!\d))*(?:[.,]\d+)?")


def answer_of(question: q.Question[Any], said: w.Wire, keys: CitationKeys) -> Value:
    """Return the answer to the question from the model's reply.

    Raises:
        UnusableReply: the reply fits the schema, but not the question.
    """
    return _ANSWERS[type(question)](question, said, keys)


def _perspectives(question: q.PerspectivesQuestion, said: w.PerspectivesWire, keys: CitationKeys) -> q.Perspectives:
    """Ids depend on the place: the first perspective is ``basic-facts``, the last ``sceptic``."""
    usable = [view for view in said.perspectives if view.name.strip() and any(map(str.strip, view.questions))]
    if not usable:
        raise UnusableReply("No perspective has a name and a question.")
    chosen = usable if len(usable) <= question.count else [*usable[: question.count - 1], usable[-1]][: question.count]
    ids = _ids([view.name for view in chosen])
    views = (
        Perspective(
            id=name,
            name=keys.prose(view.name),
            focus=keys.prose(view.focus),
            questions=tuple(filter(None, map(keys.prose, view.questions)))[: question.questions],
            keywords=tuple(filter(None, map(keys.prose, view.keywords[:12]))),
        )
        for name, view in zip(ids, chosen, strict=True)
    )
    return q.Perspectives(perspectives=tuple(views))


def _ids(names: list[str]) -> list[str]:
    ids = ["basic-facts"]
    for name in names[1:-1]:
        wanted = slug(name, 40)
        ids.append(wanted if wanted not in (*ids, "sceptic") else f"{wanted}-{len(ids) + 1}")
    return [*ids, "sceptic"] if len(names) > 1 else ids


def _thought(question: q.ThoughtQuestion, said: w.ThoughtWire, keys: CitationKeys) -> q.Thought:
    queries = dict.fromkeys(filter(None, map(keys.prose, said.queries)))
    return q.Thought(reasoning=keys.prose(said.reasoning), queries=tuple(queries)[: question.limit])


def _observation(question: q.ObservationQuestion, said: w.ObservationWire, keys: CitationKeys) -> q.Observation:
    findings = (
        q.Finding(
            claim=keys.prose(finding.claim),
            quote=finding.quote.strip().removeprefix('"').removesuffix('"'),
            question=(keys.name("Q", finding.question) or "") if finding.question.strip() else "",
            relevance=_RELEVANCE[finding.relevance],
        )
        for finding in said.findings[: question.limit]
    )
    more = dict.fromkeys(name.strip() for name in said.more_sections if name.strip() and question.part == "page")
    return q.Observation(findings=tuple(findings), more=tuple(more))


def _evaluation(_question: q.EvaluationQuestion, said: w.EvaluationWire, keys: CitationKeys) -> q.Evaluation:
    return q.Evaluation(gaps=keys.names("Q", said.open_questions), reason=keys.prose(said.reason))


def _cross_check(question: q.CrossCheckQuestion, said: w.CrossCheckWire, keys: CitationKeys) -> q.CrossCheck:
    """Only facts of one group and of different origins count; what one confirms, the other does too."""
    peers = {fact.id: _peers(fact, group, question.origins) for group in question.groups for fact in group}
    facts = tuple(_confirmations(peers, said.confirmations, question.origins, keys))
    return q.CrossCheck(facts=facts, contradictions=tuple(_contradictions(peers, said.contradictions, keys)))


def _confirmations(
    peers: Mapping[str, set[str]], said: Iterable[w.SupportWire], origins: Mapping[str, str], keys: CitationKeys
) -> Iterator[ValidatedFact]:
    support: dict[str, dict[str, None]] = {name: {} for name in peers}
    confidence: dict[str, float] = {}
    for entry in said:
        if (fact := keys.name("E", entry.evidence)) in peers and fact is not None:
            for other in keys.names("E", entry.confirmed_by):
                if other in peers[fact]:
                    support[fact][other] = support[other][fact] = None
            confidence[fact] = _CONFIDENCE[entry.confidence]
    return (_validated(name, tuple(support[name]), confidence, origins) for name in peers)


def _peers(fact: Fact, group: Iterable[Fact], origins: Mapping[str, str]) -> set[str]:
    return {other.id for other in group if origins.get(other.id) != origins.get(fact.id)}


def _validated(name: str, support: tuple[str, ...], confidence: dict[str, float], origins: Mapping[str, str]) -> ValidatedFact:
    if not support:
        return ValidatedFact(fact_id=name, standing="single")
    sources = 1 + len({origins.get(other) for other in support})
    sure = confidence.get(name, _CONFIDENCE["medium"])
    return ValidatedFact(fact_id=name, standing="corroborated", support=support, sources=sources, confidence=sure)


def _contradictions(peers: Mapping[str, set[str]], said: Iterable[w.ClashWire], keys: CitationKeys) -> Iterable[Contradiction]:
    found: dict[frozenset[str], Contradiction] = {}
    for clash in said:
        first, second = keys.name("E", clash.first), keys.name("E", clash.second)
        if first is not None and second is not None and second in peers.get(first, ()):
            found.setdefault(frozenset((first, second)), _clash(clash, first, second, keys))
    return found.values()


def _clash(clash: w.ClashWire, first: str, second: str, keys: CitationKeys) -> Contradiction:
    name = digest_of(" ".join(sorted((first, second))).encode())[:12]
    return Contradiction(
        id=f"c-{name}",
        subject=keys.prose(clash.subject),
        kind=clash.kind,
        a=first,
        b=second,
        explanation=keys.prose(clash.explanation),
    )


def _gaps(_question: q.GapsQuestion, said: w.GapsWire, keys: CitationKeys) -> q.Gaps:
    gaps = (
        Gap(
            question=keys.prose(gap.question),
            importance=_RELEVANCE[gap.importance],
            reason=keys.prose(gap.reason),
            perspective=(keys.name("P", gap.perspective) or "") if gap.perspective.strip() else "",
        )
        for gap in said.gaps
    )
    return q.Gaps(gaps=tuple(sorted((gap for gap in gaps if gap.question), key=lambda gap: -gap.importance)))


def _outline(question: q.OutlineQuestion, said: w.OutlineWire, keys: CitationKeys) -> q.Outline:
    """A fact belongs to the first section that names it; a section without a fact is left out."""
    free = {fact.id for fact in question.facts}
    plans: list[SectionPlan] = []
    for section in said.sections:
        facts = tuple(name for name in keys.names("E", section.evidence) if name in free)
        free -= set(facts)
        if facts and keys.prose(section.title):
            title, purpose = keys.prose(section.title), keys.prose(section.purpose)
            plans.append(SectionPlan(id=f"s-{len(plans) + 1}", title=title, facts=facts, purpose=purpose))
    if not plans:
        raise UnusableReply("No section has a title and names a key of the evidence.")
    return q.Outline(title=keys.prose(said.title), sections=tuple(plans[: question.max_sections]))


def _section(question: q.SectionQuestion, said: w.SectionWire, keys: CitationKeys) -> q.SectionText:
    """Sentences after the allowed number of words are left out."""
    left = question.words
    paragraphs: list[Paragraph] = []
    for paragraph in said.paragraphs:
        sentences: list[Sentence] = []
        for sentence in paragraph.sentences:
            text = keys.prose(sentence.text)
            left -= len(text.split())
            if text and (left >= 0 or not (sentences or paragraphs)):
                sentences.append(Sentence(text=text, facts=keys.names("E", sentence.evidence)))
        if sentences:
            paragraphs.append(Paragraph(sentences=tuple(sentences)))
    if not any(sentence.facts for paragraph in paragraphs for sentence in paragraph.sentences):
        raise UnusableReply("No sentence cites a key of the evidence.")
    return q.SectionText(paragraphs=tuple(paragraphs))


def _claim_check(question: q.ClaimCheckQuestion, said: w.ClaimCheckWire, keys: CitationKeys) -> q.ClaimCheck:
    """A sentence with two verdicts needs both to be supported; a number that is in no quote is never supported."""
    found: dict[int, w.VerdictWire] = {}
    for verdict in said.verdicts:
        place = keys.name("T", verdict.sentence)
        if place is not None and (int(place) not in found or not verdict.supported):
            found[int(place)] = verdict
    missing = [f"T{place + 1}" for place in range(len(question.sentences)) if place not in found]
    if missing:
        raise UnusableReply(f"There is no verdict for {', '.join(missing[:20])}.")
    quotes = {fact.id: fact.quote for fact in question.facts}
    return q.ClaimCheck(verdicts=tuple(_verdict(place, found[place], question, quotes, keys) for place in sorted(found)))


def _verdict(
    place: int, said: w.VerdictWire, question: q.ClaimCheckQuestion, quotes: Mapping[str, str], keys: CitationKeys
) -> Verdict:
    sentence = question.sentences[place]
    held = [quotes[name] for name in sentence.facts if name in quotes]
    if not held:
        return Verdict(sentence=place, supported=False, reason="It cites no known fact.")
    unquoted = sorted(_numbers(sentence.text) - _numbers(" ; ".join([*held, question.query])))
    if said.supported and unquoted:
        return Verdict(sentence=place, supported=False, reason=f"No quote contains the number {unquoted[0]}.")
    return Verdict(sentence=place, supported=said.supported, reason=keys.prose(said.reason))


def _numbers(text: str) -> set[str]:
    """Return the numbers in a text, without thousands separators."""
    return {re.sub(r"[.,\u202f\u00a0](?=\d{3}(?!\d))", "", number).rstrip(".,") for number in _NUMBER.findall(text)}


def _fold(_question: q.FoldQuestion, said: w.FoldWire, keys: CitationKeys) -> q.FoldedContext:
    summary = "\n".join(filter(None, map(keys.prose, said.summary.splitlines())))
    if not summary:
        raise UnusableReply("The summary is empty.")
    return q.FoldedContext(summary=summary, mode=said.mode)


_ANSWERS: Mapping[type[q.Question[Any]], Callable[[Any, Any, CitationKeys], Value]] = MappingProxyType(
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
