"""What was asked since: the questions of talks about a session or a topic, each with its answer in a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipeline.domain.talk import TalkState, Turn
from pipeline.text.normalise import one_line
from pipeline.vault.notes.note_parts import best_link, source_link, topic_of, without_note
from pipeline.vault.output.escaping import Inert, Link
from pipeline.vault.output.page_markdown import flat
from pipeline.vault.vault_model import Asked, SourceNotePlace, VaultModel

_LONGEST = 320  # characters of an answer
_DEEPER = "researched further"


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A question, its answer in a line, when it was asked, the answer's sources, and the report that it led to."""

    question: str
    answer: str
    at: str
    sources: tuple[Link | Inert, ...]
    further: Link | None


def asked_rows(model: VaultModel, asked: Iterable[Asked], noted: Mapping[str, SourceNotePlace]) -> tuple[AskedRow, ...]:
    """Return what was asked as notes show it; ``noted`` are the sources that have a note."""
    return tuple(AskedRow(one.question, one.answer, one.at, _places(one, noted), _further(model, one)) for one in asked)


def _places(asked: Asked, noted: Mapping[str, SourceNotePlace]) -> tuple[Link | Inert, ...]:
    found = asked.sources
    return tuple(source_link(noted[url]) if url in noted else without_note(url, title) for url, title in found)


def _further(model: VaultModel, asked: Asked) -> Link | None:
    card = model.by_id.get(asked.session)
    return Link(best_link(card).path, _DEEPER) if card else None


@dataclass(frozen=True, slots=True)
class TalkSummary:
    """What a talk was about, when it began, and what was asked in it."""

    id: str
    scope: str
    ids: tuple[str, ...]
    opened_at: str
    asked: tuple[Asked, ...]


def talk_summary(talk: TalkState) -> TalkSummary:
    """Return what notes show of a talk."""
    return TalkSummary(talk.id, talk.scope, talk.ids, talk.opened_at, tuple(map(_asked, talk.turns)))


def asked_by_owner(talks: Iterable[TalkSummary], model: VaultModel) -> dict[str, tuple[Asked, ...]]:
    """Return what was asked about each session (``session:…``) and topic (``topic:…``), in order of time."""
    found: dict[str, tuple[Asked, ...]] = {}
    for talk in sorted(talks, key=lambda talk: (talk.opened_at, talk.id)):
        for owner in dict.fromkeys(_owners(talk, model)):
            found[owner] = (*found.get(owner, ()), *talk.asked)
    return found


def _owners(talk: TalkSummary, model: VaultModel) -> Iterator[str]:
    """What a talk is about: its session, its topic, or the session of the newest report on its query."""
    for name in talk.ids:
        if talk.scope == "topic":
            yield f"topic:{topic_of(name)}"
        elif talk.scope == "session" and name in model.by_id:
            yield f"session:{name}"
        elif talk.scope == "query" and (cards := [card for card in model.of_query.get(name, ()) if card.has_report]):
            yield f"session:{cards[-1].id}"


def _asked(turn: Turn) -> Asked:
    titles = {page.url: page.title for page in turn.found.pages} if turn.found else {}
    urls = dict.fromkeys(fact.url for fact in turn.cited())
    sources = tuple((url, titles.get(url, url)) for url in urls)
    return Asked(one_line(turn.text, 500), _line(turn), turn.at, sources, turn.session)


def _line(turn: Turn) -> str:
    """The first sentence or passage of the answer, or why there is none."""
    if turn.answer is None:
        return "Not answered yet. Ask it again, or go on with the talk."
    if turn.answer.sentences:
        return one_line(flat(turn.answer.sentences[0].text), _LONGEST)
    nearest = f" This comes nearest: {one_line(flat(turn.answer.nearest[0].text), _LONGEST)}" if turn.answer.nearest else ""
    return f"The stored pages do not {'clearly ' if nearest else ''}say.{nearest}"
