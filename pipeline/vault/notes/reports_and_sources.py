"""The notes of what was researched: of a session, its report and its workers, and of a source across all sessions.

A report's note says what is new, a summary, disagreements, sections, open questions, references; or why nothing was found. The
session's and the workers' say the plan, the perspectives with their searches and facts, what failed, what stayed open. A session
of another program has a note of the same kind: a banner that says that nothing is checked, then its report and claims.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote as encoded

from pipeline.domain.events.import_events import NOT_CHECKED, Import
from pipeline.domain.events.session_events import ReportGenerated
from pipeline.domain.page_choice_and_findings import facts_of, news_of, open_gaps, sheet_of, shown_pages, unused_facts
from pipeline.domain.research_values import Fact, FactChange, PlanNode
from pipeline.domain.session_state import GIVES_ORDERS, SessionState, Worker, search_nodes, workers_in_order
from pipeline.domain.steps import FetchPage, ReadPages, SearchFor, parts_of
from pipeline.domain.summary import SAYS_MORE, status_words
from pipeline.text import translations
from pipeline.text.addresses import DOCUMENTS, path_of
from pipeline.text.cleaning import grouped, one_line
from pipeline.text.ranking import page_origin
from pipeline.text.words import language_code, words
from pipeline.vault.note import OF_PAGE, View, block_id, citekey
from pipeline.vault.notes import parts
from pipeline.vault.output.escaping import Inert, Link, file_address, inert, linked_host, plain, web_address
from pipeline.vault.output.passage_markdown import blocks_of, cells, claim_beside, is_plain, prose, statement
from pipeline.vault.output.writer import GeneratedFile
from pipeline.vault.read_model import Card, LoadedSession, Reading, said_by, said_of

_EMPTY = ReportGenerated(title="", summary=(), sections=(), references=())
_WORDS = 6  # at each end of a quote that a browser looks for
_TELLING = 12  # letters of a cell or an item that a page hardly has twice
_UNSAFE = str.maketrans({"-": "%2D"})  # a hyphen has a meaning of its own in a text fragment


def session_note(loaded: LoadedSession) -> GeneratedFile:
    """Return the note of a session."""
    state, card, shown = loaded.state, loaded.card, parts.session_view(loaded)
    own = {
        "query": plain(state.query, 1_000),
        "session": state.id,
        "report": parts.report_link(card),
        "pages": shown["pages"],
        "facts": shown["facts"],
        "cost_usd": round(card.charged_usd, 6),
        "archived": loaded.beside.archived or None,
    }
    properties = parts.session_properties(loaded, "session", f"Session: {state.query}", own, state.started_at)
    view = {
        "title": state.query,
        "waiting": state.waiting,
        "session_id": state.id,
        "report": parts.report_link(card),
        "earlier": next((link for link, *_ in loaded.beside.reports.values()), None),
        "later": loaded.beside.later,
        "diagram": tuple(_diagram(state)),
        "perspectives": [worker_view(loaded, node) for node in search_nodes(state)],
        "failures": [{"what": _step_words(state, one.step), "failure": one} for one in state.failures.values()],
        "gaps": open_gaps(state),
        "started_at": state.started_at,
        "pruned": bool(state.pruned),
        "imported": None,
        **shown,
    }
    return GeneratedFile(f"session:{card.id}", f"{card.session_path}.md", kind="session", properties=properties, view=view)


def _step_words(state: SessionState, key: str) -> str:
    """A step's name in words, as ``write report``, with what it searches for or reads, or whose step it is."""
    kind, rest = parts_of(key)
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind).strip()
    if SearchFor.is_of(key) or FetchPage.is_of(key):
        return f"{words} “{rest}”"
    worker = state.workers.get(rest.partition(":")[0])
    return f"{words} ({state.perspectives[worker.perspective_id].name})" if worker else words


