"""What other programs are given by the Model Context Protocol: reports, sources, passages and answers, each as a tool.

Reading tools write no byte in the workspace and take no lock. Types and descriptions of parameters and results are the schemas.
What only some tools need is imported there: a program waits for its first answer.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12; it comes with it

from pipeline.batch.session_index import SessionIndex, read_all
from pipeline.config.queue_file import add_query
from pipeline.config.queue_schema import Queue
from pipeline.config.settings import Workspace, keys_of, load_workspace
from pipeline.domain.events.records import kind_of
from pipeline.domain.summary import Summary
from pipeline.domain.values import EXTRACTIVE, Fact
from pipeline.errors import ResearchError, SessionUnknown, UsageError
from pipeline.search.index import copy_index
from pipeline.search.local_model import LocalEmbedder
from pipeline.search.passage_search import PassageSearch
from pipeline.search.vectors import Meaning
from pipeline.system import files
from pipeline.text import times
from pipeline.text.cleaning import clean
from pipeline.wiring.store_adapters import index_file, local_model, store_of, summaries_of

if TYPE_CHECKING:
    from pipeline.domain.state import SessionState

_RESULTS = 10
_LONGEST_PAGE = 200_000  # characters of a source that are returned
_TAG = "mcp"  # marks what other programs queued
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)]
Name = Annotated[str, Field(max_length=300, description="A session's id, or a query's for its latest session.")]
Since = Annotated[str, Field(max_length=100)]
Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=1_000)]
Tags = Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=60)]], Field(max_length=10)]
Days = Annotated[str, StringConstraints(pattern=r"^[1-9]\d{0,2}d$")]  # as 7d; a language of the schema
READING = ("search", "fetch", "ask", "report", "why", "whats_new", "status")


class Result(TypedDict):
    """What was found, in the shape that connectors expect."""

    id: str
    title: str
    url: str


class Results(TypedDict):
    """Reports and sources, best first."""

    results: list[Result]


class Document(TypedDict):
    """The whole text of a result."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


class Report(TypedDict):
    """A session's report as Markdown; the numbers ``[n]`` count its citations, the facts with their quotes, from 1."""

    session: Summary
    text: str
    citations: list[Fact]
    not_found: list[str]
    limits: list[str]


class Status(TypedDict):
    """Where the research of a question stands."""

    session: Summary


class News(TypedDict):
    """Sessions that ended, the latest first; ``cursor`` gives the next ones, "" at the end."""

    sessions: list[Report]
    cursor: str


class Answer(TypedDict):
    """What the stored pages say, with ``[n]`` as in a report; ``found`` is false if they do not clearly say."""

    found: bool
    answer: str
    citations: list[Fact]


