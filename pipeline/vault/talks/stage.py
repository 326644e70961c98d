"""The stage of a build that renders talks, and says which talks are about a session or a topic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.talk.state import TalkState, talk_of
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.cache.stream_mark import TALKS, stream_mark
from pipeline.vault.log_changes import LogChanges
from pipeline.vault.notes.note_parts import best_link, heading, topic_of
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Note
from pipeline.vault.talks.talk_note import talk_link, talk_note, topics_of_talk
from pipeline.vault.vault_model import VaultModel

_ASKED = "asked about"  # the catalogue's entry for the talks that the last build showed of each session


def _researched(model: VaultModel, talk: TalkState) -> Iterator[Link]:
    """Yield the links to what ``ask --deeper`` researched in a talk: the report, or the session as long as there is none."""
    for turn in talk.turns:
        card = model.by_id.get(turn.session)
        if card:
            yield Link(best_link(card).path, f"researched further: {heading(card.query)}")


@dataclass
class TalkNotes:
    """What a build shows of talks. ``relinked``: the links to other notes may have changed since the last build."""

    store: EventStore
    catalogue: Catalogue
    changes: LogChanges
    relinked: bool

    @cached_property
    def is_changed(self) -> bool:
        """Whether a talk, or what its note links to, may differ from what the last build showed."""
        mark = stream_mark(self.store, "talk")
        changed = self.relinked or mark != self.catalogue.recall(TALKS)
        self.catalogue.keep(TALKS, mark)
        return changed

    @cached_property
    def talks(self) -> dict[str, TalkState]:
        """The readable talks in which something was asked, by id; the others are among the build's problems."""
        return {state.id: state for state in self._read() if state.turns and state.opened_at}

    def _read(self) -> Iterator[TalkState]:
        for name in self.store.ids("talk"):
            try:
                yield talk_of(name, decode_all(record.data for record in self.store.load(name)))
            except LogError as error:
                self.changes.problems.append(f"the note of {name}: {error}; run `research verify` for details")

    def note(self, model: VaultModel, name: str) -> Note:
        """Return the note of a talk, given by its id."""
        return talk_note(replace(model, sources=self.catalogue.noted_sources()), self.talks[name])

    def asked_on(self, model: VaultModel, topic: str) -> tuple[Link, ...]:
        """Return the links to the talks about a topic or about one of its sessions, the latest first."""
        found = [one for one in self.talks.values() if topic in map(topic_of, topics_of_talk(model, one))]
        return tuple(talk_link(one) for one in sorted(found, key=lambda one: (one.opened_at, one.id), reverse=True))

    def about(self, model: VaultModel, session: str) -> tuple[Link, ...]:
        """Return the links to the talks about one session, the latest first, each with the reports that it had researched."""
        found = [one for one in self.talks.values() if one.scope == "session" and session in one.ids]
        ordered = sorted(found, key=lambda one: (one.opened_at, one.id), reverse=True)
        return tuple(link for one in ordered for link in (talk_link(one), *_researched(model, one)))

    def asked_about(self) -> set[str]:
        """Return the sessions that talks are about."""
        return {name for one in self.talks.values() if one.scope == "session" for name in one.ids}

    def about_any(self, model: VaultModel, sessions: Iterable[str]) -> tuple[Link, ...]:
        """Return what ``about`` returns for several sessions, each link once."""
        return tuple(dict.fromkeys(link for name in sessions for link in self.about(model, name)))

    def sessions_asked_about(self, model: VaultModel) -> set[str]:
        """Return the sessions whose talks are not those that the last build showed; remember those of now."""
        if not self.is_changed:
            return set()
        before: dict[str, list[str]] = json.loads(self.catalogue.recall(_ASKED) or "{}")
        now = {name: [link.path for link in self.about(model, name)] for name in sorted(self.asked_about())}
        self.catalogue.keep(_ASKED, json.dumps(now))
        return {name for name in now.keys() | before.keys() if now.get(name) != before.get(name)}

    def gone(self, known: Iterator[str]) -> set[str]:
        """Return the owners among ``known`` that are talks and no longer exist."""
        if not self.is_changed:
            return set()
        return {owner for owner in known if owner.startswith("talk:") and owner.removeprefix("talk:") not in self.talks}
