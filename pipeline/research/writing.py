"""The writing of the report: a part is written from its facts, and checked. What the checker corrects and adds is brought in by
code; what code doubts of that is checked once more.

Before a model judges a sentence, code notices numbers, names and code in it that no cited quote has. It refuses nothing: its
warning goes to the model beside the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, Literal

from pipeline.domain import report_draft
from pipeline.domain import research_values as v
from pipeline.domain.events import session_events as e
from pipeline.domain.page_choice_and_findings import all_facts, independent_source, open_gaps
from pipeline.domain.reasoner_questions import Check, CheckedSentence, CheckQuestion, Clash, ReportQuestion, key_of
from pipeline.domain.report_draft import BEGINNING, Item, cut_sentence, facts_for, items_of, keys_of, window_of
from pipeline.domain.session_state import ReportPart, SessionState
from pipeline.domain.steps import CheckReport, MendReport, StartSynthesis, WriteReport
from pipeline.research.planning_and_searching import today_of
from pipeline.research.report_parsing import begins_item, plain_line, read_as, read_report
from pipeline.research.step_context import StepContext, StepResult, paid, unusable
from pipeline.text.cleaning import digest_of, grouped, one_line
from pipeline.text.questions import content_stems
from pipeline.text.quotes import holds_quote
from pipeline.text.words import language_of

_MOST_NAMED = 3
_CODE_PARTS = re.compile(r"[\s=;,()<>]+")  # a command is known if its words are, however they are put together
_NOUNS = 5  # a sentence of which more than one word of so many has a capital tells nothing by its capitals
_ENDS = (".", "!", "?", ":", ";", "|", "-", "–", "—")
_MARKS = ("*", "_", "“", "„", "(", "[", '"')  # of a label or a quotation, which begins with a capital
_AROUND = ".,;:!?()[]{}\"'“”‘’„«»*_|"
# A number with all that belongs to it, such as 3.10, 12:30 or 1,024, and the word that follows: its unit, or what it counts.
_NUMBER = re.compile(r"(\d+(?:[.,:'’\u00a0\u202f]\d+)*)(?:[^\S\n]?-?([^\W\d_]+))?")
_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def warning_of(text: str, facts: Sequence[v.Fact], query: str, beside: str = "", *, derived: bool = False) -> str:
    """Return what the quotes of ``facts``, those that a sentence cites, do not have of it, in a few words; "" if nothing.

    What the question has, or ``beside``, such as the numbers of the report's steps, needs no quote. The numbers of a sentence
    that is ``derived`` may be computed: whether rightly, the model that checks it says.
    """
    quotes = [f"{fact.lead} {fact.quote}" for fact in facts]
    places = [" ".join((*fact.path, fact.heading, fact.claim, fact.url)) for fact in facts]
    known = " \n".join([query, beside, *places])
    number = "" if derived else _strange_number(text, " \n".join(quotes), known)
    found = [f"no quote gives {number}"] if number else []
    if strange := _strangers(text, " ".join(quotes), _joined(" ".join([*quotes, known]))):
        found.append(f"no quote names {', '.join(strange)}")
    return "; ".join(found)


def checked(
    one: v.Sentence, facts: Mapping[str, v.Fact], query: str, beside: str, keys: Mapping[str, str] = MappingProxyType({})
) -> CheckedSentence:
    """Return a sentence as a model checks it: with the ``keys`` of the facts that it cites, how it cites them, and the warning.

    Facts and keys are by the facts' ids.
    """
    cited = [facts[name] for name in one.facts if name in facts]
    derived = one.basis == "derived"
    warning = warning_of(one.text, cited, query, beside, derived=derived) if cited else ""
    known = tuple(keys[name] for name in one.facts if name in keys)
    how: Literal["quoted", "derived", "nothing"] = "derived" if derived else "quoted" if cited else "nothing"
    return CheckedSentence(text=one.text, keys=(*known, *one.unknown), cites=how, warning=warning)


def _strange_number(text: str, quoted: str, known: str) -> str:
    """Return the first number that neither has, or that the quotes only have with another unit; "" if there is none.

    A word behind a number that only joins or points is no unit. Amounts are not converted: what is written in another unit than
    in the quote is for the model to check.
    """
    language = language_of(text)

    def unit_of(found: re.Match[str]) -> str:
        word = found[2] or ""  # a noun of German, such as Tage, has a capital
        return word if len(word) == 1 or word[:1].isupper() or content_stems(word, language) else ""

    given = [(_digits(found[1]), unit_of(found)) for found in _NUMBER.finditer(quoted)]
    given += [(str(value), "") for value, word in enumerate(_SMALL, start=1) if word in quoted.casefold().split()]
    numbers = {number for number, _ in given} | {_digits(found[1]) for found in _NUMBER.finditer(known)}
    words = {word.strip(_AROUND).casefold() for word in quoted.split()}
    for found in _NUMBER.finditer(text):
        number, unit = _digits(found[1]), unit_of(found)
        others = [other for value, other in given if value == number and other]
        is_other = others and unit and unit.casefold() not in words and not any(_may_be_short(unit, one) for one in others)
        if number not in numbers or is_other:
            return found[0] if is_other else found[1]
    return ""


def _digits(number: str) -> str:
    """A number without what parts its thousands."""
    parts = re.split("[,'’\u00a0\u202f]", number)  # as English, Swiss and French part them
    return "".join(parts) if all(len(part) == 3 for part in parts[1:]) else number


def _may_be_short(one: str, other: str) -> bool:
    """Return whether one word may be short for the other: ``ms`` for milliseconds, MB for megabytes."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    letters = iter(long)
    return short[0] == long[0] and all(sign in letters for sign in short)


