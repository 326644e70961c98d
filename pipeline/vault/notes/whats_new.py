"""The first part of a recurring question's report: what is new since the report before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pipeline.domain.findings import news_of
from pipeline.domain.values import Fact
from pipeline.vault.mornings.learnt import is_lost, path_of
from pipeline.vault.notes.note_parts import Citer, address_words, best_link, quote_link, source_link, without_note
from pipeline.vault.output.escaping import Inert, Link, inert
from pipeline.vault.output.page_markdown import statement
from pipeline.vault.vault_model import LoadedSession, VaultModel

MOST = 12  # of a kind; the rest is counted


@dataclass(frozen=True, slots=True)
class PlacedStatement:
    """A statement with its place: the link to the quote, or the source."""

    text: str
    place: Link | Inert


@dataclass(frozen=True, slots=True)
class Replaced:
    """A statement of a source, and the one that replaced it."""

    before: str
    after: PlacedStatement


@dataclass(frozen=True, slots=True)
class Unread:
    """A source that was not read again, and why."""

    place: Link | Inert
    reason: str


@dataclass(frozen=True, slots=True)
class Since:
    """The difference to the report before. ``quiet``: no fact is new. ``more_added`` and ``more_gone`` count unlisted facts.

    ``noticed`` counts facts that were in their source before but were found only now, and those that the report does not cite of
    sources that were not read before; ``kept`` earlier facts that still hold. ``lost`` are documents that were deleted or moved.
    """

    day: str
    report: Link | None
    quiet: bool
    added: tuple[PlacedStatement, ...]
    more_added: int
    changed: tuple[Replaced, ...]
    gone: tuple[PlacedStatement, ...]
    more_gone: int
    noticed: int
    kept: int
    sources: tuple[Link | Inert, ...]
    unread: tuple[Unread, ...]
    lost: tuple[Link | Inert, ...] = ()


def since(model: VaultModel, loaded: LoadedSession) -> Since | None:
    """Return what is new in a session since the one before; None if there is none to compare with."""
    found = loaded.state.changes
    if found is None:
        return None
    facts = _FactTexts(model, loaded)
    added = news_of(loaded.state)
    before = model.by_id.get(found.session)
    return Since(
        day=found.since,
        report=best_link(before) if before else None,
        quiet=not (added or found.changed or found.gone),
        added=tuple(facts.of_fact(name) for name in added[:MOST]),
        more_added=max(0, len(added) - MOST),
        changed=tuple(
            Replaced(statement(change.before.claim, change.before.quote), facts.of_fact(change.after)) for change in found.changed
        ),
        gone=tuple(facts.of_lost_fact(fact) for fact in found.gone[:MOST]),
        more_gone=max(0, len(found.gone) - MOST),
        noticed=len(found.noticed) + len(found.added) - len(added),
        kept=found.kept,
        sources=tuple(facts.place(source.url) for source in found.sources),
        unread=tuple(Unread(facts.place(one.url), one.reason) for one in found.unread if not is_lost(one)),
        lost=tuple(facts.lost_document(one.url) for one in found.unread if is_lost(one)),
    )


class _FactTexts:
    """Facts as statements with links to their quotes or sources."""

    def __init__(self, model: VaultModel, loaded: LoadedSession) -> None:
        self._model, self._loaded, self._facts = model, loaded, loaded.state.facts
        self._citer = Citer(model, loaded)
        report = loaded.state.report
        self._cited = {reference.url for reference in report.references} if report else set()

    def of_fact(self, fact_id: str) -> PlacedStatement:
        fact = self._facts[fact_id]
        claim = fact.claim if self._loaded.state.bears_claim(fact) else ""
        place = self._citer.citation(fact_id) if fact.url in self._cited else self._quote(fact)
        return PlacedStatement(statement(claim, fact.quote), place)

    def _quote(self, fact: Fact) -> Link | Inert:
        """The link to the quote of a fact that the report does not cite, shown as its source's title."""
        source = self._model.sources[fact.url]
        return quote_link(source, fact.id) if fact.url in self._loaded.shown_sources else without_note(fact.url, source.title)

    def lost_document(self, url: str) -> Link | Inert:
        """The link to the note of a document that is gone, shown as its path."""
        source = self._model.sources.get(url)
        return source_link(source, path_of(url)) if source and url in self._shown else inert(path_of(url))

    def of_lost_fact(self, fact: Fact) -> PlacedStatement:
        return PlacedStatement(statement(fact.claim, fact.quote), self.place(fact.url))

    def place(self, url: str) -> Link | Inert:
        """The link to a source's note; the source itself if it has none because of this session or the one before."""
        source = self._model.sources.get(url)
        if source is None:
            return inert(address_words(url))
        return source_link(source) if url in self._shown else without_note(url, source.title)

    @cached_property
    def _shown(self) -> frozenset[str]:
        found = self._loaded.state.changes
        if found is None or found.session not in self._model.by_id:
            return self._loaded.shown_sources
        return self._loaded.shown_sources | {source.url for source in found.unread}  # the session before cites these
