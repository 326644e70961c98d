"""The claim check: sentences, headings, title and the facts' claims against the quotes, by code first, then by the reasoner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.domain.events import session_events as e
from pipeline.domain.findings import all_facts, standings
from pipeline.domain.reasoner_questions import ClaimCheck, ClaimCheckQuestion
from pipeline.domain.state import SUMMARY, Section, SessionState
from pipeline.domain.steps import CheckChanges, CheckSection
from pipeline.domain.values import Fact, Paragraph, Sentence, Verdict
from pipeline.errors import AnswerInvalid
from pipeline.research.claims.code_check import code_objection, heading_objection, objection, uncited_objection, warning
from pipeline.research.claims.dates import published_of, today_of
from pipeline.research.step_context import Outcome, StepContext, paid
from pipeline.text.normalise import holds_quote
from pipeline.text.quantities.comparison import unsupported_quantity
from pipeline.text.ranking.query_terms import content_stems

_HEADING = -1  # the place of a heading among verdicts
_NEAREST = 4  # facts shown for a sentence without citation
TO_DO, CERTAINTY = "what-to-do", "how-sure"  # the sections that the editing pass adds, under titles of ours


def sentences_of(paragraphs: Iterable[Paragraph]) -> tuple[Sentence, ...]:
    """Return a text's sentences in order."""
    return tuple(sentence for paragraph in paragraphs for sentence in paragraph.sentences)


def supported_sentences(section: Section, state: SessionState) -> tuple[Sentence, ...]:
    """Return the sentences of a section that the report may contain, in order."""
    return tuple(sentence for sentence in _kept(section, state) if sentence is not None)


def supported_paragraphs(section: Section, state: SessionState) -> tuple[Paragraph, ...]:
    """Return a section's paragraphs without unsupported sentences; one that has lost all that it cited is left out."""
    kept = iter(_kept(section, state))
    paragraphs = []
    for paragraph in section.paragraphs or ():
        sentences = tuple(one for _ in paragraph.sentences if (one := next(kept)) is not None)
        if sentences and (any(one.facts for one in sentences) or not any(one.facts for one in paragraph.sentences)):
            paragraphs.append(paragraph.model_copy(update={"sentences": sentences}))
    return tuple(paragraphs)


def _kept(section: Section, state: SessionState) -> list[Sentence | None]:
    """Return for each sentence what the report may contain: itself, the checked one that it replaced, or None.

    A section that could not be checked keeps the sentences that occur verbatim in a cited quote.
    """
    sentences = sentences_of(section.paragraphs or ())
    replaced = {entry.place: entry.sentence for entry in section.replaced}
    if section.verdicts is None:
        carried = {verdict.sentence for verdict in section.carried if verdict.supported}
        good = {place for place, sentence in enumerate(sentences) if place in carried or _is_quote(sentence, state)}
    else:
        good = {verdict.sentence for verdict in section.verdicts if verdict.supported}
    return [sentence if place in good else replaced.get(place) for place, sentence in enumerate(sentences)]


def _is_quote(sentence: Sentence, state: SessionState) -> bool:
    quotes = (state.facts[name].quote for name in sentence.facts if name in state.facts)
    return not sentence.unknown and any(holds_quote(quote, sentence.text) for quote in quotes)


def title_of(section: Section, number: int) -> str:
    """Return a section's title, or a neutral one if its evidence does not support it."""
    return section.plan.title if section.heading is None or section.heading.supported else f"Part {number}"


def report_title(state: SessionState) -> str:
    """Return the report's title, or the user's question if the evidence does not support the title."""
    summary = state.sections.get(SUMMARY)
    heading = summary.heading if summary else None
    return state.title if heading is None or heading.supported else state.query


@dataclass(frozen=True, slots=True)
class _Check:
    """What is to be checked of a section: new sentences by place, a heading or "", the facts to show, unjudged claims.

    ``refused`` are the verdicts that code gives alone. If code refuses all sentences, the heading falls with them.
    """

    section_id: str
    revision: int
    sentences: dict[int, Sentence]
    refused: dict[int, Verdict]
    heading: str
    facts: dict[str, Fact]
    claims: tuple[str, ...]
    kept: bool  # whether the section has sentences that were found supported before

    @property
    def places(self) -> list[int]:
        """The places of the sentences that the reasoner is asked about."""
        return [place for place in self.sentences if place not in self.refused]

    @property
    def asks(self) -> bool:
        """Whether there is anything to ask the reasoner."""
        return bool(self.places) or bool(self.heading and self.kept)


async def check_section(step: CheckSection, state: SessionState, context: StepContext) -> Outcome:
    """Check the sentences of a section that have no verdict yet. Those that code refuses are not shown to the reasoner.

    Raises:
        AnswerInvalid: the verdicts do not match the sentences.
    """
    return await _checked([_check_of(step.section_id, state)], state, context)


