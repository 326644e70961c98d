"""What a recurring question's report begins with: what is new since the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.domain.values import Changes, Fact
from pipeline.vault.notes.note_parts import Citer, address_words, best_link, source_link
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.page_markdown import statement
from pipeline.vault.vault_model import LoadedSession, VaultModel

MOST = 12  # of a kind; the rest is counted


@dataclass(frozen=True, slots=True)
class Told:
    """One statement and where it stands or stood: the quote's link, or the source."""

    text: str
    place: Link | str


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a source said, and what it says in its place."""

    before: str
    after: Told


@dataclass(frozen=True, slots=True)
class Unread:
    """A source that was not read again, and why."""

    place: Link | str
    reason: str


@dataclass(frozen=True, slots=True)
class Since:
    """What is new. ``quiet``: no fact is. ``more_added`` and ``more_gone`` count what is not listed, ``noticed`` facts of now
    that stood there before, ``kept`` earlier ones that still do.
    """

    day: str
    report: Link | None
    quiet: bool
    added: tuple[Told, ...]
    more_added: int
    changed: tuple[Replaced, ...]
    gone: tuple[Told, ...]
    more_gone: int
    noticed: int
    kept: int
    sources: tuple[Link | str, ...]
    unread: tuple[Unread, ...]


def since(model: VaultModel, loaded: LoadedSession) -> Since | None:
    """Return what is new in a study since the session before; None if it has none to compare with."""
    found = loaded.state.changes
    if found is None:
        return None
    teller = _Teller(model, loaded)
    added = _cited_first(found, loaded)
    before = model.by_id.get(found.session)
    return Since(
        day=found.since,
        report=best_link(before) if before else None,
        quiet=not (found.added or found.changed or found.gone),
        added=tuple(teller.found(name) for name in added[:MOST]),
        more_added=max(0, len(added) - MOST),
        changed=tuple(
            Replaced(statement(change.before.claim, change.before.quote), teller.found(change.after)) for change in found.changed
        ),
        gone=tuple(teller.lost(fact) for fact in found.gone[:MOST]),
        more_gone=max(0, len(found.gone) - MOST),
        noticed=len(found.noticed),
        kept=found.kept,
        sources=tuple(teller.place(source.url) for source in found.sources),
        unread=tuple(Unread(teller.place(source.url), source.reason) for source in found.unread),
    )


def _cited_first(found: Changes, loaded: LoadedSession) -> Sequence[str]:
    report = loaded.state.report
    cited = {name for reference in report.references for name in reference.facts} if report else set()
    return sorted(found.added, key=lambda name: name not in cited)


class _Teller:
    """Facts in words with links to where they stand."""

    def __init__(self, model: VaultModel, loaded: LoadedSession) -> None:
        self._model, self._facts = model, loaded.state.facts
        self._citer = Citer(model, loaded)

    def found(self, fact_id: str) -> Told:
        fact = self._facts[fact_id]
        return Told(statement(fact.claim, fact.quote), self._citer.citation(fact_id))

    def lost(self, fact: Fact) -> Told:
        return Told(statement(fact.claim, fact.quote), self.place(fact.url))

    def place(self, url: str) -> Link | str:
        source = self._model.sources.get(url)
        return source_link(source) if source else address_words(url)
