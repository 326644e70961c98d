"""The final steps: what is new, assembly of the report (references, removed sentences, limits), passages, end of the session."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import product

from pipeline.domain import research_values as v
from pipeline.domain import session_state
from pipeline.domain import steps as s
from pipeline.domain.agenda import not_mentioned
from pipeline.domain.events import session_events as e
from pipeline.domain.page_choice_and_findings import (
    all_facts,
    chosen_pages,
    contradictions,
    news_of,
    open_gaps,
    query_of,
    without_fragment,
)
from pipeline.domain.report_draft import items_of, kept_text
from pipeline.domain.session_state import Failure, SessionState, cost_of, workers_in_order, working_seconds
from pipeline.errors import GONE, ObjectMissing
from pipeline.reasoners.passages import choose, with_texts
from pipeline.research.step_context import StepContext, StepResult
from pipeline.text.cleaning import grouped
from pipeline.text.humanize import counted
from pipeline.text.passages import statements
from pipeline.text.quotes import holds_quote
from pipeline.text.ranking import TermStatistics
from pipeline.text.words import question_words_in, repeated, word_count, words

_FAILED_STEPS = {s.SearchFor: ("search", "searches", "could not be made"), s.FetchPage: ("page", "pages", "could not be read")}
_SIDES: dict[str, tuple[str, str]] = {
    "own": ("your documents", "Your documents were not searched"),
    "web": ("the web", "The web was not searched"),
    "embeddings": ("your documents by meaning", "Your documents were searched by words alone, not by meaning"),
}
_WITHOUT_MODEL: dict[type[s.Step], str] = {
    s.Plan: "The question was split into perspectives without the language model",
    s.ReadPages: "Pages were not read by the language model; passages were taken instead",
}
_NAMED = 3  # pages that were not read, reasons of one limit, or sentences on what was not found
_SKIPPED: dict[type[s.Step], str] = {
    s.WriteReport: "The report could not be written; what follows are passages of the pages read",
    s.CheckReport: "The report could not be checked; of what was not, only verbatim quotes are kept",
}


def make_report(_step: s.MakeReport, state: SessionState) -> StepResult:
    """Assemble the report: number the sources in order of first citation, list what was left out, and the limits."""
    if state.passages:
        return StepResult((report_of_passages(state),))
    kept, cut = kept_text(state)
    beginning = next((section for section in kept if section.id == session_state.SUMMARY), None)
    sections = tuple(section for section in kept if section.id != session_state.SUMMARY)
    top = tuple(item.sentence for item in items_of([beginning] if beginning else []) if item.sentence)
    body = [item.sentence for item in items_of(sections) if item.sentence]
    title = beginning.title if beginning and beginning.title else state.query
    top = top or tuple(one for one in body if one.facts)[:1]
    parts = [part for _, part in sorted(state.parts.items())]
    outcome: v.Outcome = parts[0].outcome or "in-part"
    lacks = [part.lacks for part in parts if part.lacks and part.outcome == "in-part"][:1]
    lacks = lacks or list(dict.fromkeys(text for part in parts for text in part.unfound))[:_NAMED]
    text = [title, *(section.title for section in sections), *(sentence.text for sentence in (*top, *body))]
    report = e.ReportGenerated(
        title=title,
        summary=top,
        sections=sections,
        references=references(state, (*top, *body)),
        contradictions=contradictions(state),
        unknowns=open_gaps(state),
        lacks=" ".join(lacks),
        limits=tuple(limits(state)),
        words=sum(map(word_count, text)),
        cut=len(cut),
        cut_sentences=cut,
        outcome="in-part" if outcome == "answered" and _final_failures(state, s.CheckReport) else outcome,
    )
    return StepResult((report,))


def references(state: SessionState, sentences: tuple[v.Sentence, ...]) -> tuple[v.Reference, ...]:
    """Return one reference for each page: first those that the text cites, then those of contradictions only."""
    cited: dict[str, dict[str, None]] = {}
    names = [name for sentence in sentences for name in sentence.facts]
    names += [name for pair in contradictions(state) for name in (pair.a, pair.b)]
    for name in names:
        cited.setdefault(state.facts[name].url, {})[name] = None
    return tuple(
        v.Reference(number=number, url=url, title=state.pages[url].title, digest=state.pages[url].digest, facts=tuple(facts))
        for number, (url, facts) in enumerate(cited.items(), start=1)
    )


def limits(state: SessionState) -> Iterator[str]:
    """Yield the limits of the report in words: what was done without the model, spent budgets, failed steps and workers."""
    for kind, what in _WITHOUT_MODEL.items():
        if reasons := [why or "it gave no answer of use" for step, why in state.without_model.items() if kind.is_of(step)]:
            yield f"{what}: {_each_once(reasons)}"
    if state.exhausted:
        yield f"Gathering was cut short ({state.exhausted})."
    if unread := _without_room(state):
        more = f" and {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
        yield f"Found, but not read by the model: {', '.join(f'“{title}”' for title in unread[:_NAMED])}{more}"
    moved = {s.FetchPage(url).key for url in (state.changes.moved if state.changes else ())}
    for kind, (one, many, what) in _FAILED_STEPS.items():
        failures = [failure for failure in _final_failures(state, kind) if failure.step not in moved]
        if failures:
            yield f"{counted(len(failures), one, many)} {what}: {_each_once([failure.message for failure in failures])}"
    for origin, (some, never) in _SIDES.items():
        if reasons := [side.reason for search in _searches(state) for side in search.failed if side.origin == origin]:
            only_some = f"{counted(len(reasons), 'search', 'searches')} of {some} could not be made"
            yield f"{never if len(reasons) == len(_searches(state)) else only_some}: {_each_once(reasons)}"
    for kind, what in _SKIPPED.items():
        if failed := _final_failures(state, kind):
            yield f"{what}: {failed[-1].message}"
    for worker in state.workers.values():
        if worker.status == "failed":
            yield f"The research from one perspective failed ({state.perspectives[worker.perspective_id].name}): {worker.reason}"


def _each_once(reasons: Sequence[str]) -> str:
    """Return the reasons, the most frequent first, and how often each is one if it is not the only one; the last are counted."""
    times = Counter(sorted(reasons)).most_common()
    named = [f"{reason} ({number:,} of them)" if 1 < number < len(reasons) else reason for reason, number in times[:_NAMED]]
    return "; ".join([*named, *([counted(len(times) - _NAMED, "other reason")] if len(times) > _NAMED else [])])


def _without_room(state: SessionState) -> list[str]:
    """Return the titles of pages that a model's readings had no room for, those with the question's words in their hits first.

    Sections of one page that are pages of their own share a title, which stands once.
    """
    if not state.config.has_model or any(s.ReadPages.is_of(step) for step in state.without_model):
        return []
    ended = [(worker, number) for worker in workers_in_order(state) for number, _ in enumerate(worker.iterations, start=1)]
    chosen = dict.fromkeys(url for worker, number in ended for url in chosen_pages(state, worker, number))
    near = {url: 0.0 for url in chosen if url in state.pages and url not in state.observed}
    for hit in (one for search in _searches(state) for one in search.hits if without_fragment(one.url) in near):
        near[without_fragment(hit.url)] = max(near[without_fragment(hit.url)], hit.coverage)
    return list(dict.fromkeys(state.pages[url].title for url in sorted(near, key=lambda url: -near[url])))


def _searches(state: SessionState) -> list[e.SearchCompleted | e.TopicSurveyed]:
    return [*([state.survey] if state.survey else []), *state.searches.values()]


def _final_failures(state: SessionState, kind: type[s.Step]) -> list[Failure]:
    return [failure for key, failure in state.failures.items() if failure.final and kind.is_of(key)]


def complete(_step: s.Complete, state: SessionState) -> StepResult:
    """End the session with a report and its total cost."""
    sources = len(state.report.references) if state.report else 0
    ended = e.ResearchCompleted(duration_s=working_seconds(state), cost=cost_of(state), sources=sources, facts=len(state.facts))
    return StepResult((ended,))


async def choose_passages(_step: s.ChoosePassages, state: SessionState, context: StepContext) -> StepResult:
    """Choose the passages of the pages read that come nearest to the question."""
    hits = (hit for search in _searches(state) for hit in search.hits)
    pages = with_texts(sorted(state.pages.values(), key=lambda page: page.url), hits, context.page_text)
    known = state.survey.statistics if state.survey else TermStatistics()
    choice = choose(query_of(state), pages, known, rated=context.rated(state.query_id))
    return StepResult((e.PassagesChosen(passages=choice.passages, more=choice.more),))


def report_of_passages(state: SessionState) -> e.ReportGenerated:
    """Return the report of the chosen passages: the first one, then the others by document, in the order of its best passage."""
    facts = [state.facts[name] for name in state.passages or ()]
    by_page = grouped((fact.url, fact) for fact in facts[1:])
    sections = tuple(
        v.ReportSection(
            id=f"section_{number}",
            title=found[0].path[0] if found[0].path else state.pages[url].title,
            paragraphs=tuple(
                v.Paragraph(sentences=(_quoted(fact),), kind="passages") for fact in sorted(found, key=lambda fact: fact.start)
            ),
        )
        for number, (url, found) in enumerate(by_page.items(), start=1)
    )
    return e.ReportGenerated(
        title="",
        summary=(_quoted(facts[0]),),
        sections=sections,
        references=references(state, tuple(map(_quoted, facts))),
        lacks=not_mentioned(state),
        limits=tuple(limits(state)),
        words=sum(word_count(f"{fact.lead} {fact.quote}") for fact in facts),
        outcome="passages",
    )


def _quoted(fact: v.Fact) -> v.Sentence:
    return v.Sentence(text=fact.quote, facts=(fact.id,))


_NUMBER = re.compile(r"\d+")
_REWORDED = 0.5  # least share of repeated pairs of words, in either direction, if one statement of a source replaced another
_MOST_QUOTED = 500  # facts of earlier reports that a session knows by their ids
_MOST_BESIDE = 3  # sentences of one document that changed beside the quotes
_NEARLY = 0.8  # least share if a passage was in its page before: a letter was corrected, or a word


def _facts_of_report(state: SessionState) -> tuple[v.Fact, ...]:
    """Return the chosen passages; if there are none, all facts. A model's facts are not in a report of passages."""
    return tuple(fact for fact in all_facts(state) if not state.passages or fact.id in state.passages)


