"""Why a sentence of a report says something: its facts, and the searches, thoughts and perspectives that led to them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.domain.page_choice_and_findings import all_facts, contradictions, without_fragment
from pipeline.domain.report_draft import kept_text
from pipeline.domain.research_values import CutSentence, Fact, Hit
from pipeline.domain.session_state import SUMMARY, SessionState, outcome_of, workers_in_order
from pipeline.text import translations
from pipeline.text.cleaning import normalised
from pipeline.text.questions import content_stems
from pipeline.text.words import jaccard, language_code

_LEAST_LIKENESS = 0.2  # of the words asked for and a sentence's
_SHORTEST_ID = 4


def sentences_of_report(state: SessionState) -> list[CutSentence]:
    """Return the sentences of the report, the summary first, then those that were cut; before the report, those written.

    Of one that was not cut the ``reason`` is "".
    """
    kept, cut = (state.report.sections, state.report.cut_sentences) if state.report else kept_text(state)
    summary = state.report.summary if state.report else ()
    found = [CutSentence(section=SUMMARY, title="", text=one.text, facts=one.facts) for one in summary]
    found += [
        CutSentence(section=section.id, title=section.title, text=one.text, facts=one.facts)
        for section in kept
        for paragraph in section.paragraphs
        for one in paragraph.sentences
    ]
    known = {(one.section, one.text) for one in found}
    found += [one for one in cut if (one.section, one.text) not in known]
    words = "Nearest" if outcome_of(state) == "passages" else "In short"
    title = translations.label(words, language_code(state.query, *(fact.quote for fact in state.facts.values())))
    return [one.model_copy(update={"title": title}) if one.section == SUMMARY else one for one in found]


@dataclass(frozen=True, slots=True)
class Origin:
    """One way to a page: the search that found it, the hit's place in it, and the thought and perspective behind the search.

    ``is_first``: it is the first search, on the question itself, without a thought behind it.
    """

    search: str
    rank: int
    thought: str = ""
    perspective: str = ""
    focus: str = ""
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact with the ways to its page. ``against`` holds pairs of a fact that contradicts it and the explanation."""

    fact: Fact
    origins: tuple[Origin, ...]
    against: tuple[tuple[Fact, str], ...]


@dataclass(frozen=True, slots=True)
class Why:
    """A sentence, or None for a fact that was named, and the evidence for it, in the order of its citations."""

    sentence: CutSentence | None
    evidence: tuple[Evidence, ...]


def why(state: SessionState, words: str) -> Why | None:
    """Return the evidence for the fact of that id, or for the sentence nearest to ``words``; None if nothing is near.

    Near is the sentence that contains the words, or else shares most of its stems with them; the first of several.
    """
    facts = {fact.id: fact for fact in all_facts(state)}
    wanted = words.strip().removeprefix("fact:")
    if named := [name for name in facts if len(wanted) >= _SHORTEST_ID and name.startswith(wanted)]:
        return Why(None, (_evidence(state, facts, named[0]),))
    plain, stems, sentences = normalised(words).casefold(), content_stems(words), sentences_of_report(state)

    def likeness(one: CutSentence) -> float:
        said = content_stems(one.text)
        share = len(stems & said) / len(stems) if stems else 0.0
        return max(jaccard(stems, said), 0.5 * share)

    sentence = next((one for one in sentences if plain and plain in normalised(one.text).casefold()), None)
    sentence = sentence or max(sentences, key=likeness, default=None)
    if sentence is None or (plain not in normalised(sentence.text).casefold() and likeness(sentence) < _LEAST_LIKENESS):
        return None
    return Why(sentence, tuple(_evidence(state, facts, name) for name in sentence.facts if name in facts))


def _evidence(state: SessionState, facts: dict[str, Fact], name: str) -> Evidence:
    pairs = [pair for pair in contradictions(state) if name in (pair.a, pair.b)]
    others = [(pair.b if pair.a == name else pair.a, pair.explanation or pair.subject) for pair in pairs]
    against = tuple((facts[other], text) for other, text in others if other in facts)
    return Evidence(facts[name], tuple(_origins(state, facts[name].url)), against)


def _origins(state: SessionState, url: str) -> Iterator[Origin]:
    """Yield the ways to a page: those of workers in plan order, then the first search."""

    def rank_in(hits: Iterable[Hit]) -> int:
        return next((rank for rank, hit in enumerate(hits, start=1) if without_fragment(hit.url) == url), 0)

    for worker in workers_in_order(state):
        view = state.perspectives.get(worker.perspective_id)
        for step in worker.iterations:
            for query in dict.fromkeys(step.queries):
                done = state.searches.get(query)
                if rank := rank_in(done.hits if done else ()):
                    about = (view.name, view.focus) if view else ("", "")
                    yield Origin(query, rank, step.reasoning, *about)
    if state.survey and (rank := rank_in(state.survey.hits)):
        yield Origin(state.query, rank, is_first=True)


def value_of(found: Why) -> dict[str, Any]:
    """Return a sentence and its evidence as one JSON value."""
    sentence = found.sentence
    named = {"text": sentence.text, "section": sentence.section, "cut": sentence.reason} if sentence else None
    evidence = [
        {
            "fact": one.fact.model_dump(),
            "standing": "disputed" if one.against else "single",
            "origins": [{x: getattr(way, x) for x in ("search", "rank", "thought", "perspective")} for way in one.origins],
            "against": [{"fact": fact.id, "quote": fact.quote, "explanation": text} for fact, text in one.against],
        }
        for one in found.evidence
    ]
    return {"sentence": named, "evidence": evidence}
