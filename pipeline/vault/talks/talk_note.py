"""The note of a talk: each question with its answer, whole passages with the source and the words before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.domain.talk.state import TalkState, Turn
from pipeline.domain.values import Fact, Sentence
from pipeline.text.normalise import one_line, slug
from pipeline.vault.notes.note_parts import (
    best_link,
    heading,
    linked,
    present,
    properties_of,
    source_link,
    topic_link,
    without_note,
)
from pipeline.vault.output.escaping import Inert, Link, inert
from pipeline.vault.output.note import Note
from pipeline.vault.output.prose import prose
from pipeline.vault.paths import in_year, tail_of
from pipeline.vault.vault_model import VaultModel

_MOST_HEADINGS = 4


@dataclass(frozen=True, slots=True)
class Quoted:
    """A sentence or passage of an answer, its sources, and the headings above it; ``lead`` as in ``Fact``.

    ``is_passage``: it is quoted word for word, in the format of a stored page.
    """

    text: str
    lead: str
    places: tuple[Link | Inert, ...]
    headings: Inert
    is_passage: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """A question as asked, and in words that stand alone where they differ.

    Without ``said`` the stored pages do not say, or there is no answer yet: the work on it was cut off. ``nearest`` is what comes
    nearest where they do not say.
    """

    question: str
    stands_alone: str
    at: str
    said: tuple[Quoted, ...]
    follow_ups: tuple[str, ...]
    session: Link | None
    is_answered: bool = True
    nearest: tuple[Quoted, ...] = ()


@dataclass(frozen=True, slots=True)
class TalkView:
    """What ``talk.md.j2`` is given. ``about`` leads to what the talk is about; None: all sessions."""

    title: str
    about: Link | None
    turns: tuple[Answered, ...]


def talk_path(state: TalkState) -> str:
    """Return the path of a talk's note: its first question, and the end of its id; both never change."""
    words = slug(title_of(state), 60)
    return f"talks/{in_year(state.opened_at)}/talk-{words}-{tail_of(state.id)}"


def title_of(state: TalkState) -> str:
    """Return the talk's first question."""
    return heading(state.turns[0].text) if state.turns else "Untitled"


def talk_link(state: TalkState) -> Link:
    """Return the link to a talk's note."""
    return Link(talk_path(state), title_of(state))


def topics_of_talk(model: VaultModel, state: TalkState) -> tuple[str, ...]:
    """Return the tags that a talk belongs to: its own, or those of the session that it is about."""
    if state.scope == "topic":
        return state.ids
    cards = (card for name in state.ids if state.scope == "session" and (card := model.by_id.get(name)))
    return tuple(tag for card in cards for tag in card.tags)


def talk_note(model: VaultModel, state: TalkState) -> Note:
    """Return the note of a talk."""
    about = _about(model, state)
    answered = tuple(_answered(model, turn) for turn in state.turns)
    own = present(
        {
            "session": linked(about) if state.scope == "session" else "",
            "questions": len(answered),
            "cost_usd": round(state.cost().usd, 6) if state.cost().usd else "",
        }
    )
    title = title_of(state)
    topics = topics_of_talk(model, state)
    properties = properties_of("talk", title, own, topics=topics, created=state.opened_at)
    return Note(talk_path(state), "talk", properties, TalkView(title, about, answered))


def _about(model: VaultModel, state: TalkState) -> Link | None:
    if state.scope == "topic":
        return topic_link(state.ids[0])
    card = model.by_id.get(state.ids[0]) if state.ids else None
    return best_link(card) if card else None


def _answered(model: VaultModel, turn: Turn) -> Answered:
    card = model.by_id.get(turn.session)
    return Answered(
        one_line(turn.text, 500),
        one_line(turn.stands_alone, 500) if turn.stands_alone not in ("", turn.text) else "",
        turn.at,
        _all_quoted(model, turn.answer.sentences if turn.answer else (), turn),
        turn.answer.follow_ups if turn.answer else (),
        best_link(card) if card else None,
        turn.answer is not None,
        _all_quoted(model, turn.answer.nearest if turn.answer else (), turn),
    )


def _all_quoted(model: VaultModel, sentences: Sequence[Sentence], turn: Turn) -> tuple[Quoted, ...]:
    known = {fact.id: fact for fact in turn.cited()}
    return tuple(_quoted(model, one, [known[name] for name in one.facts if name in known], turn) for one in sentences)


def _quoted(model: VaultModel, sentence: Sentence, facts: Sequence[Fact], turn: Turn) -> Quoted:
    titles = {page.url: page.title for page in turn.found.pages} if turn.found else {}
    places = {fact.url: _place(model, fact.url, titles.get(fact.url, fact.url)) for fact in facts}
    first = facts[0] if facts else None
    trail = " › ".join(one_line(name, 70) for name in first.path[1:][-_MOST_HEADINGS:]) if first else ""
    is_passage = first is not None and len(facts) == 1 and sentence.text in first.quote
    lead = first.lead if first and is_passage else ""
    text = sentence.text if is_passage else str(prose(sentence.text))
    gone = [inert(_gone_words(turn.gone()[url])) for url in places if url in turn.gone()]
    return Quoted(text, lead, (*places.values(), *gone), inert(trail), is_passage)


def _gone_words(read_at: str) -> str:
    return f"no longer in the folder{f', last read on {read_at[:10]}' if read_at else ''}"


def _place(model: VaultModel, url: str, title: str) -> Link | Inert:
    return source_link(model.sources[url]) if url in model.sources else without_note(url, title)
