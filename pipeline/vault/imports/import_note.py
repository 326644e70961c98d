"""The note of an import: a banner, then report, claims and messages of another program, as it left them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from pipeline.domain.imports.import_events import ImportedFact, ImportFinding, MessageImported
from pipeline.domain.imports.state import NAMES, NOT_CHECKED, ImportState
from pipeline.text.labels import count
from pipeline.text.normalise import one_line, slug
from pipeline.vault.imports.foreign_markdown import foreign_markdown
from pipeline.vault.notes.note_parts import heading, present, properties_of
from pipeline.vault.notes.queue_snippet import queue_lines
from pipeline.vault.output.escaping import Inert, Link, address
from pipeline.vault.output.formatting import joined
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.note import Note
from pipeline.vault.output.prose import prose
from pipeline.vault.paths import in_year

LONGEST_REPORT = 60_000  # characters of a report
MOST_CLAIMS, MOST_MESSAGES, MOST_FINDINGS, MOST_SOURCES = 150, 80, 40, 10
_NAMED_LINE = re.compile(r"\s*\n\s*(?=[A-Z][\w ]{0,30}:(?:\s|\Z))")
_LONGEST = 1_200  # characters of one text of a message


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of another program, with its title, or "". ``about`` names who made it and how sure it was."""

    title: str
    text: Inert
    about: str
    sources: tuple[Inert, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message: who and what in one line (``head``), when, its text, and what came of it."""

    head: str
    at: str
    text: Inert
    result: Inert
    error: str


@dataclass(frozen=True, slots=True)
class ImportView:
    """What ``import.md.j2`` is given. ``more_…`` count what the note leaves out; the log has all of it, under ``id``."""

    title: str
    id: str
    banner: str
    kind: str
    lead: str
    origin: str
    status: str
    created: str
    imported: str
    records: int
    items: int
    left_out: int
    missing: int
    question: str
    report_title: str
    report: Inert
    report_cut: bool
    report_sources: tuple[Inert, ...]
    claims: tuple[Claim, ...]
    more_claims: int
    messages: tuple[Message, ...]
    more_messages: int
    findings: tuple[ImportFinding, ...]
    more_findings: int
    queue: tuple[Inert, ...]


def import_path(state: ImportState) -> str:
    """Return the path of an import's note; it derives from its first event and never changes."""
    first = state.first
    words = slug(first.question or first.title, 60)
    year = in_year(first.created or first.at)
    return f"imports/{year}/{words}-{state.id[-8:]}"


def import_link(path: str, title: str) -> Link:
    """Return the link to an import's note."""
    return Link(path, title)


def import_note(state: ImportState) -> Note:
    """Return the note of an import."""
    said = state.said
    own: dict[str, Property] = {"origin": NAMES.get(said.kind, said.kind), "query": one_line(said.question, 300)}
    title = heading(state.title)
    created = said.created or state.first.at
    properties = properties_of("import", title, present(own), status="imported", topics=state.tags, created=created)
    return Note(import_path(state), "import", properties, _view(state))


def _view(state: ImportState) -> ImportView:
    said, report, facts, messages = state.said, state.report, state.facts, _worth_showing(state)
    return ImportView(
        title=heading(state.title),
        id=state.id,
        banner=NOT_CHECKED,
        kind=NAMES.get(said.kind, said.kind),
        lead=_lead(state),
        origin=said.origin,
        status=said.status or ("ended" if said.finished else "unfinished"),
        created=said.created,
        imported=said.at,
        records=said.counts.records,
        items=said.counts.items,
        left_out=said.counts.left_out,
        missing=state.missing,
        question=one_line(said.question, 2_000) if said.question != state.title else "",
        report_title=heading(report.title) if report and report.title else "",
        report=foreign_markdown(report.text[:LONGEST_REPORT]) if report else Inert(""),
        report_cut=bool(report and len(report.text) > LONGEST_REPORT),
        report_sources=_addresses(report.sources) if report else (),
        claims=tuple(_claim(author, fact) for author, fact in facts[:MOST_CLAIMS]),
        more_claims=max(0, len(facts) - MOST_CLAIMS),
        messages=tuple(_message(one) for one in messages[:MOST_MESSAGES]),
        more_messages=max(0, len(messages) - MOST_MESSAGES),
        findings=said.findings[:MOST_FINDINGS],
        more_findings=max(0, len(said.findings) - MOST_FINDINGS),
        queue=queue_lines(said.queue, state.tags),
    )


def _lead(state: ImportState) -> str:
    """What the import holds, in a sentence: what lists and the search show of the note."""
    facts, messages = len(state.facts), len(_worth_showing(state))
    parts = [*(["a report"] if state.report else []), *([count(facts, "claim")] if facts else [])]
    parts += [count(messages, "message")] if messages else []
    what = NAMES.get(state.said.kind, state.said.kind)
    return f"{what[:1].upper()}{what[1:]} with {joined(parts) if parts else 'nothing but its question'}. Not checked."


def _worth_showing(state: ImportState) -> Sequence[MessageImported]:
    """The messages that say anything beyond their role."""
    return [one for one in state.messages if one.text or one.result or one.error or one.name]


def _claim(author: str, fact: ImportedFact) -> Claim:
    sure = f"confidence {fact.confidence:g}" if fact.confidence is not None else ""
    about = ", ".join(filter(None, (author, sure)))
    return Claim(one_line(fact.title, 200), prose(one_line(fact.text, _LONGEST)), about, _addresses(fact.sources))


def _message(one: MessageImported) -> Message:
    outcome = {True: "succeeded", False: "failed", None: ""}[one.success]
    seconds = f"{one.seconds:g} s" if one.seconds is not None else ""
    parts = (
        one.role.replace("_", " "),
        one_line(one.name, 80),
        one_line(one.author, 60),
        one_line(one.status, 40),
        outcome,
        seconds,
    )
    links = f" ({one_line(', '.join(one.links), 200)})" if one.links else ""
    head = ", ".join(filter(None, parts)) + links
    return Message(head, one.when, _short(one.text), _short(one.result), one_line(one.error, 400))


def _short(text: str) -> Inert:
    """A text on one line; lines that begin with a name for what they hold, as "Rationale: …", are set apart."""
    return prose(one_line(_NAMED_LINE.sub(" · ", text), _LONGEST))


def _addresses(sources: Iterable[str]) -> tuple[Inert, ...]:
    return tuple(address(one, one_line(one, 120)) for one in islice(dict.fromkeys(sources), MOST_SOURCES))
