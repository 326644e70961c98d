"""The report while it is written: which facts each part of it is written from, under which keys, and what of its text is kept.

A report that fits the model's window has one part, number 1. Else the facts are dealt out, by the plan's questions that they
answer, to as many parts as it takes, and part 0, written last from what the others say, is the beginning. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from pipeline.domain.page_choice_and_findings import all_facts
from pipeline.domain.research_values import CutSentence, Fact, Paragraph, ReportSection, Sentence
from pipeline.domain.session_state import SUMMARY, ReportPart, SessionState
from pipeline.text.cleaning import one_line, tokens
from pipeline.text.quotes import holds_quote

USUAL_WINDOW = 32_000  # tokens of a model of which nobody says how many it takes
LEAST_WINDOW = 6_000
BEGINNING = 0
INSTRUCTIONS = 3_000  # tokens of a prompt and its reply beside facts and text
_EVIDENCE_KEY = re.compile(r"\bE\d{1,4}\b(?:\s*(?:,|and)\s*E\d{1,4}\b)*")  # the form of this program's own keys
_FACT = 30  # tokens around a fact in a list
_WORD = 2  # tokens of a report for each of its words, with the keys of its evidence


class Item(NamedTuple):
    """What is checked by itself: a sentence of a section, or (None) the section's heading."""

    section: ReportSection
    paragraph: Paragraph | None
    sentence: Sentence | None

    @property
    def text(self) -> str:
        """The text of the sentence or heading."""
        return self.sentence.text if self.sentence else self.section.title


def items_of(sections: Iterable[ReportSection]) -> tuple[Item, ...]:
    """Return what is checked of a text, in order; the place of an item is its index."""
    found: list[Item] = []
    for section in sections:
        found.append(Item(section, None, None))
        found += [Item(section, paragraph, one) for paragraph in section.paragraphs for one in paragraph.sentences]
    return tuple(found)


def window_of(state: SessionState) -> int:
    """Return the tokens that prompt and reply may have together: as set, as the server says, or the usual ones."""
    return max(LEAST_WINDOW, state.config.context_tokens or state.window or USUAL_WINDOW)


def fact_tokens(fact: Fact) -> int:
    """Return an estimate of a fact's tokens in a prompt."""
    return tokens(fact.quote) + tokens(fact.lead) + (0 if holds_quote(fact.quote, fact.claim) else tokens(fact.claim)) + _FACT