class Library:
    """What the server knows: the store, the kept summaries, the one search over stored pages. Public methods are its tools.

    Nothing is written into the workspace: ``index``, a file elsewhere, begins as a copy of its index, and a file beside it as one
    of its summaries. Passages are compared by meaning if a model in this process does it.
    """

    def __init__(self, workspace: Workspace, index: Path) -> None:
        self._folder = workspace.folder
        self._store = store_of(workspace.folder)
        model = local_model(workspace.queue.settings, keys_of(workspace.folder), workspace.folder)
        copy_index(index_file(workspace.folder), index)
        self._kept = index.with_name("summaries.json")
        with suppress(OSError):  # there are none yet
            files.write(self._kept, files.read_bytes(summaries_of(workspace.folder)))
        self._pages = PassageSearch(index, store=self._store, meaning=Meaning(LocalEmbedder(model), 0.0) if model else None)
        self.takes_questions = workspace.queue.settings.mcp.enqueue

    async def prepare(self) -> None:
        """Index the pages that are not indexed yet and load the model of vectors, before the first search waits for both."""
        with suppress(ResearchError):  # the search says what is wrong
            await self._pages.find("any words", [one.id for one in self._summaries()], 1)

    def _known(self) -> SessionIndex:
        return read_all(self._store, self._kept)

    def _summaries(self) -> list[Summary]:
        """All readable sessions, the newest first."""
        return sorted(self._known().sessions, key=lambda one: (one.started_at, one.id), reverse=True)

    def _state(self, name: str) -> SessionState:
        """The session with that id, or the latest of the query with that id."""
        from pipeline.domain.session import ResearchSession

        if name not in set(self._store.ids("session")):
            found = self._known().latest().get(name)
            if not found:
                what = "was imported and is not checked" if kind_of(name) == "import" else "is no session and no query"
                raise SessionUnknown(f"{name[:100]!r} {what}", hint="the tool search finds reports and their ids")
            name = found.id
        return ResearchSession.open(self._store, name).state

    def _text(self, digest: str) -> str:
        return self._store.objects.get(digest).decode("utf-8", "replace")

    async def search(self, query: Words) -> Results:
        """Find reports and sources that answer a question, best first."""
        known = {one.id: one for one in self._summaries()}
        found = await self._pages.find(query, list(known), _RESULTS)
        sessions = dict.fromkeys(known[page.session] for page in found.pages if page.session in known)
        reports: list[Result] = [
            {"id": f"report/{one.id}", "title": clean(one.title or one.query), "url": f"research://report/{one.id}"}
            for one in sessions
            if one.outcome not in ("", "not-found")
        ]
        sources: list[Result] = [
            {"id": f"source/{one.digest}", "title": clean(one.title) or one.url, "url": _address(one.url, one.digest)}
            for one in found.pages
        ]
        return {"results": [*reports[: _RESULTS // 2], *sources]}

    async def fetch(self, id: Name) -> Document:
        """Get the whole text of a search result, by its id."""
        kind, _, key = id.partition("/")
        if kind == "report":
            found, url = _report(self._state(key)), f"research://report/{key}"
            about, title = {"outcome": found["session"].outcome}, clean(found["session"].query)
            return {"id": id, "title": title, "text": found["text"], "url": url, "metadata": about}
        if kind != "source":
            raise UsageError(f"{id[:100]!r} is no id of a search result", hint="it begins with report/ or source/")
        page = await self._pages.page(key, {one.id for one in self._summaries()})
        if page is None:
            raise SessionUnknown(f"no session read a page {key[:64]!r}", hint="the tool search finds sources and their ids")
        text, title, url = self._text(key), clean(page.title) or page.url, _address(page.url, key)
        about = {"address": page.url, "characters": f"{len(text[:_LONGEST_PAGE]):,} of {len(text):,}"}
        return {"id": id, "title": title, "text": text[:_LONGEST_PAGE], "url": url, "metadata": about}

    async def ask(self, question: Words, scope: Name = "") -> Answer:
        """Get the answer that the stored pages give, with quotes. Scope: a session's or query's id, or a tag as #tag."""
        from pipeline.domain.events.talk_events import MessageAsked, TalkOpened
        from pipeline.domain.talk import TalkState, apply, next_step
        from pipeline.engine.talk_loop import TalkContext, perform

        known = self._summaries()
        if scope.startswith("#"):
            known = [one for one in known if scope[1:].casefold() in map(str.casefold, one.tags)]
        elif scope:
            session = self._state(scope).id
            known = [one for one in known if one.id == session]
        if not known:
            raise UsageError("no session has stored a page there", hint="call ask without a scope")
        ids, subject = [one.id for one in known], known[0].query if len(known) == 1 else ""
        state, context = TalkState(id="talk"), TalkContext(None, self._pages, self._text, ids)
        apply(state, TalkOpened(scope="vault", ids=tuple(ids), subject=subject, reasoner=EXTRACTIVE))
        apply(state, MessageAsked(number=1, text=question, by="person"))
        while step := next_step(state):
            for draft in (await perform(step, state, context)).drafts:
                apply(state, draft)
        turn = state.turns[-1]
        cited, said = turn.cited(), turn.answer.sentences or turn.answer.nearest if turn.answer else ()
        numbers = {fact.id: number for number, fact in enumerate(cited, 1)}
        text = " ".join(f"{one.text} {''.join(f'[{numbers[name]}]' for name in one.facts)}".rstrip() for one in said)
        return {"found": bool(turn.answer and turn.answer.found), "answer": text, "citations": list(cited)}

    async def report(self, id: Name) -> Report:
        """Get a session's report with its citations: quote, page, place."""
        return _report(self._state(id))

    async def why(self, id: Name, sentence: Words) -> dict[str, Any]:
        """Get what a sentence of a session's report rests on, and what is against it. Sentence: words of it, or a fact's id."""
        from pipeline.domain.evidence_trail import value_of, why

        found = why(self._state(id), sentence)
        if found is None:
            raise UsageError(f"{id[:100]} has no sentence like that", hint="take some words of a sentence of its report")
        return value_of(found)

    async def whats_new(self, since: Since, limit: Annotated[int, Field(ge=1, le=50)] = 10, cursor: Name = "") -> News:
        """List the answers of sessions that ended since then, the latest first. Since: 7d (ago) or 2026-11-21; cursor: go on."""
        moment = times.since(since, datetime.now(UTC))
        if moment is None:
            raise UsageError(f"{since!r} is not a moment", hint="write 7d (ago), 2026-11-21 or 2026-11-21T06:30Z")
        ended = {f"{one.ended_at} {one.id}": one.id for one in self._summaries() if one.ended_at}
        places = [place for place in sorted(ended, reverse=True) if not cursor or place < cursor]
        new = [place for place in places if times.moment_of(place.partition(" ")[0]) >= moment]
        sessions = [_report(self._state(ended[place])) for place in new[:limit]]
        return {"sessions": sessions, "cursor": new[limit - 1] if len(new) > limit else ""}

    async def status(self, id: Name) -> Status:
        """Get where the research of a question stands, by its session's or query's id."""
        queued = [query for query in load_workspace(self._folder).queue.queries if query.id == id]
        if queued and id not in self._known().latest():
            return {"session": Summary(id=id, status="queued", query=queued[0].text)}
        from pipeline.domain.session import summary_of

        return {"session": summary_of(self._state(id))}

    async def enqueue(
        self, question: Question, mode: Literal["fast", "deep"] = "fast", tags: Tags | None = None, every: Days | None = None
    ) -> Status:
        """Queue a question for the next night, as a full sentence. Every: research it again after so many days, as 7d."""
        each = load_workspace(self._folder).queue.settings.mcp.each_usd
        fields = {"mode": mode, "tags": [_TAG, *(tags or [])], "budget_usd": each} | ({"every": every} if every else {})
        query = add_query(self._folder / "queries.yaml", question, _refuse, **cast(dict[str, Any], fields))
        return {"session": Summary(id=query.id, status="queued", query=query.text)}


def _address(url: str, digest: str) -> str:
    """Where a source can be read: on the web, or for an own document in this server."""
    return url if url.startswith(("http://", "https://")) else f"research://source/{digest}"


def _report(state: SessionState) -> Report:
    from pipeline.domain.session import summary_of

    report, titles = state.report, {page.digest: clean(page.title) for page in state.pages.values()}
    parts, cited = [f"# {clean(report.title if report else state.query)}"], dict[str, int]()

    def sentence(text: str, facts: tuple[str, ...]) -> str:
        numbers = [cited.setdefault(name, len(cited) + 1) for name in facts if name in state.facts]
        return f"{clean(text)} {''.join(f'[{number}]' for number in numbers)}".rstrip()

    if report:
        parts.append(" ".join(sentence(one.text, one.facts) for one in report.summary))
        for section in report.sections:
            parts.append(f"## {clean(section.title)}")
            for block in section.paragraphs:
                lines = [sentence(one.text, one.facts) for one in block.sentences]
                if block.form == "paragraph":
                    parts.append(" ".join(lines))
                else:
                    marks = ({"": "\n- ", "list": "\n  - ", "item": " "}[one.within] for one in block.sentences)
                    parts.append("".join(map(str.__add__, marks, lines)).strip("\n"))
    else:
        parts.append(f"There is no report: {state.end_reason or state.status}.")
    quoted = [state.facts[name] for name in cited]
    quotes = (f"[{n}] “{one.quote}” — {titles.get(one.digest, one.url)}, {one.url}" for n, one in enumerate(quoted, 1))
    text = "\n\n".join(filter(None, [*parts, "## Quotes", *quotes])) + "\n"
    unknowns, limits = ([gap.question for gap in report.unknowns], list(report.limits)) if report else ([], [])
    return {"session": summary_of(state), "text": text, "citations": quoted, "not_found": unknowns, "limits": limits}


def _refuse(queue: Queue) -> None:
    """Keep to the caps of what other programs may queue: each question has one, and all of them together.

    Raises:
        UsageError: it is not allowed, or a cap is reached.
    """
    allowed, queued = queue.settings.mcp, [query for query in queue.queries if _TAG in query.tags]
    spent = sum(query.budget_usd or 0.0 for query in queued) + allowed.each_usd
    if not allowed.enqueue:
        hint = "the user allows it in queries.yaml: settings: {mcp: {enqueue: true}}"
        raise UsageError("this workspace takes no questions from other programs", hint=hint)
    if spent > allowed.cost_usd + 1e-9:
        what = f"the queue takes questions of other programs for {allowed.cost_usd:.2f} USD in sum"
        raise UsageError(what, hint=f"the user removes entries with the tag {_TAG}, or raises settings: mcp")
