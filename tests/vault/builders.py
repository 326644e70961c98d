"""Sessions and nights recorded through the real guards, with every free text chosen by the test."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from pipeline.domain import research_values as v
from pipeline.domain.events import night_events as n
from pipeline.domain.events import session_events as e
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import ResearchSession, record_of, stamped
from pipeline.domain.session_state import plan_of
from pipeline.text.cleaning import digest_of
from pipeline.vault import BuildReport, build_vault
from pipeline.vault.build_if_changed import Mode
from pipeline.vault.output.templates import Renderer
from pipeline.vault.output.writer import GeneratedFile
from tests.fakes import MemoryStore
from tests.vault.scanner import leading_nowhere

TEMPLATES = Path(__file__).parents[2] / "templates" / "vault"
OPEN = "%% begin notes %%\n"
Say = Callable[[str], str]
PAGES = ("https://logs.example/handbook", "corpus:crash-safety.md", "https://disks.example/survey?year=2025")


@dataclass
class Scribe:
    """Records events of one stream, a second apart; those of a session are guarded, those of a batch come before them."""

    store: MemoryStore
    id: str
    date: str = "2026-11-21"
    seconds: int = 0
    amend: Callable[[EventBase], EventBase] = lambda event: event
    session: ResearchSession = field(init=False)

    def __post_init__(self) -> None:
        self.session = ResearchSession(self.id)

    def note(self, *drafts: EventBase, run: str = "run-1") -> None:
        is_batch = self.id.startswith("batch-")
        for draft in drafts:
            self.seconds += 1
            at = f"{self.date}T02:{(0 if is_batch else 15) + self.seconds // 60:02d}:{self.seconds % 60:02d}.000Z"
            event = stamped(self.amend(draft), self.id, self.seconds, run, f"{self.id}-{self.seconds:04d}", at)
            if not is_batch:
                self.session.record(event)
            self.store.append(self.id, [record_of(event)], self.seconds - 1)


def changing(kind: type[EventBase], **update: object) -> Callable[[EventBase], EventBase]:
    """Change fields of the events of one kind on their way into the log."""
    return lambda event: event.model_copy(update=update) if isinstance(event, kind) else event


def fact(url: str, quote: str, claim: str = "") -> v.Fact:
    name = digest_of(f"{quote}\n{url}".encode("utf-8", "replace"))[:12]
    return v.Fact(
        id=name, claim=claim or quote, quote=quote, url=url, digest=digest_of(url.encode("utf-8", "replace")), heading=""
    )


@dataclass
class Story:
    """A session from start to report. ``say`` turns each harmless text into the one that is recorded.

    ``texts`` are what pages said when they were read, by address; they are stored. Of other pages only a digest is known.
    """

    store: MemoryStore
    id: str = "2026-11-21-power-cut-3f2a"
    query: str = "How does an append-only log survive a power cut?"
    query_id: str = "power-cut"
    previous: str = ""
    date: str = "2026-11-21"
    say: Say = str
    pages: tuple[str, ...] = PAGES
    tags: tuple[str, ...] = ("crash safety",)
    texts: Mapping[str, str] = field(default_factory=dict)
    notices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scribe = Scribe(self.store, self.id, self.date)
        say = self.say
        first, second, third = self.pages
        self.facts: tuple[v.Fact, ...] = (
            fact(first, say("An append is durable after fsync returned."), say("Fsync makes an append durable.")),
            fact(first, say("The reader stops at the first torn record!")),
            fact(second, say("After fsync has returned, an append is durable.")),
            fact(third, say("One drive in nine loses flushed data.")).model_copy(update={"heading": say("Drives")}),
            fact(third, say("No drive loses flushed data.")),
        )

    def begin(self) -> Story:
        config = v.ResearchConfig(reasoner=self.say("careful-model"), search=(self.say("local"),))
        started = e.ResearchStarted(
            query=self.say(self.query), query_id=self.query_id, config=config, tags=self.tags, previous_session=self.previous
        )
        hits = tuple(v.Hit(url=f"{url}#top", title=self.say("A page")) for url in self.pages)
        self.scribe.note(e.RunStarted(host="here", process=1, program="test"), started)
        if self.previous:
            self.scribe.note(e.EarlierRecalled(earlier=self._earlier()))
        self.scribe.note(e.TopicSurveyed(provider="local", hits=hits))
        return self

    def _earlier(self) -> v.EarlierSession:
        say, url = self.say, self.pages[1]
        gone = fact(url, say("Fsync was never needed."))
        known = v.KnownSource(url=url, title=say("A page"), digest="1" * 64)
        return v.EarlierSession(
            session=self.previous, reported_at="2026-11-21T02:16:00.000Z", facts=(gone,), sources=(known,), cited=()
        )

    def _changes(self) -> e.ChangesFound:
        say, facts, (_, second, third) = self.say, self.facts, self.pages
        (gone,) = self._earlier().facts
        unread = v.SourceChange(url=third, title=say("T"), before="1" * 64, reason=say("it answered with an error"))
        changes = v.Changes(
            session=self.previous, since="2026-11-21T02:16:00.000Z", added=(facts[0].id,), gone=(gone,),
            changed=(v.FactChange(before=gone, after=facts[2].id),), kept=2, unread=(unread,),
            sources=(v.SourceChange(url=second, title=say("T"), before="1" * 64, after="2" * 64),),
        )  # fmt: skip
        return e.ChangesFound(changes=changes)

    def planned(self) -> Story:
        say = self.say
        views = (
            v.Perspective(
                id="basic-facts", name=say("Basic facts"), focus=say("What is known"), questions=(say("What is fsync?"),)
            ),
            v.Perspective(id="sceptic", name=say("Sceptic"), focus=say("What fails"), questions=(say("What can go wrong?"),)),
        )
        self.scribe.note(e.PlanCreated(perspectives=views, nodes=plan_of(views)))
        return self

    def gathered(self) -> Story:
        self._worker("search_0", "basic-facts", self.pages[:2], self.facts[:3])
        self._worker("search_1", "sceptic", self.pages[2:], self.facts[3:])
        return self

    def _worker(self, name: str, view: str, pages: tuple[str, ...], facts: tuple[v.Fact, ...]) -> None:
        say, queries = self.say, (self.say(f"{name} power cut"), self.say(f"{name} that fails"))
        self.scribe.note(
            e.WorkerStarted(worker_id=name, perspective_id=view),
            e.WorkerThought(worker_id=name, iteration=1, reasoning=say("Start with fsync."), queries=queries),
            e.SearchCompleted(query=queries[0], provider="local", hits=tuple(v.Hit(url=url, title=say("T")) for url in pages)),
            e.StepFailed(
                step=f"SearchFor:{queries[1]}", error="SearchFailed", message=say("it timed out"), recoverable=False, attempt=2
            ),
        )
        for url in pages:
            self._read(name, url, tuple(found for found in facts if found.url == url))
        gaps = (say("How loud is it?"),)
        self.scribe.note(
            e.WorkerEvaluated(worker_id=name, iteration=1, sufficient=False, gaps=gaps),
            e.WorkerCompleted(worker_id=name, reason="1 iteration", facts=len(facts)),
        )

    def _read(self, worker: str, url: str, facts: tuple[v.Fact, ...]) -> None:
        say, text = self.say, self.texts.get(url)
        digest = self.store.objects.put(text.encode()) if text is not None else digest_of(url.encode("utf-8", "replace"))
        rejected = (v.RejectedFact(claim=say("Made up"), quote=say("nowhere"), reason=say("the quote stands in no page")),)
        read = e.PageRead(
            url=url, title=say(f"Title of {url[-8:]}"), digest=digest, characters=1234, author=say("Ada N. Author; Reed, Bo"),
            published=say("2025-02-20"), final_url=url + "/", media_type="text/html",
            notices=self.notices.get(url, ()),
        )  # fmt: skip
        observed = e.FactsObserved(worker_id=worker, iteration=1, url=url, digest=digest, facts=facts, rejected=rejected)
        self.scribe.note(read, observed.model_copy(update={"cost": v.Cost(total_tokens=30, usd=0.01)}))

    def analysed(self) -> Story:
        say, facts = self.say, self.facts
        pair = v.Contradiction(
            id="c1", subject=say("flushed data"), kind="polarity", a=facts[3].id, b=facts[2].id, explanation=say("They differ")
        )
        gaps = (v.Gap(question=say("How loud is it?"), reason=say("no fact")),)
        self.scribe.note(
            e.AnalysisStarted(round=0),
            e.ContradictionsFound(round=0, contradictions=(pair,)),
            e.AnalysisCompleted(round=0, gaps=gaps),
        )
        return self

    def reported(self) -> Story:
        say, facts = self.say, self.facts
        sentences = tuple(v.Sentence(text=found.quote, facts=(found.id,)) for found in facts[:4])
        both = v.Sentence(text=say("Two quotes bear this out."), facts=(facts[0].id, facts[1].id, facts[2].id))
        paragraph = v.Paragraph(sentences=(*sentences, both))
        section = v.ReportSection(id="s1", title=say("What fsync does"), paragraphs=(paragraph,))
        numbered = enumerate(self.pages, start=1)
        references = tuple(
            v.Reference(
                number=number, url=url, title=say("A page"), digest=digest_of(url.encode("utf-8", "replace")),
                facts=tuple(found.id for found in facts[:4] if found.url == url),
            )
            for number, url in numbered
        )  # fmt: skip
        state = self.scribe.session.state
        self.scribe.note(
            e.SynthesisStarted(facts=len(facts), sources=3),
            *([self._changes()] if self.previous else []),
            e.ReportGenerated(
                title=say(self.query), summary=sentences[:1], sections=(section,), references=references,
                contradictions=state.analyses[0].contradictions or (), unknowns=state.analyses[0].gaps or (),
                limits=(say("2 searches could not be made"),), words=120, cut=1,
            ),
            e.ResearchCompleted(duration_s=30.0, cost=v.Cost(usd=0.03), sources=3, facts=5),
        )  # fmt: skip
        return self

    def failed(self) -> Story:
        self.scribe.note(e.ResearchFailed(cause="budget", reason=self.say("no evidence was found")))
        return self

    def not_found(self) -> Story:
        reason = self.say("none of your 3 documents mentions “Kafka”")
        self.scribe.note(e.ResearchFailed(cause=e.NO_EVIDENCE, reason=reason))
        return self

    def whole(self) -> Story:
        return self.begin().planned().gathered().analysed().reported()


def night(store: MemoryStore, *stories: Story, date: str = "2026-11-21", say: Say = str, archived: tuple[str, ...] = ()) -> None:
    ended = [
        n.QueryEnded(
            query_id=story.query_id, query=say(story.query), session=story.id, status=story.scribe.session.state.status,
            reason=say("why"), cost=v.Cost(usd=0.03), duration_s=30.0,
        )
        for story in stories
    ]  # fmt: skip
    after = max((name for name in store.marks(["batch"])), default="")
    Scribe(store, f"batch-{date}t020000-ab12", date).note(
        e.RunStarted(host="here", process=1, program="test"),
        n.BatchStarted(due=tuple(story.query_id for story in stories), archived=archived, after=after),
        n.QuerySkipped(query_id="other", query=say("Another question?"), reason=say("failed: no evidence")),
        *ended,
        n.BatchEnded(done=len(ended), failed=0, skipped=1, exit_code=0, duration_s=61.0),
    )


def a_store(say: Say = str) -> MemoryStore:
    """Two studies of one question on two nights, a failed one, one that was interrupted."""
    store = MemoryStore()
    first = Story(store, say=say).whole()
    again = Story(store, id="2026-11-28-power-cut-9c01", previous=first.id, date="2026-11-28", say=say).whole()
    no_answer = Story(
        store, id="2026-11-28-tides-77aa", query="Why are there tides?", query_id="tides", date="2026-11-28", say=say
    )
    half = Story(store, id="2026-11-28-ants-00ff", query="Do ants sleep?", query_id="ants", date="2026-11-28", say=say)
    no_answer.begin().failed()
    half.begin().planned()
    night(store, first, say=say)
    night(store, again, no_answer, half, date="2026-11-28", say=say)
    return store


@dataclass
class Workplace:
    """A vault in a temporary folder with what builds it."""

    root: Path
    store: MemoryStore
    templates: Path = TEMPLATES
    documents: Path | None = None

    @property
    def vault(self) -> Path:
        return self.root / "vault"

    @property
    def state(self) -> Path:
        return self.root / "local"

    def build(self, mode: Mode = "new") -> BuildReport:
        given: dict[str, Any] = {"record": self.record, "mode": mode, "documents": self.documents}
        return build_vault(self.store, templates=self.templates, vault=self.vault, state_dir=self.state, **given)

    def record(self, drafts: Sequence[EventBase], number: int = 0) -> None:
        """Store decisions about notes, in the order in which they were taken: that of their numbers, where these are given."""
        number = number or len(self.store.marks(["vault"])) + 1
        stream, at = f"vault-{number:04d}", f"2026-12-01T02:00:{number / 1000:06.3f}Z"
        events = [stamped(draft, stream, version, "run", f"{stream}-{version}", at) for version, draft in enumerate(drafts, 1)]
        self.store.append(stream, [record_of(event) for event in events], 0)

    def build_and_note(self) -> tuple[BuildReport, tuple[GeneratedFile, ...]]:
        """Build, and tell what each note said before its template made it."""
        seen: list[GeneratedFile] = []
        render = Renderer.render

        def noting(renderer: Renderer, note: GeneratedFile) -> str:
            seen.append(note)
            return render(renderer, note)

        with mock.patch.object(Renderer, "render", noting):
            return self.build(), tuple(seen)

    def files(self) -> dict[str, bytes]:
        found = (path for path in sorted(self.vault.rglob("*")) if path.is_file())
        return {path.relative_to(self.vault).as_posix(): path.read_bytes() for path in found}

    def leading_nowhere(self) -> list[tuple[str, str]]:
        return leading_nowhere({path: data.decode("utf-8", "replace") for path, data in self.files().items()})

    def moved(self, note: Path, to: str, *, by_obsidian: bool = False) -> Path:
        """Move a note as a file manager does, or as Obsidian does, which changes the links to it in all notes."""
        target = self.vault / to
        target.parent.mkdir(parents=True, exist_ok=True)
        note.rename(target)
        old, new = (path.relative_to(self.vault).as_posix().removesuffix(".md").encode() for path in (note, target))
        for file in self.vault.rglob("*.md") if by_obsidian else ():
            if file.is_file() and "attic" not in file.parts and b"[[" + old in (data := file.read_bytes()):
                file.write_bytes(re.sub(rb"\[\[" + re.escape(old) + rb"(?=[#|\\\]])", lambda _found: b"[[" + new, data))
        return target

    def note(self, start: str) -> Path:
        return next(
            path for path in sorted(self.vault.rglob("*.md")) if path.relative_to(self.vault).as_posix().startswith(start)
        )


def built(root: Path, store: MemoryStore, templates: Path = TEMPLATES) -> Workplace:
    """A workplace whose vault is built."""
    place = Workplace(root, store, templates)
    place.build()
    return place


def change(file: Path, old: str, new: str, *, count: int = -1) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, count))


def write_into(note: Path, words: str) -> None:
    """Write as a person does, between the markers."""
    change(note, OPEN, f"{OPEN}{words}\n")


def looks(folder: Path) -> dict[Path, tuple[int, int]]:
    """What changes of whatever is written below a folder."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def afresh(place: Workplace, folder: Path) -> dict[str, bytes]:
    """What a build from nothing makes of the same log and templates."""
    shutil.rmtree(folder, ignore_errors=True)
    return built(folder, place.store, place.templates).files()
