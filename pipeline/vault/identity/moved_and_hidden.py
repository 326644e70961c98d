"""``Decisions``: where a person put notes, and which are hidden; folded from the events under ``events/vault/``.

The streams of all machines are united, and the latest event about a note counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_events import NoteHidden, NoteMoved, NoteShown, Ratings
from pipeline.ports import EventStore
from pipeline.vault.paths import ATTIC

RETIRED = ("entity", "memory", "question", "talk")  # the kinds of notes that only earlier versions of the program made


@dataclass
class Decisions:
    """What a person decided about notes, by the notes' ids.

    ``paths`` is where each note was moved last, in order of time.
    """

    paths: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    ratings: Ratings = field(default_factory=Ratings)

    def apply(self, event: EventBase) -> None:
        """Take in one event, later than all before it; an event of another kind, or with an unfit path, changes nothing."""
        if isinstance(event, NoteMoved) and is_fit(event.path):
            self.paths.pop(event.note, None)
            self.paths[event.note] = event.path
            self.hidden.discard(event.note)
        elif isinstance(event, NoteShown):
            self.hidden.discard(event.note)
        elif isinstance(event, NoteHidden):
            self.hidden.add(event.note)
        else:
            self.ratings.apply(event)


def is_fit(path: str) -> bool:
    """Tell whether a generated note may be at ``path``: a Markdown file that is neither hidden nor in the attic."""
    parts = path.split("/")
    return path.endswith(".md") and parts[0] != ATTIC and not any(not part or part.startswith(".") for part in parts)


def read_decisions(store: EventStore) -> Decisions:
    """Return what the log says.

    Raises:
        LogError: a stream is damaged.
    """
    streams = {name: decode_all(record.data for record in store.load(name)) for name in store.marks(["vault"])}
    events = [(event.at, name, event.version, event) for name, found in streams.items() for event in found]
    decisions = Decisions()
    for *_order, event in sorted(events, key=lambda entry: entry[:3]):
        decisions.apply(event)
    return decisions


def is_retired(note: str) -> bool:
    """Tell whether a note's id, or its kind, is of a kind that is no longer made."""
    return note.partition(":")[0] in RETIRED
