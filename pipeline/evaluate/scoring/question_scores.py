"""Scores of one question's outcome, computed from the events and the stored pages, without a model as judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.evaluate.bm25_baseline import PASSAGES, Baseline
from pipeline.evaluate.figures import Score
from pipeline.evaluate.question_set.duplicate_documents import without_copies
from pipeline.evaluate.question_set.question_set import UNANSWERABLE, Entry
from pipeline.evaluate.question_set.rows import Decoy, Nugget, Planted, Side, Subject
from pipeline.evaluate.scoring.answer_matching import first_words, match_in, word_count
from pipeline.evaluate.scoring.contradictions import reported_pairs, score_conflicts
from pipeline.evaluate.scoring.outcome import STAGES, Outcome
from pipeline.evaluate.scoring.readability import count
from pipeline.evaluate.scoring.report_text import cited_texts
from pipeline.evaluate.scoring.stored_pages import StoredPages
from pipeline.text.normalise import normalised

SUMMARY_WORDS, MIDDLE_WORDS, REPORT_WORDS = 150, 500, 1_500
Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores outcomes. ``subjects`` are all that share the folder of documents; ``copies`` come from ``first_copies``."""

    pages: StoredPages
    baseline: Baseline | None
    subjects: Sequence[Subject] = ()
    copies: Mapping[str, str] = field(default_factory=dict)

    def score(self, entry: Entry, outcome: Outcome) -> Score:
        """Return the values of one question's outcome, with notes on what is missing."""
        values: Values = {"failed": float(outcome.ending == "failed")}
        notes = [f"{outcome.ending}{': ' + outcome.reason if outcome.reason else ''}"] if outcome.ending != "report" else []
        for part, said in self._parts(entry, outcome):
            values |= part
            notes += said
        return Score(entry.id, entry.half, entry.kind, values, tuple(notes), outcome.output)

    def _parts(self, entry: Entry, outcome: Outcome) -> Iterator[tuple[Values, list[str]]]:
        passages = self.baseline.best(entry.query, PASSAGES) if self.baseline and (entry.answers or entry.nuggets) else None
        if entry.answers:
            yield narrow(entry, outcome, passages)
        if entry.nuggets:
            yield broad(entry.nuggets, outcome.output, passages)
        if entry.docs:
            yield documents(entry, outcome, self.copies)
        yield refusal(entry, outcome)
        yield self._conflicts(entry, outcome)
        yield cost(outcome)
        if outcome.state is not None:
            yield trust(outcome, self.pages)
            yield readability(outcome, self.pages)

    def _conflicts(self, entry: Entry, outcome: Outcome) -> tuple[Values, list[str]]:
        if entry.subject is not None:
            return conflicts(entry.subject, self.subjects, outcome)
        # A report on another question may still name a planted pair.
        other = score_conflicts(Subject(id=entry.id, query=entry.query), self.subjects, reported_pairs(outcome.state)).other
        return ({"alarms": float(len(other))} if outcome.report else {}), [f"false alarm: {_both(a, b)}" for a, b in other]


def narrow(entry: Entry, outcome: Outcome, passages: Sequence[str] | None) -> tuple[Values, list[str]]:
    """Score whether a right answer is in the first words of the report, and in the baseline's best passages."""
    aliases = [alias for answer in entry.answers for alias in answer.aliases]
    at = {words: match_in(first_words(outcome.output, words), aliases) for words in (SUMMARY_WORDS, REPORT_WORDS)}
    anywhere = match_in(outcome.output, aliases)
    values = {f"narrow.at{words}": float(bool(match)) for words, match in at.items()}
    values |= {"narrow.anywhere": float(bool(anywhere)), "gained": float(bool(at[REPORT_WORDS]))}
    if outcome.report:
        values["narrow.words"] = float(word_count(outcome.output))
    if passages is not None:
        values["baseline.at150"] = float(any(match_in(text, aliases) for text in passages[:1]))
        values["baseline.at1500"] = float(any(match_in(text, aliases) for text in passages))
    where = next((f"in {words} words" for words, match in at.items() if match), "further down" if anywhere else "")
    return values, [f"answer {where}: {anywhere!r}" if where else f"answer missing: {' | '.join(aliases)}"]


def broad(nuggets: Sequence[Nugget], output: str, passages: Sequence[str] | None) -> tuple[Values, list[str]]:
    """Score the share of the nuggets, and of the vital ones, in the first words of the report."""
    values: Values = {"broad.words": float(word_count(output))} if output else {}
    for words in (SUMMARY_WORDS, MIDDLE_WORDS, REPORT_WORDS):
        held = mentioned_nuggets(nuggets, [first_words(output, words)])
        values |= _shares(nuggets, held, f"broad.at{words}", f"broad.vital{words}")
        values["gained"] = float(len(held))
    if passages is not None:
        values |= _shares(nuggets, mentioned_nuggets(nuggets, passages), "baseline.nuggets", "baseline.vital")
    missing = [f"{nugget.nugget}{' (vital)' if nugget.vital else ''}" for nugget in nuggets if nugget not in held]
    return values, [f"nuggets {len(held)}/{len(nuggets)}; missing: {'; '.join(missing) or 'none'}"]