async def check_changes(_step: CheckChanges, state: SessionState, context: StepContext) -> Outcome:
    """Check the changed sentences of all sections in one call; one event for each section, the first with the cost.

    Raises:
        AnswerInvalid: the verdicts do not match the sentences.
    """
    changed = [
        name for name, one in state.sections.items() if one.revision and one.paragraphs is not None and one.verdicts is None
    ]
    return await _checked([_check_of(name, state) for name in changed], state, context)


async def _checked(checks: Sequence[_Check], state: SessionState, context: StepContext) -> Outcome:
    asked = [check for check in checks if check.asks]
    by_code = tuple(_event(check, dict(check.refused), _heading_of_nothing(check)) for check in checks if not check.asks)
    if not asked:
        return Outcome(by_code)
    answer = await context.reasoner.answer(_question(asked, state))
    said, cost = _by_check(answer.value.verdicts, asked), paid(answer)
    events = [_judged(check, said[check.section_id], answer.value, state) for check in asked]
    events[0] = events[0].model_copy(update={"cost": cost.cost, "exchange": cost.exchange})
    return Outcome((*events, *by_code), cost.objects)


def _question(checks: Sequence[_Check], state: SessionState) -> ClaimCheckQuestion:
    facts = _listed(checks, state)
    sentences = tuple(check.sentences[place] for check in checks for place in check.places)
    known = {name: fact for check in checks for name, fact in check.facts.items()}
    cited = ([known[name] for name in one.facts if name in known] or [*known.values()] for one in sentences)
    return ClaimCheckQuestion(
        query=state.query,
        sentences=sentences,
        warnings=tuple(warning(one, own, state.query, today_of(state)) for one, own in zip(sentences, cited, strict=True)),
        facts=facts,
        headings=tuple(check.heading for check in checks if check.heading),
        claims=tuple(dict.fromkeys(name for check in checks for name in check.claims)),
        today=today_of(state),
        published=published_of(state, facts),
    )


def _event(check: _Check, verdicts: dict[int, Verdict], heading: Verdict | None) -> e.ClaimsChecked:
    cited = tuple(_verdict_with_citation(verdicts[place], check.sentences[place]) for place in sorted(verdicts))
    return e.ClaimsChecked(section_id=check.section_id, revision=check.revision, verdicts=cited, heading=heading)


def _judged(check: _Check, said: dict[int, Verdict], answer: ClaimCheck, state: SessionState) -> e.ClaimsChecked:
    """Return the event of a section about which the reasoner ``said`` verdicts."""
    heading = _heading_verdict(said.pop(_HEADING, None), check, state.query)
    update = {"claims": check.claims, "overstated": _overstated(check, answer.overstated)}
    return _event(check, said | check.refused, heading).model_copy(update=update)


def _listed(checks: Sequence[_Check], state: SessionState) -> tuple[Fact, ...]:
    """Return the facts for the check: of a new section all that it was written from, in the same order, else those cited.

    The prompt then begins as the one that wrote the section, which a cache has just seen.
    """
    cited = {name: fact for check in checks for name, fact in check.facts.items()}
    named = tuple(cited[name] for name in sorted(cited))
    first = checks[0]
    if first.revision or first.section_id == SUMMARY or not state.config.shares_pages:
        return named
    own = facts_with_support(state.sections[first.section_id].plan.facts, state)
    return (*own, *(fact for fact in named if fact not in own))


def facts_with_support(names: Iterable[str], state: SessionState) -> tuple[Fact, ...]:
    """Return the facts of these ids and those that confirm them, in the order of ``all_facts``."""
    known, named = standings(state), tuple(names)
    wanted = set(named).union(*(known[name].support for name in named if name in known))
    return tuple(fact for fact in all_facts(state) if fact.id in wanted)


def _check_of(section_id: str, state: SessionState) -> _Check:
    section = state.sections[section_id]
    done = {verdict.sentence for verdict in section.carried}
    placed = list(enumerate((paragraph, sentence) for paragraph in section.paragraphs or () for sentence in paragraph.sentences))
    sentences = {place: sentence for place, (_, sentence) in placed if place not in done}
    prose = any(paragraph.kind == "prose" for paragraph in section.paragraphs or ())
    unchecked = prose and section.heading is None and section_id not in (TO_DO, CERTAINTY)
    heading = "" if not unchecked else state.title if section_id == SUMMARY else section.plan.title
    judged = sentences if not heading else dict(enumerate(sentences_of(section.paragraphs or ())))
    cited = {name: state.facts[name] for sentence in judged.values() for name in sentence.facts if name in state.facts}
    claims = tuple(name for name in sorted(cited) if prose and name not in state.claims and not _is_plain_claim(cited[name]))
    shown = cited | {fact.id: fact for sentence in sentences.values() for fact in _answers(sentence, state)}
    forms = {place: paragraph for place, (paragraph, _) in placed}
    refused = {verdict.sentence: verdict for verdict in _refused(sentences, forms, shown, state)}
    kept = any(verdict.supported for verdict in section.carried)
    return _Check(section_id, section.revision, sentences, refused, heading, shown, claims, kept)


