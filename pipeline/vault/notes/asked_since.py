"""What was asked since: the questions of talks about a session or a topic, each with its answer in a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.talk.state import TalkState, Turn, talk_of
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of, one_line
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.cache.stream_mark import TALKS, stream_mark
from pipeline.vault.notes.note_parts import best_link, source_link, topic_of, without_note
from pipeline.vault.output.escaping import Inert, Link
from pipeline.vault.output.page_markdown import flat
from pipeline.vault.vault_model import Asked, SourceNotePlace, VaultModel

_ASKED = "asked about"  # the catalogue's entry for what the last build showed of each session and topic
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


@dataclass
class AskedSince:
    """What a build shows of talks; those that cannot be read are added to ``problems``.

    ``relinked``: the links to other notes may have changed since the last build.
    """

    store: EventStore
    catalogue: Catalogue
    problems: list[str]
    model: VaultModel
    relinked: bool

    @cached_property
    def _by_owner(self) -> dict[str, tuple[Asked, ...]]:
        """What was asked about each session (``session:…``) and topic (``topic:…``), in order of time."""
        found: dict[str, list[Asked]] = {}
        for talk in sorted(self._talks(), key=lambda talk: (talk.opened_at, talk.id)):
            for owner in dict.fromkeys(self._owners(talk)):
                found.setdefault(owner, []).extend(map(_asked, talk.turns))
        return {owner: tuple(asked) for owner, asked in sorted(found.items())}

    def _talks(self) -> Iterator[TalkState]:
        """The talks that can be read; the others are among the build's problems."""
        for name in self.store.ids("talk"):
            try:
                yield talk_of(name, decode_all(record.data for record in self.store.load(name)))
            except LogError as error:
                self.problems.append(f"what was asked in {name}: {error}; run `research verify` for details")

    def _owners(self, talk: TalkState) -> Iterator[str]:
        """What a talk is about: its session, its topic, or the session of the newest report on its query."""
        for name in talk.ids:
            if talk.scope == "topic":
                yield f"topic:{topic_of(name)}"
            elif talk.scope == "session" and name in self.model.by_id:
                yield f"session:{name}"
            elif talk.scope == "query" and (cards := [card for card in self.model.of_query.get(name, ()) if card.has_report]):
                yield f"session:{cards[-1].id}"

    def about(self, owner: str) -> tuple[Asked, ...]:
        """Return what was asked about a session (``session:…``) or a topic (``topic:…``)."""
        return self._by_owner.get(owner, ())

    @cached_property
    def changed(self) -> set[str]:
        """The sessions and topics of which this build shows other questions, answers or links than the last one."""
        mark = stream_mark(self.store, "talk")
        if mark == self.catalogue.recall(TALKS) and not self.relinked:
            return set()
        self.catalogue.keep(TALKS, mark)
        before: dict[str, str] = json.loads(self.catalogue.recall(_ASKED) or "{}")
        now = {owner: self._fingerprint(asked) for owner, asked in self._by_owner.items()}
        self.catalogue.keep(_ASKED, json.dumps(now))
        return {owner for owner in now.keys() | before.keys() if now.get(owner) != before.get(owner)}

    def _fingerprint(self, asked: tuple[Asked, ...]) -> str:
        shown = [(one, link.path if (link := _further(self.model, one)) else "") for one in asked]
        return digest_of(repr(shown).encode("utf-8", "replace"))[:16]


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
