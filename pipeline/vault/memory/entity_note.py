"""The note of an entity: what is known of it night by night, what was superseded, where sources disagree, what is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.domain.memory.fold import Memory, Remembered
from pipeline.domain.memory.naming.own_documents import is_document_of, is_of_another, retitled
from pipeline.domain.memory.naming.prose import is_prose, sentences_of
from pipeline.domain.memory.naming.telling import is_named, is_whole, place_of, said_of
from pipeline.domain.memory.values import NamedEntity
from pipeline.text.normalise import one_line
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import stems
from pipeline.vault.memory.quoting_sessions import answered_session, distance, sessions_to_list
from pipeline.vault.notes.note_parts import best_link, present, properties_of, quote_link, topic_links, without_note
from pipeline.vault.output.escaping import Inert, Link, plain
from pipeline.vault.output.note import Note
from pipeline.vault.output.page_markdown import claim_beside
from pipeline.vault.vault_model import VaultModel

MOST_STATEMENTS, MOST_OPEN, MOST_RELATED = 60, 15, 8
MOST_MENTIONS = 8  # statements that only name the entity
LEAST_OPENLY = 8  # statements that are shown before any is folded
MOST_OPENLY = 8  # statements of one session that are listed openly; the others are folded
_SHARED = 2  # statements that a related entity shares
_LONGEST = 480  # characters of a sentence, or of a few that are quoted together
_LONGEST_SECTION = 60  # characters of a heading
_KINDS = {"name": "", "code": "a program or a name in code", "term": ""}  # "a name" says nothing


@dataclass(frozen=True, slots=True)
class Known:
    """A sentence on the entity, the link to its quote in the source's note, the night it was found first, and its standing.

    ``session`` is the session that said last that it holds, or the one in which it was superseded. ``section`` is the heading
    above it in a source that is about the entity, where sentences do not repeat its name.
    """

    text: str
    source: Link | Inert
    day: str
    session: Link | None
    standing: str
    section: str = ""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question on the entity that a session left open."""

    question: str
    session: Link


@dataclass(frozen=True, slots=True)
class Group:
    """What one session was the first to find: the link to its report, its day, the first eight statements, and the others."""

    session: Link | None
    day: str
    known: tuple[Known, ...]
    further: tuple[Known, ...]


@dataclass(frozen=True, slots=True)
class Passages:
    """What a page that was read says of the entity beside the statements: the link to its note, and its sentences."""

    source: Link | Inert
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityView:
    """What ``entity.md.j2`` is given. ``statements`` counts all; ``more`` those that are not listed.

    ``definition`` says what the entity is, if a statement or a page does. ``groups`` hold what is said of the entity, ``pages``
    what pages say beside that. ``named`` and ``mentions`` are the first eight statements that only name it: the former are
    shown openly, because fewer than eight others are. ``reports`` lead to all that quote it, the latest first. ``related`` are
    entities that the same statements name; ``topics`` those of the questions it was found for.
    """

    title: str
    kind_words: str
    aliases: tuple[str, ...]
    definition: Known | None
    groups: tuple[Group, ...]
    pages: tuple[Passages, ...]
    named: tuple[Known, ...]
    mentions: tuple[Known, ...]
    more: int
    statements: int
    superseded: tuple[Known, ...]
    disputed: tuple[Known, ...]
    open: tuple[OpenQuestion, ...]
    related: tuple[Link, ...]
    topics: tuple[Link, ...]
    reports: tuple[Link, ...]
    sources: int
    first_day: str
    last_day: str


def entity_path(entity: str) -> str:
    """Return the path of the note of an entity, given by its id."""
    return f"entities/entity-{entity}"


def entity_link(entity: NamedEntity) -> Link:
    """Return the link to an entity's note."""
    return Link(entity_path(entity.id), entity.name)


def entity_note(model: VaultModel, memory: Memory, entity: NamedEntity) -> Note:
    """Return the note of an entity."""
    found = [memory.statements[name] for name in entity.statements]
    found.sort(key=lambda one: (memory.sessions[one.sessions[0]].episode.at, one.sessions[0]))
    view = _view(model, memory, entity, found)
    own = present({"quotes": len(found), "sources": view.sources, "open_questions": len(view.open)})
    created = memory.sessions[found[0].sessions[0]].episode.at
    properties = properties_of("entity", entity.name, own, created=created)
    properties["aliases"] = tuple(dict.fromkeys(map(plain, (entity.name, *entity.aliases))))
    return Note(entity_path(entity.id), "entity", properties, view)


