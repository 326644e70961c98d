"""What other programs are given by the Model Context Protocol: reports, sources, passages and answers, each as a tool.

Reading tools write no byte in the workspace and take no lock. Annotations and docstrings are the schemas. What only some tools
need is imported there: a program waits for its first answer.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from pydantic_core import from_json
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12; it comes with it

from pipeline.batch.session_index import SessionIndex, read_all
from pipeline.config.queue_file import add_query
from pipeline.config.queue_schema import Query, Queue, question_fault
from pipeline.config.workspace_settings import Workspace, keys_of, load_workspace
from pipeline.domain.research_values import Fact
from pipeline.domain.summary import Summary
from pipeline.errors import ResearchError, SessionUnknown, UsageError
from pipeline.search.index import copy_index
from pipeline.search.local_embedder import LocalEmbedder
from pipeline.search.passage_search import PassageSearch
from pipeline.search.vectors import Meaning
from pipeline.system import files
from pipeline.text import times
from pipeline.text.addresses import readable
from pipeline.text.cleaning import clean
from pipeline.text.questions import content_stems
from pipeline.text.words import jaccard
from pipeline.wiring.store_adapters import index_file, local_model, store_of, summaries_of

_RESULTS = 10
_LONGEST_PAGE = 200_000  # characters of a source that are returned
_TAG = "mcp"  # marks what other programs queued
_EACH_USD = 0.25  # the cap of a session on one of their questions
_MARKS = {"": "\n- ", "list": "\n  - ", "item": " "}  # of a sentence in a list: begins an entry, one below it, or goes on
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)]
Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=1_000)]
Name = Annotated[str, Field(max_length=300)]
Mode = Literal["fast", "deep"]
Tags = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=60)], ...], Field(max_length=10)] | None
Days = Annotated[str, Field(pattern=r"^([1-9]\d{0,2}d)?$")] | None  # a language of the schema
READING = ("search", "fetch", "ask", "report", "why", "whats_new", "status")


class Result(TypedDict):
    """What was found, in the shape that connectors expect."""

    id: str
    title: str
    url: str


class Results(TypedDict):
    """Reports and sources, best first."""

    results: list[Result]


class Document(Result):
    """The whole text of a result."""

    text: str
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
        self._folder, settings = workspace.folder, workspace.queue.settings
        self._store, self._kept = store_of(self._folder), index.with_name("summaries.json")
        copy_index(index_file(self._folder), index)
        with suppress(OSError):  # there are none yet
            files.write(self._kept, files.read_bytes(summaries_of(self._folder)))
        model = local_model(settings, keys_of(self._folder), self._folder)
        meaning = Meaning(LocalEmbedder(model), 0.0) if model else None
        self._pages = PassageSearch(index, store=self._store, meaning=meaning)
        self.takes_questions = settings.mcp.enqueue

    async def prepare(self) -> None:
        """Index the pages that are not indexed yet, and load the model of vectors, before the first search waits for either."""
        with suppress(ResearchError):  # the search says what is wrong
            await self._pages.page("", {one.id for one in self._known().sessions})
            await self._pages.find("any words", (), 0)

    def _known(self) -> SessionIndex:
        return read_all(self._store, self._kept)

    def _summary(self, name: str) -> Summary:
        """The session with that id, or the latest of the query with that id."""
        known = self._known()
        found = ({one.id: one for one in known.sessions} | known.latest()).get(name)
        if found is None:
            hint = "the tool search finds reports and their ids; nothing that was imported is one"
            raise known.damaged.get(name) or SessionUnknown(f"{name[:100]!r} is no session and no query", hint=hint)
        return found

    def _cited(self, session: str) -> set[str]:
        """The addresses that a session's report cites; what else a session is takes long to import."""
        reports = [one.data for one in self._store.load(session) if one.type == "report.generated"]
        return {entry["url"] for entry in from_json(reports[-1])["references"]} if reports else set()

    def _text(self, digest: str) -> str:
        return self._store.objects.get(digest).decode("utf-8", "replace")

    async def search(self, query: Words) -> Results:
        """Find reports and sources that answer a question, best first."""
        known = self._known()
        sessions, wanted = {one.id: one for one in known.sessions}, content_stems(query)
        found = await self._pages.find(query, list(sessions), _RESULTS)
        latest = {one.query: one for one in known.sessions if one.outcome}
        asked = {one: content_stems(query) for query, one in latest.items()}
        alike = [one for one, stems in asked.items() if len(wanted & stems) * 2 > len(wanted)]
        alike.sort(key=lambda one: (jaccard(wanted, asked[one]), one.started_at, one.id), reverse=True)
        urls, readers = {page.url for page in found.pages}, dict.fromkeys(page.session for page in found.pages)
        citing = [sessions[name] for name in readers if not urls.isdisjoint(self._cited(name))]
        reports = [one for one in dict.fromkeys([*alike, *citing]) if one.outcome not in ("", "not-found")]
        results = [_found(f"report/{one.id}", one.title or one.query) for one in reports[: _RESULTS // 2]]
        return {"results": results + [_found(f"source/{one.digest}", one.title, one.url) for one in found.pages]}

    async def fetch(self, id: Name) -> Document:
        """Get the whole text of a search result, by its id, which begins with report/ or source/."""
        kind, _, key = id.partition("/")
        if kind == "report":
            report = self._report(self._summary(key))
            about = {"outcome": report["session"].outcome}
            return {**_found(id, report["session"].query), "text": report["text"], "metadata": about}
        page = await self._pages.page(key, {one.id for one in self._known().sessions}) if kind == "source" else None
        if page is None:
            hint = "the tool search finds both and their ids"
            raise SessionUnknown(f"{id[:100]!r} is no id of a report or a source", hint=hint)
        whole = self._text(key)
        text = whole[:_LONGEST_PAGE]
        about = {"address": page.url, "characters": f"{len(text):,} of {len(whole):,}"}
        return {**_found(id, page.title, page.url), "text": text, "metadata": about}

    async def ask(self, question: Words, scope: Name = "") -> Answer:
        """Get the answer that the stored pages give, with quotes. Scope: a session's or query's id, or a tag as #tag."""
        from pipeline.domain.talk import talk_scope
        from pipeline.engine.talk_loop import TalkContext, answer_unrecorded

        if fault := question_fault(question):
            raise UsageError(fault[0], hint=fault[1])
        known = self._known().sessions
        if scope.startswith("#"):
            about = talk_scope(known, "topic", (scope[1:],))
        else:
            about = talk_scope(known, "session", (self._summary(scope).id,)) if scope else talk_scope(known, "vault")
        turn = await answer_unrecorded(question, about, TalkContext(None, self._pages, self._text, about.sessions))
        cited, said = turn.cited(), turn.answer.sentences or turn.answer.nearest if turn.answer else ()
        numbers = {fact.id: number for number, fact in enumerate(cited, 1)}
        text = " ".join(f"{one.text} {''.join(f'[{numbers[name]}]' for name in one.facts)}".rstrip() for one in said)
        return {"found": bool(turn.answer and turn.answer.found), "answer": text, "citations": list(cited)}

    async def report(self, id: Name) -> Report:
        """Get a session's report with its citations: quote, page, place. Id: the session's, or a query's for its latest."""
        return self._report(self._summary(id))

    async def why(self, id: Name, sentence: Words) -> dict[str, Any]:
        """Get what a sentence (words of it, or a fact's id) of a report rests on, and what is against it. Id: as of report."""
        from pipeline.domain.evidence_trail import value_of, why
        from pipeline.domain.session import ResearchSession

        found = why(ResearchSession.open(self._store, self._summary(id).id).state, sentence)
        if found is None:
            raise UsageError(f"{id[:100]} has no sentence like that", hint="take some words of a sentence of its report")
        return value_of(found)

    async def whats_new(self, since: Name, limit: Annotated[int, Field(ge=1, le=50)] = 10, cursor: Name = "") -> News:
        """List the answers of sessions that ended since then, the latest first. Since: 7d (ago) or 2026-11-21; cursor: go on."""
        moment = times.since(since, datetime.now(UTC))
        if moment is None:
            raise UsageError(f"{since[:100]!r} is not a moment", hint="write 7d (ago), 2026-11-21 or 2026-11-21T06:30Z")
        ended = [one for one in self._known().sessions if one.ended_at]
        ended.sort(key=lambda one: (one.ended_at, one.id), reverse=True)
        places = {one.id: place for place, one in enumerate(ended, 1)} | {"": 0}
        if cursor not in places:
            raise UsageError(f"{cursor[:100]!r} is no cursor that was given", hint="leave it out to begin with the latest")
        left = [one for one in ended[places[cursor] :] if times.moment_of(one.ended_at) >= moment]
        sessions = [self._report(one) for one in left[:limit]]
        return {"sessions": sessions, "cursor": left[limit - 1].id if len(left) > limit else ""}

    async def status(self, id: Name) -> Status:
        """Get where the research of a question stands. Id: as of report."""
        queued = [query for query in load_workspace(self._folder).queue.queries if query.id == id]
        if queued and id not in self._known().latest():
            return _queued(queued[0])
        return {"session": self._summary(id)}

    async def enqueue(self, question: Question, mode: Mode = "fast", tags: Tags = None, every: Days = None) -> Status:
        """Queue a question for the next night, as a full sentence. Every: research it again after so many days, as 7d."""
        fields: dict[str, Any] = {"mode": mode, "tags": [_TAG, *(tags or ())], "budget_usd": _EACH_USD}
        query = add_query(self._folder / "queries.yaml", question, _refuse, **fields, **({"every": every} if every else {}))
        return _queued(query)

    def _report(self, session: Summary) -> Report:
        from pipeline.domain.session import ResearchSession

        state = ResearchSession.open(self._store, session.id).state
        report, titles = state.report, {page.digest: clean(page.title) for page in state.pages.values()}
        parts, cited = [f"# {clean((report and report.title) or state.query)}"], dict[str, int]()

        def sentence(text: str, facts: tuple[str, ...]) -> str:
            numbers = [cited.setdefault(name, len(cited) + 1) for name in facts if name in state.facts]
            return f"{clean(text)} {''.join(f'[{number}]' for number in numbers)}".rstrip()

        if report:
            parts.append(" ".join(sentence(one.text, one.facts) for one in report.summary))
            for section in report.sections:
                parts.append(f"## {clean(section.title)}")
                for block in section.paragraphs:
                    marks = dict.fromkeys(_MARKS, " ") if block.form == "paragraph" else _MARKS
                    parts.append("".join(marks[one.within] + sentence(one.text, one.facts) for one in block.sentences).strip())
        else:
            parts.append(f"There is no report: {state.end_reason or state.status}.")
        quoted = [state.facts[name] for name in cited]
        parts += ["## Quotes"] if quoted else []
        for number, one in enumerate(quoted, 1):
            parts.append(f"[{number}] “{one.quote}” — {titles.get(one.digest, one.url)}, {readable(one.url)}")
        text = "\n\n".join(filter(None, parts)) + "\n"
        unknowns, limits = ([gap.question for gap in report.unknowns], list(report.limits)) if report else ([], [])
        return {"session": session, "text": text, "citations": quoted, "not_found": unknowns, "limits": limits}


def _found(id: str, title: str, url: str = "") -> Result:
    """A result, and where it can be read: on the web, or for a report or an own document in this server."""
    where = url if url.startswith(("http://", "https://")) else f"research://{id}"
    return {"id": id, "title": clean(title) or url, "url": where}


def _queued(query: Query) -> Status:
    return {"session": Summary(id=query.id, status="queued", query=query.text, mode=query.mode, tags=query.tags)}


def _refuse(queue: Queue) -> None:
    """Keep to the caps of what other programs may queue: each question has one, and all of them together.

    Raises:
        UsageError: it is not allowed any more, or the cap is reached.
    """
    allowed = queue.settings.mcp
    most = allowed.cost_usd if allowed.enqueue else 0.0
    if sum(query.budget_usd or 0.0 for query in queue.queries if _TAG in query.tags) + _EACH_USD > most + 1e-9:
        hint = f"the user removes entries with the tag {_TAG}, or raises settings: {{mcp: {{enqueue: true, cost_usd: …}}}}"
        raise UsageError(f"the queue takes questions of other programs for {most:.2f} USD in sum", hint=hint)
