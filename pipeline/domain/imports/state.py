"""The state of an import, folded from its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.events.session_events import RunStarted
from pipeline.domain.imports.import_events import (
    FactsImported,
    ImportCounts,
    ImportedFact,
    ImportedItem,
    Item,
    MessageImported,
    ReportImported,
    ResearchImported,
)
from pipeline.text.normalise import one_line

NOTHING = ResearchImported(kind="", original_id="", origin="", digest="", ordinals=0, counts=ImportCounts())
NOT_CHECKED = "Not checked: it was imported, and no quote in it was compared with a page. No report cites it."
NAMES: Mapping[str, str] = {
    "go-research": "a go-research session",
    "go-research-events": "an event folder of go-research",
    "aidaemon": "an aidaemon database",
    "got": "a Graph of Thought",
}


@dataclass
class ImportState:
    """An import. ``said`` is the latest ``research.imported``, ``first`` the first: what a note's place derives from. Both are
    ``NOTHING`` while there is none.

    ``items`` are by ordinal, and ``revisions`` say how often each was recorded. ``imports`` counts ``research.imported``.
    ``machine`` and ``imported_at`` are those of the last run that changed it.
    """

    id: str
    version: int = 0
    said: ResearchImported = NOTHING
    first: ResearchImported = NOTHING
    imports: int = 0
    machine: str = ""
    imported_at: str = ""
    items: dict[int, Item] = field(default_factory=dict)
    revisions: dict[int, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The question, else the original's title, else its id; one line."""
        return one_line(self.said.question or self.said.title or self.said.original_id, 300) or self.id

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that were given to it."""
        return self.said.tags

    @property
    def missing(self) -> int:
        """How many items an interrupted import has not recorded yet."""
        return sum(ordinal not in self.items for ordinal in range(self.said.ordinals))

    def current(self) -> Iterator[Item]:
        """Yield the items of the original as it was last, in order."""
        for ordinal in sorted(self.items):
            if ordinal < self.said.ordinals:
                yield self.items[ordinal]

    @property
    def report(self) -> ReportImported | None:
        """The last report, None without one."""
        return next((one for one in reversed(list(self.current())) if isinstance(one, ReportImported)), None)

    @property
    def messages(self) -> tuple[MessageImported, ...]:
        """All messages in order."""
        return tuple(one for one in self.current() if isinstance(one, MessageImported))

    @property
    def facts(self) -> tuple[tuple[str, ImportedFact], ...]:
        """All claims in order, each with who made it."""
        batches = (one for one in self.current() if isinstance(one, FactsImported))
        return tuple((one.author, fact) for one in batches for fact in one.facts)


def import_of(stream: str, events: Iterable[EventBase]) -> ImportState:
    """Return the state that an import's events fold to."""
    state = ImportState(id=stream)
    for event in events:
        apply(state, event)
    return state


def apply(state: ImportState, event: EventBase) -> None:
    """Add one event to the state. An event of another kind changes only the version."""
    state.version = event.version or state.version + 1
    match event:
        case RunStarted():
            state.machine, state.imported_at = event.agent or event.host, event.at
        case ResearchImported():
            state.said, state.first, state.imports = event, state.first if state.imports else event, state.imports + 1
        case FactsImported() | ReportImported() | MessageImported():
            state.items[event.ordinal] = event
            state.revisions[event.ordinal] = state.revisions.get(event.ordinal, 0) + 1


def text_of(item: ImportedItem) -> str:
    """Return all words of an item, for searching in it."""
    match item:
        case FactsImported():
            return "\n".join(" ".join(filter(None, (fact.title, fact.text))) for fact in item.facts)
        case ReportImported():
            return "\n".join(filter(None, (item.title, item.text)))
        case MessageImported():
            return "\n".join(filter(None, (item.name, item.text, item.result, item.error)))
    return ""