def _alike(part: str, whole: str) -> float:
    """As ``repeated``, any number for any other: of a setting or a row of two words nothing else may be left."""
    return repeated(_NUMBER.sub("0", part), _NUMBER.sub("0", whole))


def _sentences(text: str) -> list[str]:
    """The statements of a text that have a word, a line of code in a fence of its own."""
    return [f"```\n{one}\n```" if kind == "code" else one for kind, one in statements(text) if words(one)]


def earlier_session(state: SessionState) -> v.EarlierSession:
    """Return the facts, sources and citations of a complete session, for the next session on its query."""
    quoted = [*(fact.id for fact in state.earlier.facts), *state.earlier.quoted] if state.earlier else []
    return v.EarlierSession(
        session=state.id,
        reported_at=state.ended_at,
        facts=_facts_of_report(state),
        sources=tuple(v.KnownSource(url=page.url, title=page.title, digest=page.digest) for page in state.pages.values()),
        cited=tuple(reference.url for reference in state.report.references) if state.report else (),
        of_passages=session_state.outcome_of(state) == "passages",
        nearest=state.passages[0] if state.passages else "",
        quoted=tuple(dict.fromkeys(quoted))[:_MOST_QUOTED],
    )


def news_told(state: SessionState, found: v.Changes) -> list[str]:
    """Return what a report says to be new, or gone (of documents their addresses), and digests of texts said to be changed."""
    new = (state.facts[name] for name in (*news_of(state), *(one.after for one in found.changed)) if name in state.facts)
    lost = (*found.gone, *(one.before for one in found.changed))
    said = (*(fact.quote for fact in lost), *(found.parts.get(fact.id, fact.quote) for fact in new))
    gone = (one.url for one in found.unread if one.is_lost)
    elsewhere = (text for one in found.sources for text in (one.said, one.after))
    return [*said, *(one.said for one in found.changed), *elsewhere, *gone]