def _view(model: VaultModel, memory: Memory, entity: NamedEntity, found: list[Remembered]) -> EntityView:
    names = (entity.name, *entity.aliases)
    holding = [one for one in found if one.holds]
    agreed = [one for one in holding if one.statement.standing != "disputed"]
    days = [_day(memory, one) for one in found]
    titles = _own_titles(entity)
    definition = _definition(model, memory, entity, holding)
    said = said_of(names, retitled((one.statement for one in agreed), titles))
    listed = [one for one in agreed if one.statement.fact in said]
    defining = definition.text.removeprefix(f"{entity.name}: ") if definition else ""
    mentions = _mentions(model, memory, names, (one for one in agreed if one.statement.fact not in said))
    openly = max(0, LEAST_OPENLY - sum(map(len, said.values())))
    shown = " ".join((defining, *(text for texts in said.values() for text in texts)))
    return EntityView(
        title=entity.name,
        kind_words=_KINDS[entity.kind],
        aliases=entity.aliases,
        definition=definition,
        groups=tuple(_groups(model, memory, names, said, defining, listed[-MOST_STATEMENTS:])),
        pages=tuple(_pages(model, entity, shown)),
        named=mentions[:openly],
        mentions=mentions[openly:],
        more=max(0, len(listed) - MOST_STATEMENTS),
        statements=len(found),
        superseded=tuple(known_of(model, memory, one, names) for one in found if not one.holds),
        disputed=tuple(known_of(model, memory, one, names) for one in holding if one.statement.standing == "disputed"),
        open=tuple(_open(model, memory, names))[:MOST_OPEN],
        related=_related(memory, entity),
        topics=topic_links(dict.fromkeys(tag for one in found for tag in memory.sessions[one.sessions[0]].tags)),
        reports=_reports(model, memory, sessions_to_list(memory, listed or _quoted(agreed, (definition, *mentions[:openly])))),
        sources=len({*(one.statement.url for one in found), *(one.url for one in entity.passages)}),
        first_day=min(days),
        last_day=max(days),
    )


def _definition(model: VaultModel, memory: Memory, entity: NamedEntity, holding: Iterable[Remembered]) -> Known | None:
    from pipeline.domain.memory.naming.defining_sentence import defining_sentence  # only now: most builds make no such note

    by_fact = {one.statement.fact: one for one in holding}
    known = retitled((one.statement for one in by_fact.values()), _own_titles(entity))
    found = defining_sentence((entity.name, *entity.aliases), known)
    passage = next((one for one in entity.passages if one.defines), None)
    if passage and (found is None or found.is_brief):
        return Known(one_line(passage.text, _LONGEST), _page(model, passage.url, passage.title), "", None, "single")
    if found is None:
        return None
    one = by_fact[found.fact]
    runs = said_of((entity.name, *entity.aliases), retitled([one.statement], _own_titles(entity))).get(found.fact, ())
    text = next((run for run in runs if run.startswith(found.text)), found.text)  # with what it goes on to say
    return replace(known_of(model, memory, one), text=one_line(text, _LONGEST))


def _quoted(found: Iterable[Remembered], shown: Iterable[Known | None]) -> Iterator[Remembered]:
    """Yield the statements that a mention or a definition is shown from."""
    texts = [one.text.removesuffix("…").rstrip() for one in shown if one]
    for one in found:
        said = one_line(f"{one.statement.claim} {one.statement.quote}", 10_000)
        if any(text in said for text in texts):
            yield one


def _own_titles(entity: NamedEntity) -> dict[str, str]:
    """Return the titles, by address, of the pages that are about the entity and say what it is."""
    names = (entity.name, *entity.aliases)
    return {one.url: one.title for one in entity.passages if one.defines and is_document_of(one.title, names)}


def _reports(model: VaultModel, memory: Memory, sessions: Iterable[str]) -> tuple[Link, ...]:
    """Return the links to the reports of the sessions, the latest first."""
    known = (name for name in sessions if name in model.by_id)
    ordered = sorted(known, key=lambda name: (memory.sessions[name].episode.at, name), reverse=True)
    return tuple(dict.fromkeys(best_link(model.by_id[name]) for name in ordered))


def _groups(
    model: VaultModel,
    memory: Memory,
    names: Iterable[str],
    said: Mapping[str, Sequence[str]],
    defining: str,
    found: Iterable[Remembered],
) -> Iterator[Group]:
    """Yield the sentences by the session whose question they answer; those whose question holds the name come first.

    The same words are listed once. Those that the report gives in short come first, then those that
    are nearest to its question, then those that begin with the name, then those that hold it: they are more about it
    than others. The ``defining`` ones are shown already.
    """
    seen, wanted = {_words_of(defining)}, tuple(names)
    by_session: dict[str, list[tuple[tuple[bool, int], Known]]] = {}  # with how far it is from the question
    for one in found:
        known = known_of(model, memory, one)
        for text in said[one.statement.fact]:
            if (words := _words_of(text)) not in seen and one_line(text, _LONGEST) not in defining:
                seen.add(words)
                section = "" if is_named(wanted, text) and not is_of_another(one.statement.heading) else _section(one)
                shown = replace(known, text=one_line(text, _LONGEST), section=section)
                session = answered_session(memory, wanted, one)
                by_session.setdefault(session, []).append((distance(memory, session, one, text), shown))
    openings = tuple(text.lower() for name in names for text in (name, f"the {name}", f"a {name}", f"an {name}"))
    for name in sorted(by_session, key=lambda name: not is_named(names, memory.sessions[name].query)):
        ordered = sorted(
            by_session[name], key=lambda each: (each[0], not each[1].text.lower().startswith(openings), bool(each[1].section))
        )
        known_there = [known for _far, known in ordered]
        card = model.by_id.get(name)
        day = memory.sessions[name].episode.at[:10]
        link = best_link(card) if card else None
        yield Group(link, day, tuple(known_there[:MOST_OPENLY]), tuple(known_there[MOST_OPENLY:]))


