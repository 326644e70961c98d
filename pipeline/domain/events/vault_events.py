"""What a person decided about the notes of the vault, and called useful or wrong, with the envelope of ``session_events``.

``note`` is the id that the note carries as a property. Of several decisions about one note the latest counts.
"""

from __future__ import annotations

from typing import Literal

from pipeline.domain.events.event_base import EventBase


class NoteMoved(EventBase):
    """A person moved or renamed a note, or put a hidden one back. ``path`` is where it is now, in the vault, with its suffix."""

    type: Literal["note.moved"] = "note.moved"
    note: str
    path: str


class NoteHidden(EventBase):
    """A person deleted a note: it is not generated, and links to it become plain text."""

    type: Literal["note.hidden"] = "note.hidden"
    note: str


class NoteShown(EventBase):
    """A person asked for a hidden note again: it is generated where it was."""

    type: Literal["note.shown"] = "note.shown"
    note: str


class NoteRated(EventBase):
    """A person called a passage ``useful`` or ``wrong`` for a question, or took that back (""). ``fact`` is the passage's id.

    Without a ``fact`` the whole source at ``url`` is meant, for every question if there is no ``query_id``.
    """

    type: Literal["note.rated"] = "note.rated"
    note: str
    rating: Literal["useful", "wrong", ""]
    query_id: str = ""
    fact: str = ""
    url: str = ""