def _moved(earlier: v.EarlierSession, state: SessionState, text_of: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield earlier sources that have another address now, each with that: the text is the same, or nearly so of a file gone."""
    known = {one.url for one in earlier.sources}
    for one in (one for one in earlier.sources if one.url not in state.pages):
        found = [page.url for page in state.pages.values() if page.digest == one.digest]
        failure = state.failures.get(s.FetchPage(one.url).key)
        is_gone = not found and failure is not None and failure.message.endswith(GONE)
        for page in (page for page in state.pages.values() if is_gone and page.url not in known):
            texts = text_of(one.digest), text_of(page.digest)
            found += [page.url] if min(repeated(*texts), repeated(*reversed(texts))) >= _NEARLY else []
        yield from ((one.url, url) for url in found[:1])


def session_changes(
    earlier: v.EarlierSession, state: SessionState, text_of: Callable[[str], str], wrong: Collection[str] = ()
) -> v.Changes:
    """Return what is new in ``state``; ``text_of`` returns a page's text by its digest, "" if it was pruned.

    If one report is of passages and the other a model's, it counts what the documents no longer say and what they say since, not
    what each chose of them. ``wrong`` are ids of earlier facts that a person called wrong.

    Compared are the sentences of quotes, wherever a passage begins and ends. Of an earlier fact those are lost that the source's
    current text does not contain. Of a current fact those are new that the source's earlier text did not contain, or, of one that
    was not read then, if its file is a later one by a time that has been; and that no report before quoted, or said since to be
    new. What is lost and what is new in its source are a change, the most similar first; without a new fact, what is lost and the
    sentences that the text has nearly so. Beside the quotes a sentence has changed if the source's earlier text has it nearly so,
    and it has a word of the question or only another number. What a report since told is not told again. Passages, which the
    report shows as they are, are kept if it has the very same; what the earlier text had nearly so is not new there, and what the
    current text has nearly so not gone. What another page says is not gone, unless it was shown from a document that was deleted
    and is shown no more; what only such a document said is gone. A document that was moved is the same one, also if a little of
    it changed.
    """

    def unsaid(quote: str, text: str) -> str:
        """The sentences and lines of code of a quote that a text does not contain; "" if it contains all."""
        said = [] if holds_quote(text, quote) else _sentences(quote)
        rest = [one for one in said if not holds_quote(text, one)]
        return quote if rest and rest == said else "\n".join(rest)

    def new_in(fact: v.Fact) -> str:
        page = state.pages.get(fact.url) if fact.url not in before and fact.url not in moved.values() else None
        was_unread = page and (page.file_changed or is_other_kind) and not earlier.reported_at <= page.file_changed <= page.at
        rest = "" if was_unread else unsaid(fact.quote, known)
        for one in earlier.sources:
            if fact.url == moved.get(one.url, one.url) or fact.digest == one.digest:
                rest = "" if fact.digest == one.digest else unsaid(rest, text_of(one.digest))
        return rest

    def said_instead(old: v.Fact) -> str:
        """The sentences of the source's current text that came in place of those that it no longer has, "" if none did."""
        text, was, found = texts[old.url], text_of(old.digest), dict[str, None]()
        taken = [fresh[name] for name in after.values()]
        for one in _sentences(lost[old.id]):
            nearly = [other for other in _sentences(text) if _alike(one, other) >= _REWORDED]
            new = [other for other in nearly if was and not any(holds_quote(known_one, other) for known_one in (was, *taken))]
            found |= dict.fromkeys(sorted(new, key=lambda other: -_alike(one, other))[:1])
        return "\n".join(found)

    def stands_still(fact: v.Fact) -> bool:
        nearly = earlier.of_passages and repeated(lost[fact.id], texts.get(fact.url, "")) >= _NEARLY
        return nearly or any(not unsaid(lost[fact.id], text_of(page.digest)) for page in state.pages.values())

    def in_part(fact: v.Fact) -> v.Fact:
        part = {} if lost[fact.id] == fact.quote else {"claim": "", "quote": lost[fact.id]}
        return fact.model_copy(update={"url": moved.get(fact.url, fact.url), **part})

    def said_elsewhere(old: str, new: str, *, is_shown: bool) -> list[tuple[str, str]] | None:
        """Of a text's new sentences that nothing shows or told, those that have a word of the question, or, of a source that
        ``is_shown``, differ in a number alone: the nearest ones, each with what was there instead if it is nearly the same, else
        ""; None if no word changed, or of a source that only has further places none that matters."""
        then, today = ({tuple(words(one)): one for one in _sentences(text_of(digest))} for digest in (old, new))
        if then.keys() == today.keys():
            return None
        lost_there = [one for key, one in then.items() if key not in today]
        numbered = {_NUMBER.sub("0", one) for one in lost_there}
        known_now = "\n\n".join([shown, told, *replaced.values()])
        said = (one for key, one in today.items() if then and key not in then and not holds_quote(known_now, one))
        near = [(question_words_in(state.query, one), one) for one in said]
        near = [(count, one) for count, one in near if count or (is_shown and _NUMBER.sub("0", one) in numbered)]
        if not (near or is_shown):
            return None
        pairs = []
        for _, one in sorted(near, key=lambda pair: -pair[0])[:_MOST_BESIDE]:
            was = max(lost_there, key=lambda other: _alike(other, one), default="")
            pairs.append((one, was if _alike(was, one) >= _REWORDED else ""))
        return [(one, was) for one, was in pairs if not any(holds_quote(fact.quote, was) for fact in left_out if was)]

    is_other_kind = earlier.of_passages != bool(state.passages)
    of_passages = earlier.of_passages and not is_other_kind
    before, facts = {source.url: source for source in earlier.sources}, _facts_of_report(state)
    moved = dict(_moved(earlier, state, text_of))
    now = {url: page.digest for url, page in state.pages.items()}
    now |= {was: now[url] for was, url in moved.items()}
    unread = []
    for source in (before[url] for url in earlier.cited if url in before and url not in now):
        failure = state.failures.get(s.FetchPage(source.url).key)
        reason = failure.message if failure else "there was no time to read it again"
        unread.append(v.SourceChange(url=source.url, title=source.title, before=source.digest, reason=reason))
    shown_urls, further = ({fact.url for fact in found} for found in ((*earlier.facts, *state.facts.values()), state.more_places))
    deleted = {source.url for source in unread if source.is_lost}
    known_again = [fact for fact in earlier.facts if fact.url in now or fact.url in deleted]
    left_out = [fact for fact in known_again if fact.id in wrong and fact.id not in state.facts]
    read_again = [fact for fact in known_again if fact not in left_out]
    told, quoted = "\n\n".join(earlier.told), "\n\n".join(fact.quote for fact in earlier.facts)
    known, shown = f"{quoted}\n\n{told}", "\n\n".join(fact.quote for fact in facts)
    same = {fact.id for fact in read_again if fact.id in state.facts or now.get(fact.url) == fact.digest}
    texts = {url: text_of(digest) for url, digest in now.items() if url in before}
    lost = {one.id: part for one in read_again if one.id not in same and (part := unsaid(one.quote, texts.get(one.url, "")))}
    fresh = {fact.id: part for fact in facts if (part := new_in(fact))}
    was_said = [fact for fact in read_again if fact.id in lost]
    pairs = [
        (old.id, new.id) for old, new in product(was_said, facts) if new.id in fresh and moved.get(old.url, old.url) == new.url
    ]
    alike = [(max(_alike(lost[was], fresh[new]), _alike(fresh[new], lost[was])), was, new) for was, new in pairs]
    after: dict[str, str] = {}
    for likeness, was, becomes in sorted(alike, key=lambda pair: -pair[0]):
        if likeness >= _REWORDED and was not in after and becomes not in after.values():
            after[was] = becomes
    alone = [fact for fact in was_said if fact.id not in after]
    replaced = {fact.id: said_instead(fact) for fact in alone if fact.url in now}
    told_gone = deleted.intersection(earlier.told)
    is_told = [one for one in alone if one.url in told_gone or not unsaid(replaced.get(one.id) or lost[one.id], told)]
    read_again = [fact for fact in read_again if fact not in is_told]
    called_off = {fact.url for fact in left_out} - {fact.url for fact in state.facts.values()}  # a person wants no more of them
    news = [fact for fact in was_said if fact not in is_told and fact.url not in called_off]
    changed = [fact for fact in news if fact.id in after or replaced.get(fact.id)]
    not_shown = [fact for fact in read_again if of_passages and unsaid(fact.quote, shown) == fact.quote]
    is_gone = (fact for fact in news if (fact in not_shown and fact.url in deleted) or not stands_still(fact))
    gone = [fact for fact in is_gone if fact not in changed]
    not_shown = [fact for fact in not_shown if fact not in changed and fact not in gone]
    still, quotes_now = [fact for fact in read_again if fact not in changed and fact not in gone], {fact.quote for fact in facts}
    new = [fact for fact in facts if fact.id in fresh and fact.id not in after.values()]
    texts_before = {moved.get(one.url, one.url): text_of(one.digest) for one in earlier.sources if state.passages}
    nearly = [one for one in new if one.id in earlier.quoted or repeated(fresh[one.id], texts_before.get(one.url, "")) >= _NEARLY]
    now_shown = [fact for fact in facts if fact.id not in fresh and unsaid(fact.quote, known) == fact.quote]
    then = next((fact for fact in earlier.facts if fact.id == earlier.nearest), None)
    nearest = state.facts[state.passages[0]] if state.passages else None
    is_same = then and nearest and (after.get(then.id) == nearest.id or unsaid(then.quote, nearest.quote) != then.quote)
    beside = [
        (v.SourceChange(url=page.url, title=page.title, before=source.digest, after=page.digest), said)
        for source in earlier.sources
        if (page := state.pages.get(moved.get(source.url, source.url))) and page.digest != source.digest
        if (urls := {source.url, page.url}) & (shown_urls | further) - called_off
        if page.digest not in earlier.told or page.url in {fact.url for fact in (*new, *news)}
        if (said := said_elsewhere(source.digest, page.digest, is_shown=bool(urls & shown_urls))) is not None
    ]
    in_place = [
        v.FactChange(before=in_part(fact), after=after.get(fact.id, ""), said=replaced.get(fact.id, "")) for fact in changed
    ]
    in_place += [
        v.FactChange(before=v.Fact(id=one.before, claim="", quote=was, url=one.url, digest=one.before), after="", said=said)
        for one, changes in beside
        for said, was in changes
        if was
    ]
    return v.Changes(
        session=earlier.session,
        since=earlier.reported_at if fresh or in_place or gone else earlier.told_at or earlier.reported_at,
        added=tuple(fact.id for fact in new if fact not in nearly),
        parts={fact.id: fresh[fact.id] for fact in facts if fresh.get(fact.id, fact.quote) != fact.quote},
        changed=tuple(in_place),
        gone=tuple(map(in_part, gone)),
        sources=tuple(
            one.model_copy(update={"said": next((said for said, was in changes if not was), "")}) for one, changes in beside
        ),
        unread=tuple(one for one in unread if not (one.is_lost and one.url in earlier.told)),
        kept=sum(fact.quote in quotes_now for fact in read_again) if of_passages else 0 if is_other_kind else len(still),
        not_shown=tuple(not_shown),
        now_shown=tuple(fact.id for fact in [*now_shown, *nearly] if of_passages),
        called_wrong=len(left_out),
        other_nearest=of_passages and then is not None and then not in is_told and not is_same,
        first_of_kind=is_other_kind,
        moved=moved,
    )


async def compare(_step: s.Compare, state: SessionState, context: StepContext) -> StepResult:
    """Compute what is new since the earlier session, from the stored texts of both."""
    if state.earlier is None:
        return StepResult(())
    before = {source.digest for source in state.earlier.sources}

    def text_of(digest: str) -> str:
        try:
            return context.page_text(digest)
        except ObjectMissing:
            if digest in before:  # the earlier text has been pruned
                return ""
            raise

    rated = context.rated(state.query_id)
    wrong = {fact.id for fact in state.earlier.facts if rated.same(fact) in rated.wrong}
    is_useful = any(rated.same(state.facts[name]) in rated.useful for name in (state.passages or ())[:1])
    changes = session_changes(state.earlier, state, text_of, wrong).model_copy(update={"called_useful": is_useful})
    return StepResult((e.ChangesFound(changes=changes),))