def _strangers(text: str, quoted: str, known: str) -> list[str]:
    """Return code, identifiers and names of a sentence that do not occur in ``known`` in any spelling, nor as the initials that
    the quotes have for them. What stands in ``<…>`` in code is for the user to fill in."""
    spans = text.split("`")
    pieces = [part.split(">", 1)[-1] if place else part for code in spans[1:-1:2] for place, part in enumerate(code.split("<"))]
    named = [part for piece in pieces for part in _CODE_PARTS.split(piece) if part]
    plain = " ".join(spans[::2]).split()
    begins = [place == 0 or plain[place - 1].rstrip('*_)"”’»').endswith(_ENDS) for place in range(len(plain))]
    capitals = sum(word.strip(_AROUND)[:1].isupper() for word, first in zip(plain, begins, strict=True) if not first)
    nouns = _NOUNS * capitals > len(plain)  # of a language that capitalises its nouns, or of a title
    named += [
        word
        for word, first in zip(plain, begins, strict=True)
        if _is_name(word.strip(_AROUND), ordinary=first or nouns or word.startswith(_MARKS))
    ]
    names = dict.fromkeys(word.replace("’", "'").strip(_AROUND).removesuffix("'s") for word in named)
    strange = [name for name in names if _joined(name) not in known]
    initials = "".join(word[0] for word in strange)
    return [] if len(strange) > 1 and initials.isupper() and initials in quoted.split() else strange[:_MOST_NAMED]


def _is_name(word: str, *, ordinary: bool) -> bool:
    """Return whether a word looks like a name: a capital where there is no ``ordinary`` one, or capitals or marks inside."""
    if len(word) < 3 or not word[0].isalpha():
        return False
    odd = any(sign.isupper() or sign == "_" for sign in word[1:]) or (len(word) > 4 and "." in word)
    return odd or (word[0].isupper() and not ordinary)


def _joined(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())


_SAID: Mapping[str, v.Outcome] = {"answered": "answered", "in-part": "in-part", "not-answered": "not-found"}
_WORST_LAST: tuple[v.Outcome, ...] = ("answered", "in-part", "not-found")
_BEGINNING_WORDS = 120
UNFOUND = "It only says what was not found, which is listed once."


def start_synthesis(_step: StartSynthesis, state: SessionState) -> StepResult:
    """Record the start of the synthesis with the number of facts and sources."""
    facts = all_facts(state)
    return StepResult((e.SynthesisStarted(facts=len(facts), sources=len({fact.url for fact in facts})),))