def _section(one: Remembered) -> str:
    """Return the heading above a statement; "" if it is the title."""
    said = one.statement
    return one_line(said.heading, _LONGEST_SECTION) if said.heading != said.title else ""


def _pages(model: VaultModel, entity: NamedEntity, shown: str) -> Iterator[Passages]:
    """Yield what pages say beside what is shown already, page by page."""
    by_page: dict[str, list[str]] = {}
    titles = {one.url: one.title for one in entity.passages}
    for one in entity.passages:
        if one.text not in shown:
            by_page.setdefault(one.url, []).append(one_line(one.text, _LONGEST))
    for url, texts in by_page.items():
        yield Passages(_page(model, url, titles[url]), tuple(dict.fromkeys(texts)))


def _page(model: VaultModel, url: str, title: str) -> Link | Inert:
    """Return the link to the note of a page; to the page itself if the vault has none."""
    place = model.sources.get(url)
    return Link(place.path, place.title) if place else without_note(url, title or url)


def _mentions(model: VaultModel, memory: Memory, names: Iterable[str], found: Iterable[Remembered]) -> tuple[Known, ...]:
    wanted = tuple(names)
    known: dict[str, Known] = {}
    for one in found:
        for sentence in sentences_of([one.statement]):
            if is_whole(sentence) and place_of(sentence, wanted) is not None:
                shown = replace(known_of(model, memory, one), text=one_line(sentence.text, _LONGEST))
                known.setdefault(shown.text, shown)
                break
    return tuple(known.values())[:MOST_MENTIONS]


def _words_of(text: str) -> str:
    return " ".join(stems(text))


def _related(memory: Memory, entity: NamedEntity) -> tuple[Link, ...]:
    """Return the links to the entities that share most statements with this one, two at least."""
    shared = Counter(name for fact in entity.statements for name in memory.entities_of.get(fact, ()) if name != entity.id)
    best = sorted((name for name in shared if shared[name] >= _SHARED), key=lambda name: (-shared[name], name))
    return tuple(entity_link(memory.entities[name]) for name in best[:MOST_RELATED])


def _day(memory: Memory, one: Remembered) -> str:
    return memory.sessions[one.sessions[0]].episode.at[:10]


def known_of(model: VaultModel, memory: Memory, one: Remembered, names: Iterable[str] = ()) -> Known:
    """Return a statement as notes show it: the sentence of it that holds one of the ``names``, or its first."""
    session = model.by_id.get(one.superseded_in or one.sessions[-1])
    said = one.statement
    # A quote has its lines; a claim that is the quote has them on one.
    text = sentence_about(names, claim_beside(said.claim, said.quote) or said.quote)
    link = best_link(session) if session else None
    return Known(text, _source(model, one), _day(memory, one), link, one.statement.standing)


def _source(model: VaultModel, one: Remembered) -> Link | Inert:
    """Return the link to the quote; to the page itself if the vault has no note of it."""
    place = model.sources.get(one.statement.url)
    return quote_link(place, one.statement.fact) if place else without_note(one.statement.url, one.statement.url)


def sentence_about(names: Iterable[str], text: str) -> str:
    """Return the first sentence of a text that holds one of the names, one of running text if there is; else its beginning."""

    sentences = [one for line in text.splitlines() for one in split_sentences(line.strip(" |-*`#"))] or [text]
    wanted = [frozenset(stems(name)) for name in names]
    about = [one for one in sentences if any(name <= frozenset(stems(one)) for name in wanted)] or sentences[:1]
    return one_line(next(filter(is_prose, about), about[0]), _LONGEST)


def _open(model: VaultModel, memory: Memory, names: Iterable[str]) -> Iterable[OpenQuestion]:
    """Yield the open questions of the latest session on each query that name the entity."""
    wanted = [frozenset(stems(name)) for name in names]
    latest = {one.query_id or one.session: one for one in memory.sessions.values()}
    for one in latest.values():
        for question in one.episode.open:
            if one.session in model.by_id and any(name <= frozenset(stems(question)) for name in wanted):
                yield OpenQuestion(one_line(question, _LONGEST), best_link(model.by_id[one.session]))