def _diagram(state: SessionState) -> Iterator[Inert]:
    """The plan as the lines of a Mermaid flow chart; of its words only letters, digits and harmless signs are left."""
    names = {name: f"n{number}" for number, name in enumerate(state.nodes)}
    yield Inert("flowchart LR")
    for node in state.nodes.values():
        words = parts.perspective_name(state.perspectives[node.perspective]) if node.perspective else node.description
        shown = "".join(sign if sign.isalnum() or sign in " .,?!'()-" else " " for sign in one_line(words, 80))
        yield Inert(f'    {names[node.id]}["{shown}"]')
        yield from (Inert(f"    {names[before]} --> {names[node.id]}") for before in node.depends_on if before in names)


def worker_note(loaded: LoadedSession, name: str) -> GeneratedFile:
    """Return the note of one worker, given by its id."""
    state, view, worker = loaded.state, worker_view(loaded, loaded.state.nodes[name]), loaded.state.workers[name]
    own = {
        "session": parts.session_link(loaded.card),
        "report": parts.report_link(loaded.card),
        "perspective": plain(view["title"]),
        "facts": view["facts"],
    }
    title, status = f"{view['title']} — {state.query}", "ended" if worker.status == "completed" else worker.status
    properties = parts.session_properties(loaded, "worker", title, own, worker.started_at, status)
    path = f"{loaded.card.workers[name]}.md"
    return GeneratedFile(f"session:{state.id}", path, kind="worker", properties=properties, view=view, key=name)


def worker_view(loaded: LoadedSession, node: PlanNode) -> View:
    """Return what is shown of a planned worker, in a note of its own or in the session's; it may not have started."""
    state, perspective = loaded.state, loaded.state.perspectives[node.perspective]
    title, has_started = parts.perspective_name(perspective), node.id in state.workers
    worker = state.workers[node.id] if has_started else Worker(node.id, perspective.id, 0, "")
    is_stopped = worker.status == "running" and state.ended
    facts = facts_of(worker)

    def quoted(fact: Fact) -> View:
        words = "in the source" if fact.url in loaded.shown_sources else ""  # a source without a note is named
        return {
            **_shown(fact),
            "citation": parts.page_place(loaded, fact.url, words, block_id(fact.id)),
            "disputed": loaded.is_disputed([fact.id]),
        }

    by_url = grouped((fact.url, quoted(fact)) for fact in facts)
    sources = ((url, parts.page_place(loaded, url), found) for url, found in by_url.items())
    return {
        "title": title,
        "link": parts.worker_link(loaded, worker.id) if has_started else title,
        "block": Inert("" if loaded.card.workers else parts.folded_block(worker.id)),
        "perspective": perspective,
        "is_gap": node.is_gap,
        "status": "planned" if not has_started else "stopped" if is_stopped else worker.status,
        "reason": worker.reason,
        "session": parts.session_link(loaded.card),
        "report": parts.report_link(loaded.card),
        "rounds": [_round(loaded, worker, number) for number in range(1, len(worker.iterations) + 1)],
        "facts": len(facts),
        "by_source": [
            {"title": loaded.beside.sources[url].label, "source": place, "has_note": isinstance(place, Link), "facts": found}
            for url, place, found in sources
        ],
        "gaps": next((step.gaps for step in reversed(worker.iterations) if step.evaluated), ()),
    }


def _shown(fact: Fact) -> View:
    """A fact as the notes of workers and sources show it."""
    return {**dict(fact), "claim": claim_beside(fact.claim, fact.quote), "is_plain": not fact.lead and is_plain(fact.quote)}


def _round(loaded: LoadedSession, worker: Worker, number: int) -> View:
    """One iteration: its thought, its searches with hits or failure, the pages that were chosen, with facts or failure."""
    state, step = loaded.state, worker.iterations[number - 1]

    def searched(query: str) -> View:
        return {"query": query, "done": state.searches.get(query), "failure": state.failures.get(SearchFor(query).key)}

    def page(url: str) -> View:
        read = url in state.pages
        failure = state.failures.get(ReadPages(worker.id, number).key if read else FetchPage(url).key)
        return {"source": parts.page_place(loaded, url) if read else url, "seen": step.observed.get(url), "failure": failure}

    return {
        "number": number,
        "step": step,
        "searches": [searched(query) for query in step.queries],
        "pages": [page(url) for url in shown_pages(state, worker, number)],
    }


