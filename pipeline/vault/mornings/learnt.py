"""``Learnt``: what a report says in short, as other notes show it: the answer, how sure it is, what changed, what is disputed.

It is computed from the session's state alone and stored with its card, so that no log is read again for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.domain.findings import by_model, news_of, shown_sources, standings
from pipeline.domain.state import SessionState
from pipeline.domain.values import Contradiction, Sentence, SourceChange, ValidatedFact
from pipeline.errors import GONE
from pipeline.text.normalise import one_line
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.sentences import split_sentences
from pipeline.vault.output import formatting
from pipeline.vault.output.page_markdown import flat, statement

LONGEST_ANSWER, LONGEST_SIDE = 320, 200  # characters
_CORPUS = "corpus:"
_SHORT = 50  # characters of a sentence that says too little alone: "It depends." is followed by the next
MOST_NEWS = 5  # facts of a kind that other notes show; the rest is counted


@dataclass(frozen=True, slots=True)
class Cite:
    """A citation in a report: the source's address, the fact's id, and the sign shown, e.g. ``²ᵃ``; "" for the source's title."""

    url: str
    fact: str
    sign: str


@dataclass(frozen=True, slots=True)
class CitedText:
    """A sentence of a report with its citations. ``prose``: written, not a quoted passage."""

    text: str
    cites: tuple[Cite, ...]
    prose: bool = False


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two statements of different sources that cannot both be true."""

    subject: str
    a: CitedText
    b: CitedText


@dataclass(frozen=True, slots=True)
class News:
    """What changed since the report before, which was finished at ``since``. The texts are the first few, the numbers count all.

    ``gone`` are statements without a citation, because no source of this session makes them. ``lost`` are the paths of documents
    that the report before cites and that were deleted or moved since.
    """

    since: str
    added: tuple[CitedText, ...] = ()
    changed: tuple[tuple[str, CitedText], ...] = ()
    gone: tuple[str, ...] = ()
    added_in_all: int = 0
    changed_in_all: int = 0
    gone_in_all: int = 0
    kept: int = 0
    lost: tuple[str, ...] = ()

    @property
    def quiet(self) -> bool:
        """Whether no fact is new, changed or gone."""
        return not (self.added_in_all or self.changed_in_all or self.gone_in_all)


@dataclass(frozen=True, slots=True)
class Learnt:
    """A report in short. ``disputed``: a source denies the answer.

    ``news`` is None for the first report on a question.
    """

    answer: CitedText | None
    disputed: bool
    dispute: Dispute | None
    news: News | None


def learnt_of(state: SessionState) -> Learnt | None:
    """Return what a session's report says in short; None without a report."""
    report = state.report
    if report is None:
        return None
    answer, said = _answer(state, report.summary) if report.summary else (None, ())
    facts = list(dict.fromkeys(name for sentence in said for name in sentence.facts if name in state.facts))
    entries = _entries(state, facts)
    return Learnt(
        answer=answer,
        disputed=any(entry.standing == "disputed" for entry in entries),
        dispute=_dispute(state, report.contradictions) if by_model(state) else None,
        news=_news(state),
    )


def _answer(state: SessionState, summary: Sequence[Sentence]) -> tuple[CitedText, Sequence[Sentence]]:
    """Return the answer of a summary of at least one sentence, and the sentences of it that it is from.

    Of written text it is the first sentence that says enough by itself; without a model the beginning of the best passage.
    """
    first = next((sentence for sentence in summary if sentence.facts), summary[0])  # what cites nothing answers nothing
    whole = cited_text(state, first)
    if whole.prose:
        return CitedText(one_line(_first_enough(whole.text), LONGEST_ANSWER), whole.cites, prose=True), (first,)
    return CitedText(one_line(whole.text, LONGEST_ANSWER), whole.cites), (first,)


def _first_enough(text: str) -> str:
    first, *others = split_sentences(text) or [text]
    while others and (len(first) < _SHORT or first.endswith(":")):
        first = f"{first} {others.pop(0)}"
    return first


def _entries(state: SessionState, facts: Sequence[str]) -> list[ValidatedFact]:
    """The results of cross-checking these facts."""
    return list(standings(state, facts).values())


def _dispute(state: SessionState, pairs: Iterable[Contradiction]) -> Dispute | None:
    """The first disagreement whose facts are known."""
    pair = next((pair for pair in pairs if pair.a in state.facts and pair.b in state.facts), None)
    if pair is None:
        return None
    about = pair.explanation or pair.subject
    return Dispute(one_line(pair.subject, LONGEST_SIDE), _stated(state, pair.a, about), _stated(state, pair.b, about))


def _stated(state: SessionState, fact_id: str, about: str = "") -> CitedText:
    """What a fact says, in its first sentence or the one that is most like ``about``, with its citation."""
    fact = state.facts[fact_id]
    said = statement(fact.claim if state.bears_claim(fact) else "", fact.quote)
    wanted = set(content_stems(about))
    sentences = split_sentences(said) or [said]
    best = max(sentences, key=lambda sentence: len(wanted & set(content_stems(sentence))))
    number = number_of(state, fact_id)
    sign = formatting.superscript(number) if number else ""
    cites = (Cite(fact.url, fact_id, sign),) if number or fact.url in shown_sources(state) else ()
    return CitedText(one_line(best, LONGEST_SIDE), cites)


def _news(state: SessionState) -> News | None:
    found = state.changes
    if found is None:
        return None
    added = news_of(state)
    return News(
        since=found.since,
        added=tuple(_stated(state, name) for name in added[:MOST_NEWS]),
        changed=tuple(
            (one_line(statement(pair.before.claim, pair.before.quote), LONGEST_SIDE), _stated(state, pair.after))
            for pair in found.changed[:MOST_NEWS]
            if pair.after in state.facts
        ),
        gone=tuple(one_line(statement(fact.claim, fact.quote), LONGEST_SIDE) for fact in found.gone[:MOST_NEWS]),
        added_in_all=len(added),
        changed_in_all=len(found.changed),
        gone_in_all=len(found.gone),
        kept=found.kept,
        lost=tuple(path_of(source.url) for source in found.unread if is_lost(source)),
    )


def is_lost(source: SourceChange) -> bool:
    """Return whether a source that was not read again is a document that was deleted or moved."""
    return source.url.startswith(_CORPUS) and source.reason.endswith(GONE)


def path_of(url: str) -> str:
    """Return the path of a document in the user's folder, given by its address."""
    return url.removeprefix(_CORPUS)


def cited_text(state: SessionState, sentence: Sentence) -> CitedText:
    """Return a sentence with one citation for each known fact; several quotes of one source are told apart by letters."""
    known = [name for name in dict.fromkeys(sentence.facts) if name in state.facts]
    numbers = [number_of(state, name) for name in known]
    places = [numbers[:place].count(number) if numbers.count(number) > 1 else -1 for place, number in enumerate(numbers)]
    signs = map(formatting.superscript, numbers, places)
    cites = (Cite(state.facts[name].url, name, sign) for name, sign in zip(known, signs, strict=True))
    parts = state.report.sections if state.report else ()
    prose = any(paragraph.kind == "prose" for part in parts for paragraph in part.paragraphs)
    return CitedText(" ".join(sentence.text.split()) if prose else flat(sentence.text), tuple(cites), prose)


def number_of(state: SessionState, fact_id: str) -> int:
    """Return the number that the report gives to a fact's source, 0 if it refers to it nowhere."""
    url = state.facts[fact_id].url
    references = state.report.references if state.report else ()
    return next((reference.number for reference in references if reference.url == url), 0)