def mentioned_nuggets(nuggets: Iterable[Nugget], texts: Sequence[str]) -> list[Nugget]:
    """Return the nuggets that one of the normalised texts mentions."""
    return [nugget for nugget in nuggets if any(match_in(text, nugget.any) for text in texts)]


def _shares(nuggets: Sequence[Nugget], held: Sequence[Nugget], name: str, name_of_vital: str) -> Values:
    vital = sum(nugget.vital for nugget in nuggets)
    shares = {name: len(held) / len(nuggets)}
    return shares | ({name_of_vital: sum(nugget.vital for nugget in held) / vital} if vital else {})


def documents(entry: Entry, outcome: Outcome, copies: Mapping[str, str]) -> tuple[Values, list[str]]:
    """Score the share of the answering documents that reached each stage."""
    kind = entry.kind if entry.kind in ("narrow", "broad") else "plain"
    wanted = without_copies(entry.docs, copies)
    lost = {stage: wanted - without_copies(outcome.reached.get(stage, ()), copies) for stage in STAGES}
    values = {f"{kind}.doc.{stage}": 1 - len(missed) / len(wanted) for stage, missed in lost.items()}
    return values, [f"not {stage}: {', '.join(sorted(missed))}" for stage, missed in lost.items() if missed][:1]


def refusal(entry: Entry, outcome: Outcome) -> tuple[Values, list[str]]:
    """Score whether a question was refused and, if it can be answered by half, how the report treats both halves."""
    refused = float(outcome.ending == "refused")
    if entry.unanswerable is None:
        return ({"refused.answerable": refused} if entry.kind not in UNANSWERABLE else {}), []
    values = {f"refused.{entry.kind}": refused}
    if entry.kind != "half":
        return values, [] if refused else [f"not refused; the report begins: {first_words(outcome.output, 40)}"]
    part = entry.unanswerable.answerable_part
    named = match_in(normalised(outcome.missing), entry.unanswerable.missing)
    answered = match_in(first_words(outcome.output, REPORT_WORDS), part.aliases) if part else ""
    values |= {"half.named": float(bool(named)), "half.answered": float(bool(answered))}
    values["half.both"] = float(bool(named and answered))
    return values, [f"missing half named: {named!r}; other half answered: {answered!r}"]


def conflicts(subject: Subject, subjects: Sequence[Subject], outcome: Outcome) -> tuple[Values, list[str]]:
    """Say which planted contradictions and which decoys the report names."""
    sides = list(reported_pairs(outcome.state))
    score = score_conflicts(subject, subjects, sides)
    values = {
        "planted.all": len(subject.planted),
        "planted.found": len(score.found),
        "planted.reported": len(sides),
        "planted.right": score.right,
        "planted.near": len(subject.near),
        "planted.decoys": len(score.near),
    }
    missed = [pair for pair in subject.planted if pair not in score.found]
    notes = [f"missed: {_shown(pair)}" for pair in missed] + [f"decoy: {_shown(pair)}" for pair in score.near]
    return {name: float(value) for name, value in values.items()}, notes + [f"false alarm: {_both(a, b)}" for a, b in score.other]


def _shown(pair: Planted | Decoy) -> str:
    return f"({pair.kind if isinstance(pair, Planted) else pair.why}) {_both(pair.a, pair.b)}"


def _both(a: Side, b: Side) -> str:
    return f"{a.document}: {a.sentence} | {b.document}: {b.sentence}"


def cost(outcome: Outcome) -> tuple[Values, list[str]]:
    """Return what the session took."""
    spent = outcome.cost
    values = {"calls": spent.calls, "tokens": spent.total_tokens, "usd": spent.usd, "seconds": outcome.seconds}
    return {name: float(value) for name, value in values.items()}, []


def trust(outcome: Outcome, pages: StoredPages) -> tuple[Values, list[str]]:
    """Check each quote against its stored page, and each citation against the facts."""
    facts = outcome.state.facts if outcome.state else {}
    torn = [fact for fact in facts.values() if not fact.quote or normalised(fact.quote) not in pages.get(fact.digest).text]
    bad = {fact.id for fact in torn}
    stated = list(cited_texts(outcome.report))
    cited = [name for sentence in stated for name in sentence.facts]
    resolving = [name for name in cited if name in facts and name not in bad]
    values = {
        "quotes.all": len(facts),
        "quotes.standing": len(facts) - len(torn),
        "sentences.all": len(stated),
        "sentences.citing": sum(bool(sentence.facts) for sentence in stated),
        "citations.all": len(cited),
        "citations.resolving": len(resolving),
    }
    notes = [f"a quote is not in the page of {fact.url}: {fact.quote}" for fact in torn]
    return {name: float(value) for name, value in values.items()}, notes


def readability(outcome: Outcome, pages: StoredPages) -> tuple[Values, list[str]]:
    """Return the readability counts of one report; empty without one."""
    if outcome.state is None or outcome.report is None:
        return {}, []
    counts = count(outcome.state, pages)
    names = ("sentences", "pairs", "neighbours", "openers", "leaning", "scraps", "body", "off_title")
    return {f"read.{name}": float(getattr(counts, name)) for name in names}, list(counts.examples)