def import_note(found: Import, path: str) -> GeneratedFile:
    """Return the note of an import, at its ``path``."""
    said = found.last
    created = said.created or found.first.at
    own = {"query": plain(said.question, 300), "session": found.id}
    properties = parts.properties_of(
        "session", f"Imported: {said.heading}", own, status="imported", topics=said.tags, created=created
    )
    view = {
        "title": one_line(said.heading, 120) or "Untitled",
        "session_id": found.id,
        "imported": {"banner": NOT_CHECKED, "said": said, "messages": [one for one in said.messages if one.text.strip()]},
    }
    return GeneratedFile(f"import:{found.id}", f"{path}.md", kind="session", properties=properties, view=view)


def report_note(loaded: LoadedSession) -> GeneratedFile:
    """Return the note of a session's report; without one, the note of a question that its sources do not answer."""
    state, card, language = loaded.state, loaded.card, loaded.language
    report, news, beside = state.report or _EMPTY, card.news, loaded.beside
    pairs = report.contradictions if state.config.has_model else ()
    own: parts.Own = {
        "query": plain(state.query, 1_000),
        "session": parts.session_link(card),
        "superseded_by": beside.later if state.report else None,
        "sources": len(report.references),
        "facts": card.facts,
        "disagreements": len(pairs) if state.config.has_model else None,
        "changes": news.count if news else None,
        "earlier_reports": sum(ended != "not-found" for _, _, ended, _ in beside.reports.values()) or None,
        "open_questions": len(report.unknowns) if state.config.has_model else None,
        "cost_usd": round(card.charged_usd, 6),
        "archived": beside.archived or None,
        "rating": card.rating,
    }
    reported_at = card.reported_at or state.ended_at
    properties = parts.session_properties(loaded, "report", state.query, own, reported_at)
    properties["aliases"] = tuple(plain(name) for name in dict.fromkeys((state.query, card.title)) if name)
    citer = parts.Citer(loaded)
    is_passages = not state.config.has_model or report.outcome == "passages"
    shown: Callable[[str], str] = inert if is_passages or not report.sections else prose  # quotes are shown without marks
    body = [sentence for section in report.sections for paragraph in section.paragraphs for sentence in paragraph.sentences]
    title = report.title if words(report.title.casefold()) not in ([], words(state.query.casefold())) else state.query

    def ended_otherwise(outcome: str, rating: str = "") -> str:
        """How another report on the question ended, or is rated; "" if as this one."""
        differs = f"called {rating}" if rating else "" if outcome == card.outcome else status_words(outcome)
        return translations.label(differs, language) if differs else ""

    better = SAYS_MORE.get(card.outcome, ())
    found = ((link, at) for link, at, ended, rating in beside.reports.values() if ended in better and rating != "wrong")
    view = {
        "title": title,
        "heading": shown(title),
        "query": state.query,
        "since": _since(loaded, citer),
        "summary": tuple(citer.passages(report.summary) if is_passages else map(citer.sentence, report.summary)),
        "sections": [
            {"title": shown(section.title), "paragraphs": citer.paragraphs(section.paragraphs)} for section in report.sections
        ],
        "disagreements": citer.disagreements(pairs),
        "report": report,
        "more_quotes": list(citer.quotes(fact for fact in state.more_places if fact.url in state.pages)),
        "unused": list(citer.quotes(unused_facts(state))),
        "references": [
            {
                "number": entry.number,
                "source": beside.sources[entry.url],
                "place": parts.address_words(entry.url, language),
                "quotes": len(entry.facts),
                "origin": page_origin(entry.url),
                "gives_orders": entry.url in state.pages and GIVES_ORDERS in state.pages[entry.url].notices,
            }
            for entry in report.references
        ],
        "session": parts.session_link(card, translations.label("how this was researched", language)),
        "workers": tuple(parts.worker_link(loaded, worker.id) for worker in workers_in_order(state)),
        "later": beside.later,
        "later_ended": ended_otherwise(beside.later_outcome),
        "earlier_answers": tuple(
            Link(link.path, " · ".join(filter(None, (translations.day(at, language), ended_otherwise(outcome, rating)))))
            for link, at, outcome, rating in beside.reports.values()
        ),
        "better_before": next((Link(link.path, translations.day(at, language)) for link, at in found), None),
        "asked": beside.asked,
        "reported_at": reported_at,
        "derived": any(sentence.basis == "derived" for sentence in (*report.summary, *body)),
        **parts.session_view(loaded),
    }
    return GeneratedFile(f"session:{card.id}", f"{card.report_path}.md", kind="report", properties=properties, view=view)