def facts_of_parts(state: SessionState) -> list[list[Fact]]:
    """Return the facts of each part from 1 on; one list if they all fit. The text needs room twice: to be written and checked.

    The parts are about equally long. The facts of a question stay together unless they alone are more than a part takes.
    """
    room = window_of(state) - INSTRUCTIONS
    room -= min(room // 2, 2 * _WORD * state.config.report_words)
    facts = all_facts(state)
    rest = sum(map(fact_tokens, facts))
    if rest <= room:
        return [list(facts)]
    asked = [*dict.fromkeys(question for view in state.perspectives.values() for question in view.questions), ""]
    by_question: dict[str, list[Fact]] = {question: [] for question in asked}
    for fact in facts:
        by_question[fact.question if fact.question in by_question else ""].append(fact)
    least = -(-rest // room)
    share = rest // least
    parts: list[list[Fact]] = [[]]
    taken = 0
    for found in by_question.values():
        together = sum(map(fact_tokens, found))
        others = least - len(parts)  # parts, which must have room for what this one leaves
        is_full = taken + together // 2 > share and rest <= others * room
        for place, fact in enumerate(found):
            size = fact_tokens(fact)
            if parts[-1] and (taken + size > room or (is_full and not place)):
                parts.append([])
                taken = 0
            parts[-1].append(fact)
            taken += size
            rest -= size
    return parts


def keys_of(state: SessionState) -> dict[str, str]:
    """Return the key of each fact by id, numbered in the order of the plan: the same in all prompts about the report."""
    return {fact.id: f"E{number}" for number, fact in enumerate(all_facts(state), start=1)}


def facts_for(state: SessionState, part: int) -> dict[str, Fact]:
    """Return the facts that a part may cite, by key: for the beginning those that the other parts cite."""
    keys = keys_of(state)
    if part != BEGINNING:
        return {keys[fact.id]: fact for fact in facts_of_parts(state)[part - 1]}
    cited = {name for item in items_of(kept_text(state)[0]) if item.sentence for name in item.sentence.facts}
    return {keys[fact.id]: fact for fact in all_facts(state) if fact.id in cited}


def kept_text(state: SessionState) -> tuple[tuple[ReportSection, ...], tuple[CutSentence, ...]]:
    """Return the sections that the report may contain, the beginning first, and the sentences that it may not, with reasons."""
    sections: list[ReportSection] = []
    cut: list[CutSentence] = []
    for part in (state.parts[number] for number in sorted(state.parts)):
        reasons = reasons_to_cut(state, part)
        cut += part.lost
        place = 0
        for section in part.sections:
            size = len(items_of([section]))
            own = {at - place: why for at, why in reasons.items() if place <= at < place + size}
            place += size
            kept, left_out = _without(section, own)
            sections.append(kept)
            cut += left_out
    shown: list[ReportSection] = []
    for one in sections:
        if one.id != SUMMARY and any(paragraph.sentences for paragraph in one.paragraphs):
            number = 1 + sum(other.id != SUMMARY for other in shown)
            one = one.model_copy(update={"id": f"section_{number}", "title": one.title or f"Part {number}"})
        elif one.id != SUMMARY:
            continue
        shown.append(one)
    return tuple(_numbered(shown)), tuple(cut)


def _numbered(sections: Iterable[ReportSection]) -> Iterator[ReportSection]:
    """Yield the sections with steps that go on counting where those before end: the check may have added some, or cut."""
    last = 0
    for section in sections:
        paragraphs = []
        for one in section.paragraphs:
            if one.form == "steps":
                start = last + 1 if last and one.start > 1 else one.start
                last = start - 1 + sum(not sentence.within for sentence in one.sentences)
                one = one.model_copy(update={"start": start})
            paragraphs.append(one)
        yield section.model_copy(update={"paragraphs": tuple(paragraphs)})


def reasons_to_cut(state: SessionState, part: ReportPart) -> dict[int, str]:
    """Return why items of a part may not be in the report, by place. What could not be checked must stand in a cited quote."""
    if part.checked:
        return {place: verdict.reason for place, verdict in part.verdicts.items()}
    items = items_of(part.sections)
    reasons: dict[int, str] = {}
    for place in range(len(items)) if part.new is None else part.new:
        if one := items[place].sentence:
            quotes = (state.facts[name].quote for name in one.facts if name in state.facts)
            if one.unknown or not any(holds_quote(quote, one.text) for quote in quotes):
                reasons[place] = "It could not be checked."
    return reasons


def _without(section: ReportSection, reasons: Mapping[int, str]) -> tuple[ReportSection, list[CutSentence]]:
    """Return a section without the items at the places of ``reasons``, of which 0 is its heading, and what was left out."""
    cut: list[CutSentence] = []
    place = 0
    paragraphs: list[Paragraph] = []
    for paragraph in section.paragraphs:
        kept: list[Sentence | None] = []
        for sentence in paragraph.sentences:
            place += 1
            kept.append(None if place in reasons else sentence)
            if place in reasons:
                cut.append(cut_sentence(section, sentence, reasons[place]))
        if sentences := joined_again(paragraph.sentences, kept):
            paragraphs.append(paragraph.model_copy(update={"sentences": sentences}))
    title = "" if 0 in reasons else section.title
    return section.model_copy(update={"paragraphs": tuple(paragraphs), "title": title}), cut


def joined_again(before: Iterable[Sentence], after: Iterable[Sentence | None]) -> tuple[Sentence, ...]:
    """Return what is left of sentences, None where one was cut: what goes on with an item whose beginning is gone begins it."""
    kept: list[Sentence] = []
    begins: Literal["", "item", "list"] = "item"  # how the item begins of which nothing is left so far
    has_parent = False
    for old, new in zip(before, after, strict=True):
        has_parent &= old.within != ""
        begins = begins if old.within == "item" else old.within
        if new is not None:
            within = begins if begins == "item" or has_parent else ""
            has_parent |= begins == ""
            kept.append(new.model_copy(update={"within": within}) if new.within != within else new)
            begins = "item"
    return tuple(kept)


def cut_sentence(section: ReportSection, sentence: Sentence, reason: str) -> CutSentence:
    """Return a sentence of a section as one that is not in the report."""
    why = in_words(reason) or "Its quotes do not support it."
    return CutSentence(section=section.id, title=section.title, text=sentence.text, facts=sentence.facts, reason=why)


def in_words(reason: str) -> str:
    """Return a reason on one line without keys, which say nothing to the user who reads it in the report."""
    return one_line(_EVIDENCE_KEY.sub("a quote", reason), 400)