def _answers(sentence: Sentence, state: SessionState) -> list[Fact]:
    """Return the facts nearest to a sentence without citation, best first: what it calls open may be answered there."""
    if sentence.basis != "bridge":
        return []
    open_words = content_stems(sentence.text)
    shared = {fact.id: len(open_words & content_stems(f"{fact.claim} {fact.quote}")) for fact in state.facts.values()}
    best = sorted((name for name, words in shared.items() if words > 1), key=lambda name: (-shared[name], name))
    return [state.facts[name] for name in best[:_NEAREST]]


def _is_plain_claim(fact: Fact) -> bool:
    """Return whether a claim needs no check, because it is a part of its quote."""
    return not fact.claim or holds_quote(fact.quote, fact.claim)


def _refused(
    sentences: dict[int, Sentence], forms: dict[int, Paragraph], known: dict[str, Fact], state: SessionState
) -> Iterable[Verdict]:
    """Yield the verdicts that code gives alone: objections to prose, and all of code."""
    for place, sentence in sentences.items():
        paragraph = forms[place]
        facts = [known[name] for name in sentence.facts if name in known]
        if paragraph.kind == "passages":
            continue
        if sentence.unknown:
            why = f"It cites {', '.join(sentence.unknown)}, which was not given out."
            yield Verdict(sentence=place, supported=False, reason=why)
        elif paragraph.form == "code":
            why = code_objection(sentence.text, facts) if facts else "It cites nothing."
            yield Verdict(sentence=place, supported=not why, reason=why or "Each line occurs in a quote.")
        elif sentence.basis == "bridge":
            if why := uncited_objection(sentence.text, known.values(), state.query):
                yield Verdict(sentence=place, supported=False, reason=why)
        elif why := objection(sentence, facts, state.query, today_of(state)):
            yield Verdict(sentence=place, supported=False, reason=why)


def _by_check(verdicts: tuple[Verdict, ...], checks: Sequence[_Check]) -> dict[str, dict[int, Verdict]]:
    """Return the verdicts by section and place: the answer has those on all sentences first, then those on the headings."""
    places = [(check.section_id, place) for check in checks for place in check.places]
    places += [(check.section_id, _HEADING) for check in checks if check.heading]
    found = {verdict.sentence: verdict for verdict in verdicts}
    if set(found) != set(range(len(places))):
        raise AnswerInvalid(
            f"the answer has {len(found)} verdicts for {len(places)} sentences", hint="the step will be tried again"
        )
    said: dict[str, dict[int, Verdict]] = {check.section_id: {} for check in checks}
    for number, (name, place) in enumerate(places):
        said[name][place] = found[number].model_copy(update={"sentence": place})
    return said


def _heading_of_nothing(check: _Check) -> Verdict | None:
    """Return the verdict on a heading whose sentences were all refused, None if there is no heading or no new sentence."""
    refused = check.heading and check.sentences
    return Verdict(sentence=_HEADING, supported=False, reason="Code refused all sentences below it.") if refused else None


def _heading_verdict(verdict: Verdict | None, check: _Check, query: str) -> Verdict | None:
    if verdict is None or not verdict.supported:
        return verdict
    why = heading_objection(check.heading, check.facts.values(), query, title=check.section_id == SUMMARY)
    return verdict.model_copy(update={"supported": False, "reason": why}) if why else verdict


def _overstated(check: _Check, said: Iterable[str]) -> tuple[str, ...]:
    """Return the facts whose claim says more than the quote, in the reasoner's judgement or by its numbers."""
    named = set(said)
    return tuple(name for name in check.claims if name in named or _claims_other_numbers(check.facts[name]))


def _claims_other_numbers(fact: Fact) -> bool:
    return bool(unsupported_quantity(fact.claim, [f"{fact.lead} {fact.quote}"], f"{' '.join(fact.path)} {fact.heading}"))


def _verdict_with_citation(verdict: Verdict, sentence: Sentence) -> Verdict:
    if sentence.facts or sentence.basis == "bridge" or not verdict.supported:
        return verdict
    return Verdict(sentence=verdict.sentence, supported=False, reason="it cites nothing")
