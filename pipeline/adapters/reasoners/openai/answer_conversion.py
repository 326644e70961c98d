"""Conversion of wire models into answers: keys become ids, levels become numbers, invalid parts are removed or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pipeline.adapters.reasoners.openai import schemas as w
from pipeline.adapters.reasoners.openai.json_reply import UnusableReply
from pipeline.adapters.reasoners.openai.prompting.citation_keys import CitationKeys
from pipeline.domain import reasoner_questions as q
from pipeline.domain.reasoner_questions.memory_questions import (
    EpisodeQuestion,
    EpisodeSentences,
)
from pipeline.domain.reasoner_questions.talk_questions import StandAlone, StandAloneQuestion, TalkQuestion, TalkReply
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
from pipeline.text.words import word_count

_RELEVANCE = {"high": 0.9, "medium": 0.6, "low": 0.3}
_CONFIDENCE = {"high": 0.9, "medium": 0.7, "low": 0.5}


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
            claim=keys.prose(finding.claim, [finding.quote, question.query]) or finding.quote,
            quote=finding.quote.strip().removeprefix('"').removesuffix('"'),
            question=(keys.name("Q", finding.question) or "") if finding.question.strip() else "",
            relevance=_RELEVANCE[finding.relevance],
        )
        for finding in said.findings[: question.limit]
    )
    more = dict.fromkeys(name.strip() for name in said.more_sections if name.strip() and question.part == "page")
    return q.Observation(findings=tuple(findings), more=tuple(more))


def _evaluation(question: q.EvaluationQuestion, said: w.EvaluationWire, keys: CitationKeys) -> q.Evaluation:
    """A reply without queries says nothing about them: a worker is finished only if it has an empty list."""
    gaps, reason = keys.names("Q", said.open_questions), keys.prose(said.reason)
    if said.queries is None or not question.limit:
        return q.Evaluation(gaps=gaps, reason=reason)
    queries = dict.fromkeys(filter(None, map(keys.prose, said.queries)))
    return q.Evaluation(gaps=gaps, reason=reason, queries=tuple(queries)[: question.limit])


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
    spoken = _spoken(question.facts, question.query).values()
    plans: list[SectionPlan] = []
    for section in said.sections:
        facts = tuple(name for name in keys.names("E", section.evidence) if name in free)
        free -= set(facts)
        title, purpose = keys.prose(section.title, spoken), keys.prose(section.purpose, spoken)
        if facts and title:
            name = f"s-{len(plans) + 1}"
            plans.append(SectionPlan(id=name, title=title, facts=facts, purpose=purpose, shape=section.shape))
    if not plans:
        raise UnusableReply("No section has a title and names a key of the evidence.")
    return q.Outline(title=keys.prose(said.title, spoken), sections=tuple(plans[: question.max_sections]))


def _section(question: q.SectionQuestion, said: w.SectionWire, keys: CitationKeys) -> q.SectionText:
    """Sentences after the allowed number of words are left out."""
    spoken = _spoken(question.facts, question.query)
    left = question.words
    paragraphs: list[Paragraph] = []
    for paragraph in said.paragraphs:
        sentences: list[Sentence] = []
        for one in paragraph.sentences:
            sentence = _sentence(one, keys, spoken, paragraph.form)
            left -= word_count(sentence.text) + sum(map(word_count, sentence.cells))
            if (sentence.text or sentence.cells) and (left >= 0 or not (sentences or paragraphs)):
                sentences.append(sentence)
        if sentences:
            header = tuple(keys.prose(name, spoken.values()) for name in paragraph.header) if paragraph.form == "table" else ()
            paragraphs.append(Paragraph(sentences=tuple(sentences), form=paragraph.form, header=header))
    if not any(sentence.facts for paragraph in paragraphs for sentence in paragraph.sentences):
        raise UnusableReply("No sentence cites a key of the evidence.")
    return q.SectionText(paragraphs=tuple(paragraphs))


def _spoken(facts: Iterable[Fact], query: str) -> dict[str, str]:
    """Return the texts whose words are no keys, even if they look like some: the quotes by fact id, and the user's question."""
    return {"": query} | {fact.id: f"{fact.lead} {fact.quote}" for fact in facts}


def _sentence(
    said: w.SentenceWire | w.EditWire, keys: CitationKeys, spoken: Mapping[str, str], form: str = "paragraph"
) -> Sentence:
    entries = (part.strip("[]() ") for entry in said.evidence for part in entry.replace(";", ",").split(","))
    cited = [key for key in entries if key]
    named = {key: keys.name("E", key) for key in cited}
    facts = tuple(dict.fromkeys(name for name in named.values() if name is not None))
    known = [spoken[""], *(spoken[name] for name in facts if name in spoken)]
    unknown = [key if _is_key(key) else "what is no key" for key, name in named.items() if name is None]
    if form != "code":
        unknown += keys.strangers(" ".join([said.text, *said.cells]), spoken.values())
    text = said.text if form == "code" else keys.prose(said.text, known)
    cells = tuple(keys.prose(cell, known) for cell in said.cells) if form in ("table", "") else ()
    return Sentence(text=text, facts=facts, basis=said.basis, cells=cells, unknown=tuple(dict.fromkeys(unknown)))


