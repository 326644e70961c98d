"""The writing of the report: a part is written from its facts, checked, mended, and what is new checked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from pipeline.domain.events import session_events as e
from pipeline.domain.findings import all_facts, open_gaps, origin_of
from pipeline.domain.reasoner_questions import (
    Addition,
    Check,
    CheckedSentence,
    CheckQuestion,
    Clash,
    MendingQuestion,
    ReportQuestion,
)
from pipeline.domain.report_parts import (
    BEGINNING,
    WHOLE,
    Item,
    cut_sentence,
    facts_for,
    facts_of_parts,
    in_words,
    items_of,
    joined_again,
    kept_text,
    keys_of,
)
from pipeline.domain.state import ReportPart, SessionState
from pipeline.domain.steps import CheckReport, MendReport, StartSynthesis, WriteReport
from pipeline.domain.values import (
    Contradiction,
    CutSentence,
    Fact,
    Paragraph,
    ReportSection,
    Sentence,
    Verdict,
)
from pipeline.domain.values import (
    Outcome as SessionOutcome,
)
from pipeline.errors import AnswerInvalid
from pipeline.research.code_warnings import warning_of
from pipeline.research.planning import today_of
from pipeline.research.report_text import begins_item, read_report, read_sentence, row_of, without_item_mark
from pipeline.research.step_context import Outcome, StepContext, charged_to, paid
from pipeline.text.normalise import digest_of, holds_quote, one_line

_SAID: Mapping[str, SessionOutcome] = {"answered": "answered", "in-part": "in-part", "not-answered": "not-found"}
_WORST_LAST: tuple[SessionOutcome, ...] = ("answered", "in-part", "not-found")
_BEGINNING_WORDS = 300


def start_synthesis(_step: StartSynthesis, state: SessionState) -> Outcome:
    """Record the start of the synthesis with the number of facts and sources."""
    facts = all_facts(state)
    return Outcome((e.SynthesisStarted(facts=len(facts), sources=len({fact.url for fact in facts})),))


def _evidence(state: SessionState, facts: Mapping[str, Fact]) -> dict[str, Any]:
    """Return the fields that the questions about one part have in common."""
    urls = dict.fromkeys(fact.url for fact in facts.values())
    dates = {url: state.pages[url].published for url in urls if url in state.pages and state.pages[url].published}
    more = len(all_facts(state)) - len(facts)
    return {"query": state.query, "facts": facts, "published": dates, "more": more, "today": today_of(state)}


async def write_report(step: WriteReport, state: SessionState, context: StepContext) -> Outcome:
    """Ask for the text of a part.

    Raises:
        AnswerInvalid: it has no text.
    """
    facts, parts = facts_for(state, step.part), len(facts_of_parts(state))
    words = state.config.report_words
    question = ReportQuestion(
        **_evidence(state, facts),
        kind=state.kind,
        unknown=tuple(gap.question for gap in open_gaps(state)),
        words=_BEGINNING_WORDS if step.part == BEGINNING else max(300, words // parts),
        part=step.part,
        parts=parts,
        written=tuple(_written(state)) if step.part == BEGINNING else (),
        earlier_on=state.earlier.reported_at[:10] if state.earlier else "",
        beyond=state.config.beyond,
    )
    answer = await context.reasoner.answer(question)
    written = read_report(answer.value.text, facts, beyond=state.config.beyond)
    with charged_to(answer):
        if not written.sections:
            raise AnswerInvalid("the report has no text", hint="the step will be tried again")
    cost = paid(answer)
    event = e.ReportWritten(
        part=step.part,
        parts=parts,
        sections=tuple(_with_ids(written.sections, step.part)),
        outcome=written.outcome or "in-part",
        lacks=written.lacks,
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


def _with_ids(sections: Iterable[ReportSection], part: int) -> Iterator[ReportSection]:
    """Yield the sections with ids that no other part has; only the part that begins the report has a summary."""
    begins = part in (BEGINNING, WHOLE)
    for number, section in enumerate(sections, start=1):
        if not (begins and section.id == "summary"):
            section = section.model_copy(update={"id": f"section_{part}_{number}"})
        yield section


def _written(state: SessionState) -> Iterator[str]:
    """Yield the sentences of the other parts with their keys, under their headings."""
    keys = keys_of(state)
    for item in items_of(kept_text(state)[0]):
        if item.sentence is None:
            yield f"## {item.section.title}"
        else:
            yield f"{item.sentence.text} [{', '.join(keys[name] for name in item.sentence.facts)}]"


async def check_report(step: CheckReport, state: SessionState, context: StepContext) -> Outcome:
    """Ask what is wrong with a part; of a mended one, with what is new. A sentence that cites an unknown key is wrong anyhow."""
    part, facts = state.parts[step.part], facts_for(state, step.part)
    items = items_of(part.sections)
    places = [place for place in (range(len(items)) if part.new is None else part.new) if not _is_beyond(items[place])]
    if part.new is not None:
        cited = {name for place in places if (one := items[place].sentence) for name in one.facts}
        facts = {key: fact for key, fact in facts.items() if fact.id in cited}
    if not places:
        return Outcome((e.ClaimsChecked(part=step.part, revision=step.revision, verdicts=()),))
    keys = {fact.id: key for key, fact in facts.items()}
    unknown = {f"U{number}": gap.question for number, gap in enumerate(open_gaps(state), start=1)} if part.new is None else {}
    question = CheckQuestion(
        **_evidence(state, facts),
        sentences={f"T{place + 1}": _checked(items[place], keys, state) for place in places},
        whole=part.new is None,
        unknown=unknown,
    )
    answer = await context.reasoner.answer(question)
    said, cost = answer.value, paid(answer)
    faults = _faults(said, items, places)
    claims = tuple(fact.id for fact in facts.values() if not holds_quote(fact.quote, fact.claim)) if question.whole else ()
    overstated = {facts[key].id for key in map(_key, said.overstated) if key in facts}
    event = e.ClaimsChecked(
        part=step.part,
        revision=step.revision,
        verdicts=tuple(Verdict(sentence=place, supported=False, reason=faults[place]) for place in sorted(faults)),
        missing=_missing(said, facts, part) if question.whole else {},
        outcome=_worse(part.outcome or "answered", _SAID[said.outcome]),
        claims=claims,
        overstated=tuple(name for name in claims if name in overstated),
        answered=tuple(unknown[key] for key in dict.fromkeys(map(_key, said.answered)) if key in unknown),
    )
    spent = {"cost": cost.cost, "exchange": cost.exchange}
    if not question.whole:
        return Outcome((event.model_copy(update=spent),), cost.objects)
    pairs = tuple(_contradictions(said.contradictions, facts))
    found = e.ContradictionsFound(round=len(state.analyses) - 1, contradictions=pairs, **spent)
    return Outcome((found, event), cost.objects)  # what a power cut leaves of it may not be the verdicts alone


def _key(said: str) -> str:
    return said.strip("[]() ").upper()


def _is_beyond(item: Item) -> bool:
    sentences = [sentence for paragraph in item.section.paragraphs for sentence in paragraph.sentences]
    return all(sentence.basis == "beyond" for sentence in sentences)


def _checked(item: Item, keys: Mapping[str, str], state: SessionState) -> CheckedSentence:
    if item.sentence is None:
        return CheckedSentence(text=item.text, cites="heading")
    one = item.sentence
    cited = tuple(keys[name] for name in one.facts if name in keys)
    facts = [state.facts[name] for name in one.facts]
    warning = warning_of(one.text, facts, state.query, today_of(state), derived=one.basis == "derived") if facts else ""
    how = "nothing" if not facts else "derived" if one.basis == "derived" else "quoted"
    return CheckedSentence(text=one.text, keys=(*cited, *one.unknown), cites=how, warning=warning)


def _faults(said: Check, items: tuple[Item, ...], places: list[int]) -> dict[int, str]:
    """Return why items are unsupported, by place: what the model says, unknown keys, and claims that cite nothing."""
    by_key = {f"T{place + 1}": place for place in places}
    faults = {by_key[_key(one.sentence)]: one_line(one.reason, 400) for one in said.faults if _key(one.sentence) in by_key}
    claimless = {by_key[key] for key in map(_key, said.claimless) if key in by_key}
    for place in places:
        one = items[place].sentence
        if one is not None and one.unknown:
            faults[place] = "It cites evidence that there is not."
        elif one is not None and not one.facts and place not in claimless:
            faults.setdefault(place, "It cites nothing.")
    return faults


def _missing(said: Check, facts: Mapping[str, Fact], part: ReportPart) -> dict[str, str]:
    used = {name for item in items_of(part.sections) if item.sentence for name in item.sentence.facts}
    lacks = ((facts[key].id, lack.reason) for lack in said.missing if (key := _key(lack.evidence)) in facts)
    return {name: one_line(reason, 400) for name, reason in lacks if name not in used}


def _worse(one: SessionOutcome, other: SessionOutcome) -> SessionOutcome:
    return max(one, other, key=_WORST_LAST.index)


def _contradictions(said: Iterable[Clash], facts: Mapping[str, Fact]) -> Iterator[Contradiction]:
    """Yield the pairs of facts from different sources that contradict each other, each once."""
    seen: set[frozenset[str]] = set()
    for clash in said:
        first, second = facts.get(_key(clash.first)), facts.get(_key(clash.second))
        if first is None or second is None or origin_of(first.url) == origin_of(second.url):
            continue
        pair = frozenset((first.id, second.id))
        if pair not in seen:
            seen.add(pair)
            yield Contradiction(
                id=f"c-{digest_of(' '.join(sorted(pair)).encode())[:12]}",
                subject=in_words(clash.subject)[:120],
                kind=clash.kind,
                a=first.id,
                b=second.id,
                explanation=in_words(clash.explanation),
            )


async def mend_report(step: MendReport, state: SessionState, context: StepContext) -> Outcome:
    """Ask for the faulty sentences again, and for sentences with the facts that the part lacks; all others stay as they are."""
    part, facts = state.parts[step.part], facts_for(state, step.part)
    items = items_of(part.sections)
    keys = {fact.id: key for key, fact in facts.items()}
    question = MendingQuestion(
        **_evidence(state, facts),
        sentences={f"T{place + 1}": _checked(item, keys, state) for place, item in enumerate(items) if not _is_beyond(item)},
        faults={f"T{place + 1}": why for place, why in sorted(part.faults.items())},
        missing={keys[name]: why for name, why in part.missing.items() if name in keys},
    )
    answer = await context.reasoner.answer(question)
    cost = paid(answer)
    edits = {_key(edit.sentence): edit.text for edit in answer.value.edits}
    added: dict[str, list[str]] = {}
    for addition in answer.value.additions:
        added.setdefault(_after(addition, items), []).append(addition.text)
    sections, new, lost = _mended(part, facts, edits, added)
    event = e.ReportRevised(
        part=step.part,
        revision=part.revision + 1,
        sections=sections,
        new=new,
        lost=lost,
        cost=cost.cost,
        exchange=cost.exchange,
    )
    return Outcome((event,), cost.objects)


def _after(addition: Addition, items: tuple[Item, ...]) -> str:
    """Return the key of the sentence that an added one follows: the last one, if it names none."""
    known = {f"T{place + 1}" for place, item in enumerate(items) if not _is_beyond(item)}
    key = _key(addition.after)
    return key if key in known else max(known, key=lambda one: int(one[1:]))


def _mended(
    part: ReportPart, facts: Mapping[str, Fact], edits: Mapping[str, str], added: Mapping[str, list[str]]
) -> tuple[tuple[ReportSection, ...], tuple[int, ...], tuple[CutSentence, ...]]:
    """Return the sections after the changes, the places of what is new, and what was left out. A fault without an edit goes."""
    sections: list[ReportSection] = []
    new: list[int] = []
    lost: list[CutSentence] = []
    old = at = 0  # the places of the next item before and after the changes
    for section in part.sections:
        title, key = section.title, f"T{old + 1}"
        if old in part.faults:
            title = one_line(edits.get(key, "").lstrip("# "), 160)
            new += [at] if title else []
        texts = added.get(key, ())
        old, at = old + 1, at + 1
        paragraphs: list[Paragraph] = []
        if opening := [one for text in texts if (one := read_sentence(text, facts))]:
            paragraphs.append(Paragraph(sentences=tuple(opening)))
            new += range(at, at + len(opening))
            at += len(opening)
        for paragraph in section.paragraphs:
            before: list[Sentence] = []
            after: list[Sentence | None] = []
            following = [one.within for one in paragraph.sentences[1:]] + [""]
            level: Literal["", "item", "list"] = ""
            for sentence, next_within in zip(paragraph.sentences, following, strict=True):
                key = f"T{old + 1}"
                level = level if sentence.within == "item" else sentence.within
                edited: Sentence | None = sentence
                if old in part.faults:
                    edited = _read_as(edits.get(key, ""), paragraph, facts)
                    if edited is None:
                        lost.append(cut_sentence(section, sentence, part.faults[old]))
                    else:
                        new.append(at)
                additions = [one for text in added.get(key, ()) if (one := _read_as(text, paragraph, facts))]
                in_list = paragraph.form in ("steps", "bullets")
                goes_on = next_within == "item" or (in_list and not begins_item(added[key][0])) if additions else False
                additions = [one.model_copy(update={"within": "item" if goes_on else level}) for one in additions]
                before += [sentence, *additions]
                after += [edited, *additions]
                at += edited is not None
                new += range(at, at + len(additions))
                at += len(additions)
                old += 1
            if sentences := joined_again(before, after):
                paragraphs.append(paragraph.model_copy(update={"sentences": sentences}))
        sections.append(section.model_copy(update={"title": title, "paragraphs": tuple(paragraphs)}))
    return tuple(sections), tuple(new), tuple(lost)


def _read_as(text: str, paragraph: Paragraph, facts: Mapping[str, Fact]) -> Sentence | None:
    """Return a new sentence in the form of its paragraph; None if it is empty. A row keeps its columns; code has no citation
    of its own, so a changed piece of code is shown as a sentence."""
    if paragraph.form == "table" and text.strip().startswith("|"):
        cells = text.strip().strip("|").split("|")
        if not paragraph.header or len(cells) == len(paragraph.header):
            return row_of((cell.strip() for cell in cells), paragraph.header, facts)
    one = read_sentence(without_item_mark(text) if paragraph.form != "code" else text, facts)
    if one is not None and paragraph.form == "table":
        return one.model_copy(update={"cells": (one.text, *[""] * (max(1, len(paragraph.header)) - 1))})
    return one