def _since(loaded: LoadedSession, citer: parts.Citer) -> View | None:
    """What is new in a session since the report before; None if there is none to compare with."""
    state, found = loaded.state, loaded.state.changes
    if found is None or loaded.card.news is None:
        return None

    def stated(name: str, text: str = "") -> View:
        fact: Fact = state.facts[name]
        place = citer.citation(name) if fact.url in citer.numbers else parts.page_place(loaded, fact.url, block=block_id(name))
        return {"text": text or said_by(state, fact), "place": place}

    def stated_before(fact: Fact) -> View:
        said = statement(fact.claim, fact.quote) if fact.quote else ""
        return {"text": said, "place": parts.place_of(fact.url)}

    def changed(one: FactChange) -> View:
        text = said_of(state, one)
        after = stated(one.after, text) if one.after else {"text": text, "place": parts.place_of(one.before.url)}
        return {"before": stated_before(one.before)["text"], "after": after}

    report, at, *_ = loaded.beside.reports.get(found.session, (None, ""))
    return {
        **dict(found),
        "day": found.since,
        "report": report if at[:10] == found.since[:10] else None,  # a source may have been read last before that
        "added": list(map(stated, news_of(state))),
        "changed": list(map(changed, found.changed)),
        "gone": list(map(stated_before, found.gone)),
        "sources": [parts.place_of(source.url) for source in found.sources],
        "unread": [{"place": parts.place_of(one.url), "reason": one.reason} for one in found.unread if not one.is_lost],
        "lost": [inert(path_of(one.url)) for one in found.unread if one.is_lost],
    }


def file_of(url: str, documents: Path | None) -> Path | None:
    """Return the file of a source in the folder ``documents`` of the user's; a path that leaves it has none."""
    inside = path_of(url) if url.startswith(DOCUMENTS) else ""
    is_inside = inside and not inside.startswith(("@", "/")) and ".." not in inside.split("/") and "\0" not in inside
    return documents / inside if documents and is_inside else None


