"""The note of a report: what is new, summary, disagreements, sections, open questions, references; or why nothing was found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pipeline.domain.events.session_events import ReportGenerated
from pipeline.domain.findings import news_of, unused_facts
from pipeline.domain.session_rules import counts_of
from pipeline.domain.state import GIVES_ORDERS, SessionState, status_words, workers_in_order
from pipeline.domain.values import Fact
from pipeline.text import translations
from pipeline.text.ranking import page_origin
from pipeline.vault.model import LoadedSession, is_lost, said_by
from pipeline.vault.note import Note, View, block_id
from pipeline.vault.notes import parts
from pipeline.vault.output.escaping import Link, inert, plain
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.markdown import prose, statement

MOST = 12  # earlier answers that a report lists, and new facts; the rest is counted
_EMPTY = ReportGenerated(title="", summary=(), sections=(), references=())


def report_note(loaded: LoadedSession) -> Note:
    """Return the note of a session's report; without one, the note of a question that its sources do not answer."""
    state, card, language = loaded.state, loaded.card, loaded.language
    report, changes, beside = state.report or _EMPTY, state.changes, loaded.beside
    later, before = beside.later, len(beside.reports)
    listed = () if later else beside.reports  # the newest report lists them
    pairs = report.contradictions if state.config.has_model else ()
    own: dict[str, Property] = {
        "query": plain(state.query, 1_000),
        "session": parts.linked(parts.session_link(card)),
        "superseded_by": parts.linked(later) if state.report else "",
        "sources": len(report.references),
        "facts": card.facts,
        **({"disagreements": len(pairs)} if state.config.has_model else {}),
        **({"changes": len(changes.added) + len(changes.changed) + len(changes.gone)} if changes else {}),
        **({"earlier_reports": before} if before else {}),
        **({"open_questions": len(report.unknowns)} if state.config.has_model else {}),
        "cost_usd": round(card.charged_usd, 6),
        **({"archived": True} if beside.archived else {}),
    }
    reported_at = card.reported_at or state.ended_at
    properties = parts.session_properties(loaded, "report", card.title or card.query, own, reported_at)
    citer = parts.Citer(loaded)
    is_passages = not state.config.has_model or report.outcome == "passages"
    shown: Callable[[str], str] = inert if is_passages or not report.sections else prose  # quotes are shown without marks
    body = [sentence for section in report.sections for paragraph in section.paragraphs for sentence in paragraph.sentences]
    view = {
        "title": report.title or state.query,
        "heading": shown(report.title or state.query),
        "query": state.query,
        "since": _since(loaded, citer),
        "not_found": {
            "reason": state.end_reason,
            "query_id": state.query_id,
            "own": state.config.search == ("local",),  # only the user's documents were searched
        }
        if state.status == "not-found"
        else None,
        "summary": citer.passages(report.summary) if is_passages else tuple(map(citer.sentence, report.summary)),
        "sections": [
            {"title": shown(section.title), "paragraphs": citer.paragraphs(section.paragraphs)} for section in report.sections
        ],
        "disagreements": citer.disagreements(pairs),
        "unknowns": parts.open_questions(report.unknowns),
        "cut": report.cut_sentences,
        "lacks": report.lacks,
        "limits": _limits(state, report),
        "more_places": citer.places(fact for fact in state.more_places if fact.url in state.pages),
        "unused": citer.quotes(unused_facts(state)),
        "status": parts.shown_status(state),
        "outcome": status_words(parts.shown_status(state)),
        "references": [
            {
                "number": entry.number,
                "source": beside.sources[entry.url],
                "place": parts.address_words(entry.url, language),
                "quotes": len(entry.facts),
                "origin": page_origin(entry.url),
            }
            for entry in report.references
        ],
        "session": parts.session_link(card, translations.label("how this was researched", language)),
        "topics": parts.topic_links(state.tags),
        "workers": tuple(parts.worker_link(loaded, worker.id) for worker in workers_in_order(state)),
        "later": later,
        "earlier_answers": tuple(Link(link.path, translations.day(at, language)) for link, at in listed[:MOST]),
        "more_earlier": max(0, len(listed) - MOST),
        "asked": beside.asked,
        "reported_at": reported_at,
        "facts": card.facts,
        "pages": counts_of(state)["pages"],
        "words": report.words,
        "derived": any(sentence.basis == "derived" for sentence in (*report.summary, *body)),
        **parts.made_by(loaded),
    }
    return Note(card.report_path, "report", properties, view)


def _limits(state: SessionState, report: ReportGenerated) -> list[str]:
    found = list(report.limits)
    numbered = {entry.url: str(entry.number) for entry in report.references if entry.url in state.pages}
    if ordering := [number for url, number in numbered.items() if GIVES_ORDERS in state.pages[url].notices]:
        sources = "Source" if len(ordering) == 1 else "Each of the sources"
        orders = "contains orders to language models, which may be meant to mislead. Check what it says."
        found.append(f"{sources} {', '.join(ordering)} {orders}")
    return found


def _since(loaded: LoadedSession, citer: parts.Citer) -> View | None:
    """What is new in a session since the report before; None if there is none to compare with."""
    state, found = loaded.state, loaded.state.changes
    if found is None:
        return None
    added = news_of(state)
    numbered = {reference.url for reference in state.report.references} if state.report else set()
    place = partial(parts.place_of, language=loaded.language)

    def stated(name: str) -> View:
        fact: Fact = state.facts[name]
        place = citer.citation(name) if fact.url in numbered else parts.page_place(loaded, fact.url, block=block_id(name))
        return {"text": said_by(state, fact), "place": place}

    return {
        "day": found.since,
        "report": next((link for link, _ in loaded.beside.reports), None),
        "quiet": not (added or found.changed or found.gone),
        "added": [stated(name) for name in added[:MOST]],
        "more_added": max(0, len(added) - MOST),
        "changed": [
            {"before": statement(one.before.claim, one.before.quote), "after": stated(one.after)} for one in found.changed
        ],
        "gone": [{"text": statement(fact.claim, fact.quote), "place": place(fact.url)} for fact in found.gone[:MOST]],
        "more_gone": max(0, len(found.gone) - MOST),
        "kept": found.kept,
        "sources": [place(source.url) for source in found.sources],
        "unread": [{"place": place(one.url), "reason": one.reason} for one in found.unread if not is_lost(one)],
        "lost": [inert(one.url.removeprefix("corpus:")) for one in found.unread if is_lost(one)],
    }