def _is_key(text: str) -> bool:
    """Return whether a text may be a key, which may be repeated to the user; a model may write anything in its place."""
    return len(text) <= 7 and text[:1].isalpha() and text[1:].isdecimal()


def _claim_check(question: q.ClaimCheckQuestion, said: w.ClaimCheckWire, keys: CitationKeys) -> q.ClaimCheck:
    """A sentence with two verdicts needs both to be supported, one that cites nothing has to be named among ``claimless`` too."""
    found: dict[int, w.VerdictWire] = {}
    for verdict in said.verdicts:
        place = keys.name("T", verdict.sentence)
        if place is not None and (int(place) not in found or not verdict.supported):
            found[int(place)] = verdict
    wanted = range(len(question.sentences) + len(question.headings))
    missing = [f"T{place + 1}" for place in wanted if place not in found]
    if missing:
        raise UnusableReply(f"There is no verdict for {', '.join(missing[:20])}.")
    spoken = _spoken(question.facts, question.query).values()
    claimless = {int(place) for place in keys.names("T", said.claimless)}
    claims = {place for place, one in enumerate(question.sentences) if one.basis == "bridge"} - claimless
    verdicts = (
        Verdict(
            sentence=place,
            supported=found[place].supported and place not in claims,
            reason=keys.prose(found[place].reason, spoken) or ("It cites nothing." if place in claims else ""),
        )
        for place in sorted(found)
    )
    overstated = tuple(name for name in keys.names("E", said.overstated) if name in question.claims)
    return q.ClaimCheck(verdicts=tuple(verdicts), overstated=overstated)


def _revision(question: q.RevisionQuestion, said: w.RevisionWire, keys: CitationKeys) -> q.Revision:
    """A sentence without an edit is dropped: it is known to be unsupported."""
    spoken = _spoken(question.facts, question.query)
    edits = {edit.place: edit for edit in _edits(said.edits, keys, spoken)}
    wanted = range(len(question.sentences))
    title = keys.prose(said.title, spoken.values()) if question.heading else ""
    return q.Revision(edits=tuple(edits.get(place) or q.Edit(place=place, drop=True) for place in wanted), title=title)


def _edits(said: Iterable[w.EditWire], keys: CitationKeys, spoken: Mapping[str, str]) -> Iterable[q.Edit]:
    """Yield the edits of known sentences; one without text is no edit unless it drops its sentence."""
    for edit in said:
        place = keys.name("T", edit.sentence)
        if place is None:
            continue
        sentence = _sentence(edit, keys, spoken, "")
        if edit.drop or sentence.text or sentence.cells:
            yield q.Edit(place=int(place), drop=edit.drop, sentence=sentence)


def _editing(question: q.EditingQuestion, said: w.EditingWire, keys: CitationKeys) -> q.Editing:
    spoken = _spoken(question.facts, question.query)
    return q.Editing(
        edits=tuple(_edits(said.edits, keys, spoken)),
        order=keys.names("R", said.order),
        to_do=_within(said.to_do, question.words, keys, spoken),
        certainty=_within(said.how_sure, question.words, keys, spoken),
    )


def _within(said: Iterable[w.SentenceWire], words: int, keys: CitationKeys, spoken: Mapping[str, str]) -> tuple[Sentence, ...]:
    """Return the sentences up to the allowed number of words; the first one stays whatever its length."""
    kept: list[Sentence] = []
    for one in said:
        sentence = _sentence(one, keys, spoken)
        words -= word_count(sentence.text)
        if sentence.text and (words >= 0 or not kept):
            kept.append(sentence)
    return tuple(kept)


def _fold(_question: q.FoldQuestion, said: w.FoldWire, keys: CitationKeys) -> q.FoldedContext:
    summary = "\n".join(filter(None, map(keys.prose, said.summary.splitlines())))
    if not summary:
        raise UnusableReply("The summary is empty.")
    return q.FoldedContext(summary=summary, mode=said.mode)


def _stand_alone(question: StandAloneQuestion, said: w.StandAloneWire, keys: CitationKeys) -> StandAlone:
    return StandAlone(question=keys.prose(said.question, [question.query]) or question.query)


def _talk(question: TalkQuestion, said: w.TalkWire, keys: CitationKeys) -> TalkReply:
    """No sentence is an answer too: the evidence does not say."""
    sentences = _within(said.sentences, question.words, keys, _spoken(question.facts, question.query))
    return TalkReply(sentences=sentences, follow_ups=tuple(filter(None, map(keys.prose, said.follow_ups))))


def _episode(question: EpisodeQuestion, said: w.EpisodeWire, keys: CitationKeys) -> EpisodeSentences:
    spoken = _spoken(question.facts, question.query)
    return EpisodeSentences(sentences=_within(said.episode[: question.count], question.words, keys, spoken))


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
        q.RevisionQuestion: _revision,
        q.EditingQuestion: _editing,
        q.FoldQuestion: _fold,
        StandAloneQuestion: _stand_alone,
        TalkQuestion: _talk,
        EpisodeQuestion: _episode,
    }
)