def _evidence(state: SessionState, facts: Mapping[str, v.Fact]) -> dict[str, Any]:
    """Return the fields that the questions about one part have in common."""
    urls = dict.fromkeys(fact.url for fact in facts.values())
    dates = {url: state.pages[url].published for url in urls if url in state.pages and state.pages[url].published}
    more = len(all_facts(state)) - len(facts)
    return {"query": state.query, "facts": facts, "published": dates, "more": more, "today": today_of(state)}


async def write_report(step: WriteReport, state: SessionState, context: StepContext) -> StepResult:
    """Ask for the text of a part.

    Raises:
        AnswerInvalid: it has headings alone.
    """
    facts, parts = facts_for(state, step.part), len(report_draft.facts_of_parts(state))
    words = state.config.report_words
    question = ReportQuestion(
        **_evidence(state, facts),
        kind=state.kind,
        unknown=tuple(gap.question for gap in open_gaps(state)),
        words=_BEGINNING_WORDS if step.part == BEGINNING else max(300, words // parts),
        part=step.part,
        parts=parts,
        on=tuple(dict.fromkeys(fact.question for fact in facts.values() if fact.question)) if parts > 1 else (),
        written=tuple(_written(state)) if step.part == BEGINNING else (),
        room=0 if step.part == BEGINNING else window_of(state),  # what the parts say was checked against it
        beyond=state.config.beyond,
    )
    answer = await context.answer(question)
    written = read_report(answer.value.text, facts, begins=parts == 1 or step.part == BEGINNING, beyond=state.config.beyond)
    if not written.sections:
        raise unusable(answer, "the report has no text")
    event = e.ReportWritten(
        part=step.part, parts=parts, sections=written.sections, outcome=written.outcome or "in-part", lacks=written.lacks
    )
    return paid(answer, event)


def _written(state: SessionState) -> Iterator[str]:
    """Yield the sentences of the other parts with their keys, under their headings."""
    keys = keys_of(state)
    for item in items_of(report_draft.kept_text(state)[0]):
        if item.sentence is None:
            yield f"## {item.section.title}"
        else:
            yield f"{item.sentence.text} [{', '.join(keys[name] for name in item.sentence.facts)}]"


async def check_report(step: CheckReport, state: SessionState, context: StepContext) -> StepResult:
    """Ask what is wrong with a part, and what belongs there; of a mended one, whether that holds of which code warns."""
    part, facts = state.parts[step.part], facts_for(state, step.part)
    items = items_of(part.sections)
    places = [place for place in (range(len(items)) if part.new is None else part.new) if not _is_beyond(items[place])]
    if part.new is not None or step.part == BEGINNING:
        cited = {name for place in places if (one := items[place].sentence) for name in one.facts}
        facts = {key: fact for key, fact in facts.items() if fact.id in cited}
    keys = {fact.id: key for key, fact in facts.items()}
    unknown = {f"U{number}": gap.question for number, gap in enumerate(open_gaps(state), start=1)} if part.new is None else {}
    asked = {f"T{place + 1}": place for place in places}
    question = CheckQuestion(
        **_evidence(state, facts),
        sentences={key: _checked(items[place], state, keys) for key, place in asked.items()},
        whole=part.new is None,
        unknown=unknown,
    )
    answer = await context.answer(question)
    said = answer.value
    unfound = {asked[key]: key_of(one.question) for one in said.unfound if (key := key_of(one.sentence)) in asked}
    verdicts = _verdicts(said, items, asked, unfound)
    event = e.ClaimsChecked(
        part=step.part,
        revision=step.revision,
        verdicts=tuple(verdicts[place] for place in sorted(verdicts)),
        # The worse of both: the writer's line says what the quotes lack, and the check adds nothing but quotes.
        outcome=max(part.outcome or "answered", _SAID[said.outcome], key=_WORST_LAST.index),
    )
    if not question.whole:
        return paid(answer, event)
    lacks = [one for one in said.missing if key_of(one.evidence) in facts]
    claims = tuple(fact.id for fact in facts.values() if not holds_quote(fact.quote, fact.claim))
    overstated = {facts[key].id for key in map(key_of, said.overstated) if key in facts}
    left = [place for place in sorted(verdicts) if verdicts[place].reason == UNFOUND and unfound[place] not in unknown]
    more = {
        "missing": {facts[key_of(one.evidence)].id: one_line(one.reason, 400) for one in lacks},
        "additions": tuple(v.Addition(after=asked.get(key_of(one.after), places[-1]), text=one.text) for one in lacks),
        "claims": claims,
        "overstated": tuple(name for name in claims if name in overstated),
        "answered": tuple(unknown[key] for key in dict.fromkeys(map(key_of, said.answered)) if key in unknown),
        "unfound": tuple(items[place].text for place in left),
    }
    found = e.ContradictionsFound(round=len(state.analyses) - 1, contradictions=_contradictions(said.contradictions, facts))
    return paid(answer, found, event.model_copy(update=more))  # what a power cut leaves may not be the verdicts alone


def _is_beyond(item: Item) -> bool:
    sentences = [sentence for paragraph in item.section.paragraphs for sentence in paragraph.sentences]
    return all(sentence.basis == "beyond" for sentence in sentences)


def _checked(item: Item, state: SessionState, keys: Mapping[str, str] = MappingProxyType({})) -> CheckedSentence:
    if item.sentence is None:
        return CheckedSentence(text=item.text, cites="heading")
    paragraphs = [one for part in state.parts.values() for section in part.sections for one in section.paragraphs]
    steps = sum(not one.within for paragraph in paragraphs if paragraph.form == "steps" for one in paragraph.sentences)
    numbers = " ".join(map(str, range(1, steps + 1)))  # "go back to step 3" needs no quote
    cited = [state.facts[name].url for name in item.sentence.facts if name in state.facts]
    dates = " ".join(state.pages[url].published for url in cited if url in state.pages)
    return checked(item.sentence, state.facts, state.query, f"{today_of(state)} {dates} {numbers}", keys)


def _verdicts(said: Check, items: tuple[Item, ...], asked: Mapping[str, int], unfound: Iterable[int]) -> dict[int, v.Verdict]:
    """Return why items may not stay as they are, by place: what the model says, unknown keys, and claims that cite nothing."""
    verdicts = {
        asked[key]: v.Verdict(sentence=asked[key], supported=False, reason=one_line(one.reason, 400), text=one.text)
        for one in said.faults
        if (key := key_of(one.sentence)) in asked
    }
    claimless = {asked[key] for key in map(key_of, said.claimless) if key in asked}
    for place in asked.values():
        one = items[place].sentence
        known = verdicts.get(place, v.Verdict(sentence=place, supported=False, reason="It cites nothing."))
        if one and one.unknown:
            verdicts[place] = known.model_copy(update={"reason": "It cites evidence that there is not."})
        elif one and not one.facts and place in unfound:
            verdicts[place] = v.Verdict(sentence=place, supported=False, reason=UNFOUND)
        elif one and not one.facts and place not in claimless:
            verdicts[place] = known
    return verdicts


def _contradictions(said: Iterable[Clash], facts: Mapping[str, v.Fact]) -> tuple[v.Contradiction, ...]:
    """Return the pairs of facts from different sources that contradict each other, each once."""
    pairs: dict[str, v.Contradiction] = {}
    for clash in said:
        first, second = facts.get(key_of(clash.first)), facts.get(key_of(clash.second))
        if first and second and independent_source(first.url) != independent_source(second.url):
            name = f"c-{digest_of(' '.join(sorted((first.id, second.id))).encode())[:12]}"
            subject, explanation = report_draft.in_words(clash.subject)[:120], report_draft.in_words(clash.explanation)
            pair = v.Contradiction(id=name, subject=subject, kind=clash.kind, a=first.id, b=second.id, explanation=explanation)
            pairs.setdefault(name, pair)
    return tuple(pairs.values())


def mend_report(step: MendReport, state: SessionState) -> StepResult:
    """Put the checker's sentences in the place of faulty ones, and add what the part lacks; all others stay as they are.

    A sentence that the checker does not replace, or only by one without evidence, is left out. What code warns of is checked once
    more, unless the checker was warned of the same in the sentence before.
    """
    part, facts = state.parts[step.part], facts_for(state, step.part)
    lost: list[v.CutSentence] = []
    new: dict[str, str] = {}  # what the checker was warned of, by the sentence that it wrote
    sections = tuple(_mended(part, facts, state, lost, new))
    doubtful = []
    for place, item in enumerate(items_of(sections)):
        words = set(_checked(item, state).warning.split()) if item.sentence and item.text in new else set()
        doubtful += [place] if words - set(new.get(item.text, "").split()) else []
    event = e.ReportRevised(part=step.part, revision=part.revision + 1, sections=sections, new=tuple(doubtful), lost=tuple(lost))
    return StepResult((event,))


def _mended(
    part: ReportPart, facts: Mapping[str, v.Fact], state: SessionState, lost: list[v.CutSentence], new: dict[str, str]
) -> Iterator[v.ReportSection]:
    """Yield the sections after the changes; add what was left out to ``lost``, and what the checker wrote to ``new``."""
    stays = {item.text for place, item in enumerate(items_of(part.sections)) if place not in part.verdicts}  # is not added again
    added = grouped((addition.after, addition.text) for addition in part.additions)
    places = count()
    for section in part.sections:
        place = next(places)
        title = plain_line(part.verdicts[place].text) if place in part.verdicts else section.title
        opening, leading = list[v.Sentence](), list[v.Sentence]()
        for text in added.get(place, ()):
            if (one := read_as(text, v.Paragraph(sentences=()), facts)) and one.text not in stays:
                (leading if begins_item(text) else opening).append(one)
                new[one.text] = ""
        paragraphs = [v.Paragraph(sentences=tuple(opening))] if opening else []
        if leading and not any(one.form in ("steps", "bullets") for one in section.paragraphs[:1]):
            paragraphs.append(v.Paragraph(sentences=tuple(leading), form="bullets"))
            leading = []
        for paragraph in section.paragraphs:
            before, items, below = list(leading), list[v.Sentence](), list[v.Sentence]()
            after: list[v.Sentence | None] = [*leading]
            leading = []
            following = [one.within for one in paragraph.sentences[1:]] + [""]
            level: Literal["", "item", "list"] = ""
            for sentence, next_within in zip(paragraph.sentences, following, strict=True):
                place = next(places)
                level = level if sentence.within == "item" else sentence.within
                kept: v.Sentence | None = sentence
                if verdict := part.verdicts.get(place):
                    kept = read_as(verdict.text, paragraph, facts)
                    if kept and after and after[-1] and kept.text.startswith(f"{after[-1].text} "):  # written once more with it
                        kept = kept.model_copy(update={"text": kept.text.removeprefix(f"{after[-1].text} ")})
                    lost += [] if kept or verdict.reason == UNFOUND else [cut_sentence(section, sentence, verdict.reason)]
                    new |= {kept.text: _checked(Item(section, paragraph, sentence), state).warning} if kept else {}
                additions: list[v.Sentence] = []
                for text in added.get(place, ()):
                    begins = {"table": "|", "code": "`"}.get(paragraph.form, "")
                    no_row = not text.strip().startswith(begins)  # it goes below the table, or the code
                    if (
                        one := read_as(text, v.Paragraph(sentences=()) if no_row else paragraph, facts)
                    ) and one.text not in stays:
                        goes_on = paragraph.form in ("steps", "bullets") and not begins_item(text)
                        behind = below if no_row else additions if goes_on else items
                        behind.append(one.model_copy(update={"within": "item" if goes_on else level}))
                if next_within != "item":  # an item of its own waits for the end of the one that it follows
                    additions, items = additions + items, []
                new |= {one.text: "" for one in (*additions, *below)}
                before += [sentence, *additions]
                after += [kept, *additions]
            if sentences := report_draft.joined_again(before, after):
                paragraphs.append(paragraph.model_copy(update={"sentences": sentences}))
            paragraphs += [v.Paragraph(sentences=tuple(below))] if below else []
        yield section.model_copy(update={"title": title, "paragraphs": tuple(paragraphs)})
