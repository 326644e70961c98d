"""The session note of another program's session: a banner that says that nothing is checked, then its report and claims."""

from __future__ import annotations

from pipeline.domain.events.stream_events import NOT_CHECKED, Import
from pipeline.text.normalise import one_line, slug
from pipeline.vault.notes.note_parts import heading, present, properties_of
from pipeline.vault.notes.queue_snippet import queue_lines
from pipeline.vault.notes.session_note import ImportedView, SessionView
from pipeline.vault.output.escaping import Link, plain
from pipeline.vault.output.note import Note
from pipeline.vault.paths import in_year

MOST_CLAIMS, MOST_MESSAGES, LONGEST = 150, 80, 1_200  # that a note shows; characters of one


def import_link(found: Import) -> Link:
    """Return the link to an import's note. The path derives from the first event of the import and never changes."""
    first = found.first
    year = in_year(first.created or first.at)
    if first.ordinals >= 0:  # recorded by an earlier version, so the note has its place
        return Link(f"imports/{year}/{slug(first.question or first.title, 60)}-{found.id[-8:]}", found.last.heading)
    return Link(f"sessions/{year}/{found.id}", found.last.heading)


def import_note(found: Import) -> Note:
    """Return the note of an import."""
    said, link = found.last, import_link(found)
    own = present({"query": plain(said.question, 300), "session": found.id})
    created = said.created or found.first.at
    properties = properties_of("session", f"Imported: {said.heading}", own, status="imported", topics=said.tags, created=created)
    claims = tuple(one.model_copy(update={"text": one_line(one.text, LONGEST)}) for one in said.claims[:MOST_CLAIMS])
    messages = tuple(one.model_copy(update={"text": one_line(one.text, LONGEST)}) for one in said.messages if one.text.strip())
    shown = len(claims) + len(messages[:MOST_MESSAGES]) + bool(said.report)
    imported = ImportedView(
        NOT_CHECKED, said.kind, said.origin, said.status, said.created, said.at, said.left_out, said.report, claims,
        messages[:MOST_MESSAGES], max(0, said.records - said.left_out - shown), said.faults, said.digest,
    )  # fmt: skip
    view = SessionView(
        title=heading(said.heading),
        status="cancelled",  # for a template of an earlier version, which then shows the reason
        reason=NOT_CHECKED,
        session_id=found.id,
        query_id=found.id,
        to_ask=queue_lines(said.queue, said.tags),
        started_at=created,
        imported=imported,
    )
    return Note(link.path, "session", properties, view, formerly=(f"import:{found.id}",))
