"""What is new against the earlier session on the same query, and the step that records it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pipeline.domain.events import session_events as e
from pipeline.domain.findings import all_facts
from pipeline.domain.state import SessionState
from pipeline.domain.steps import Compare, Read
from pipeline.domain.values import Changes, EarlierSession, Fact, FactChange, KnownSource, SourceChange
from pipeline.errors import ObjectMissing
from pipeline.research.step_context import StepContext, StepResult
from pipeline.text.normalise import holds_quote, normalised
from pipeline.text.questions import content_stems
from pipeline.text.words import jaccard

REPLACEMENT_SIMILARITY = 0.5  # least Jaccard similarity of two statements of one source if one replaced the other

TextOf = Callable[[str], str]


def earlier_session(state: SessionState) -> EarlierSession:
    """Return the facts, sources and citations of a complete session, for the next session on its query."""
    return EarlierSession(
        session=state.id,
        reported_at=state.ended_at,
        facts=all_facts(state),
        sources=tuple(KnownSource(url=page.url, title=page.title, digest=page.digest) for page in state.pages.values()),
        cited=tuple(reference.url for reference in state.report.references) if state.report else (),
    )


def session_changes(earlier: EarlierSession, state: SessionState, text_of: TextOf) -> Changes:
    """Return what is new in ``state``; ``text_of`` returns a page's text by its digest, "" if it was pruned.

    An earlier fact is kept if the source's current text contains its quote. A current fact is new only if the source's earlier
    text did not contain its quote.
    """
    facts = all_facts(state)
    known = {fact.id for fact in facts}
    read_again = [fact for fact in earlier.facts if fact.id in known or fact.url in state.pages]
    lost = [fact for fact in read_again if fact.id not in known and not _is_still_stated(fact, state.pages[fact.url], text_of)]
    fresh, noticed = _new_and_noticed(earlier, facts, text_of)
    changed = _replacements(lost, fresh)
    replaced, replacing = {pair.before.id for pair in changed}, {pair.after for pair in changed}
    return Changes(
        session=earlier.session,
        since=earlier.reported_at,
        added=tuple(fact.id for fact in fresh if fact.id not in replacing),
        noticed=noticed,
        changed=changed,
        gone=tuple(fact for fact in lost if fact.id not in replaced),
        sources=tuple(_changed_sources(earlier, state)),
        unread=tuple(_unread(earlier, state)),
        kept=len(read_again) - len(lost),
    )


def _is_still_stated(fact: Fact, page: e.PageRead, text_of: TextOf) -> bool:
    return page.digest == fact.digest or holds_quote(text_of(page.digest), fact.quote)


def _new_and_noticed(earlier: EarlierSession, facts: Sequence[Fact], text_of: TextOf) -> tuple[list[Fact], tuple[str, ...]]:
    """Return the facts that the earlier session lacks: the new ones, and the ids of those that were in its sources already."""
    ids, quotes = {fact.id for fact in earlier.facts}, {normalised(fact.quote) for fact in earlier.facts}
    before = {source.url: source.digest for source in earlier.sources}
    fresh: list[Fact] = []
    noticed: list[str] = []
    for fact in facts:
        if fact.id in ids:
            continue
        was_stated = before.get(fact.url) == fact.digest or normalised(fact.quote) in quotes
        if was_stated or (fact.url in before and holds_quote(text_of(before[fact.url]), fact.quote)):
            noticed.append(fact.id)
        else:
            fresh.append(fact)
    return fresh, tuple(noticed)


def _replacements(lost: Iterable[Fact], fresh: Iterable[Fact]) -> tuple[FactChange, ...]:
    """Return pairs of a lost fact and the most similar new fact of its source; each fact is in one pair at most."""
    before, after = list(lost), list(fresh)
    scored = [
        (-jaccard(content_stems(old.quote), content_stems(new.quote)), place, other)
        for place, old in enumerate(before)
        for other, new in enumerate(after)
        if old.url == new.url
    ]
    partner: dict[int, int] = {}
    for score, place, other in sorted(scored):
        if -score >= REPLACEMENT_SIMILARITY and place not in partner and other not in partner.values():
            partner[place] = other
    return tuple(FactChange(before=before[place], after=after[other].id) for place, other in sorted(partner.items()))


def _changed_sources(earlier: EarlierSession, state: SessionState) -> Iterable[SourceChange]:
    for source in earlier.sources:
        page = state.pages.get(source.url)
        if page is not None and page.digest != source.digest:
            yield SourceChange(url=source.url, title=page.title, before=source.digest, after=page.digest)


def _unread(earlier: EarlierSession, state: SessionState) -> Iterable[SourceChange]:
    titles = {source.url: source for source in earlier.sources}
    for url in earlier.cited:
        if url not in state.pages and url in titles:
            failure = state.failures.get(Read(url).key)
            reason = failure.message if failure else "there was no time to read it again"
            yield SourceChange(url=url, title=titles[url].title, before=titles[url].digest, reason=reason)


async def compare(_step: Compare, state: SessionState, context: StepContext) -> StepResult:
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

    return StepResult((e.ChangesFound(changes=session_changes(state.earlier, state, text_of)),))