def source_note(
    url: str, place: Link, readings: Sequence[tuple[Card, Reading]], file: Path | None, hidden: Collection[str], *, gone: bool
) -> GeneratedFile:
    """Return the note of a source; ``readings`` are those of all sessions with their cards, in order of time.

    It links to its ``file`` of the user's; ``gone``: that was deleted or moved. A quote that several sessions found is not said
    to be of one whose report is ``hidden``.
    """
    page, origin, first, title = readings[-1][1].page, page_origin(url), readings[0][1].page, place.label
    web = "" if url.startswith(DOCUMENTS) or "pdf" in page.media_type else web_address(page.final_url or url)
    said = (fact.quote for _, reading in readings for fact in reading.facts)
    language = language_code(readings[0][0].query, *said)
    seen = [one for one in readings if one[0].id not in hidden] or readings
    finds = grouped((fact.id, (card, reading, fact)) for card, reading in seen for fact in reading.facts)
    citing = grouped((card.query_id or card.id, (card, reading)) for card, reading in seen if reading.number)  # by question
    latest_first = sorted(finds.values(), key=lambda found: (found[-1][0].started_at, found[-1][0].id), reverse=True)

    def quoted(found: Sequence[tuple[Card, Reading, Fact]]) -> View:
        """A quote: where it is, whether it is disputed, and by which reports it is cited (of each question the latest)."""
        (_, read, fact), (found_by, latest, _) = found[0], found[-1]
        sheet = sheet_of(read.page, fact)
        words = translations.label("in the page", language)
        there = f"[{words}]({web.partition('#')[0]}{_fragment_of(fact.quote)})" if web else ""
        if file and sheet:
            there = file_address(file, translations.label("on page {number}", language, number=str(sheet)), sheet)
        return {
            **_shown(fact),
            "text": fact.quote,
            "sheet": sheet,
            "block": Inert(block_id(fact.id)),
            "disputed": fact.id in latest.disputed,
            "cited_in": tuple(
                parts.best_link(card) for card in {card.query_id: card for card, one, _ in found if fact.id in one.cited}.values()
            ),
            "found_for": parts.best_link(found_by),
            "found_at": found_by.reported_at or found_by.started_at,
            "there": Inert(there),
        }

    quotes, words = list(map(quoted, latest_first)), parts.address_words(url, language)
    versions = len({one.page.digest for _, one in readings})
    own = {
        "source_url": web_address(url) or plain(url, 500).replace("://", ": //"),  # followed only where that follows
        "host": linked_host(url),
        "origin": origin,
        **{name: plain(str(getattr(page, name))) for name in OF_PAGE},
        "quotes": len(quotes),
        "cited_by": sum(map(len, citing.values())),
        "disputed": sum(bool(quote["disputed"]) for quote in quotes) or None,
        "versions": versions,
    }
    properties = parts.properties_of("source", title, own, created=first.at, language=language)
    properties["aliases"] = (plain(title), citekey(first))
    view = {
        "title": title,
        "address": file_address(file, words) if file else inert(path_of(url)) if gone else parts.place_of(url, language=language),
        "gone": gone,
        "origin": origin,
        "page": page,
        "cited_in": [
            {
                "report": parts.best_link(same[-1][0]),
                "number": same[-1][1].number,
                "quotes": len(same[-1][1].cited),
                "at": same[-1][0].reported_at,
                "earlier": len(same) - 1,
            }
            for same in citing.values()
        ],
        "quotes": [quote for quote in quotes if quote["cited_in"]],
        "further_quotes": [quote for quote in quotes if not quote["cited_in"]],
        "readings": len(readings),
        "versions": versions,
        "first_read_at": first.at,
    }
    return GeneratedFile(f"source:{url}", f"{place.path}.md", kind="source", properties=properties, view=view)


def _fragment_of(quote: str) -> str:
    """The text fragment that makes a browser scroll to a quote: ``#:~:text=first%20words,last%20words``, "" if none would do.

    A browser finds words only where they stand in one cell, item or paragraph, so the longest one stands for all of the quote.
    Source: https://wicg.github.io/scroll-to-text-fragment/ (``text=textStart,textEnd``).
    """
    pieces = list[str]()
    for block in blocks_of(quote):
        pieces += cells(block.text) if block.kind == "row" else block.text.split("\n") if block.kind == "code" else [block.text]
    longest = max(pieces, key=len, default="")
    words = longest.split() if len(longest) >= _TELLING or len(pieces) == 1 else []
    ends = [words] if len(words) <= 2 * _WORDS else [words[:_WORDS], words[-_WORDS:]]
    return f"#:~:text={','.join(encoded(' '.join(end), safe='').translate(_UNSAFE) for end in ends)}" if words else ""
