"""Audit of a stored session: each sentence of its report that claims something cites facts, whose quotes are in their pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from pipeline.domain.research_values import Fact
from pipeline.domain.session_state import SessionState
from pipeline.domain.talk import TalkState
from pipeline.errors import ObjectMissing
from pipeline.ports import EventStore
from pipeline.text.cleaning import normalised


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A fact or sentence without support: ``where`` names it, ``why`` says what is missing."""

    session: str
    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.session}: {self.where}: {self.why}"


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of an audit: the numbers of checked ``quotes`` of facts and ``citations`` of report sentences."""

    quotes: int
    citations: int
    unsupported: tuple[Unsupported, ...]


def check(state: SessionState, store: EventStore) -> Checked:
    """Check one session's facts and report. Reads each stored page once."""
    quotes = (*state.facts.values(), *state.more_places)
    wrong = list(_wrong_quotes(state.id, quotes, store))
    sentences = list(state.report.summary) if state.report else []
    for section in state.report.sections if state.report else ():
        sentences += [sentence for paragraph in section.paragraphs for sentence in paragraph.sentences]
    for sentence in sentences:
        unknown = [name for name in sentence.facts if name not in state.facts]
        if unknown or not (sentence.facts or sentence.basis == "bridge"):
            why = f"it cites unknown facts: {', '.join(unknown)}" if unknown else "it cites no fact"
            wrong.append(Unsupported(state.id, sentence.text, why))
    return Checked(len(quotes), sum(len(sentence.facts) for sentence in sentences), tuple(wrong))


def check_talk(state: TalkState, store: EventStore) -> Checked:
    """Check the facts that were observed for a talk's questions, and the citations of its answers."""
    facts = {fact.id: fact for turn in state.turns for fact in turn.facts()}
    wrong = list(_wrong_quotes(state.id, facts.values(), store))
    answers = [turn.answer for turn in state.turns if turn.answer]
    cited = [(one.text, name) for said in answers for one in (*said.sentences, *said.nearest) for name in one.facts]
    wrong += [Unsupported(state.id, text, f"it cites unknown facts: {name}") for text, name in cited if name not in facts]
    return Checked(len(facts), len(cited), tuple(wrong))


def _wrong_quotes(stream: str, facts: Iterable[Fact], store: EventStore) -> Iterator[Unsupported]:
    @cache
    def page(digest: str) -> str | None:
        try:
            return normalised(store.objects.get(digest).decode("utf-8", "replace"))
        except ObjectMissing:
            return None

    pruned = store.tombstones().objects
    for fact in facts:
        text = page(fact.digest)
        if text is None and fact.digest in pruned:
            continue  # its quotes were checked before it was pruned
        if text is None:
            yield Unsupported(stream, fact.id, f"the page {fact.digest[:12]} of {fact.url} is missing or altered")
        elif not fact.quote or normalised(fact.quote) not in text:
            yield Unsupported(stream, fact.id, f"its quote is not in the page stored for {fact.url}")
