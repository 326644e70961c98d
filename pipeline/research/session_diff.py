"""What is new since an earlier session on the same question: worked out from the facts and page texts of both. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pipeline.domain.state import PageDone, SessionState, all_facts
from pipeline.domain.steps import Read
from pipeline.domain.values import Changes, Earlier, Fact, FactChange, KnownSource, SourceChange
from pipeline.text.normalise import holds_quote, normalised
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.stemming import jaccard

ALIKE = 0.5  # how alike the words of two statements of one source are if the one stands for the other

TextOf = Callable[[str], str]


def earlier_of(state: SessionState) -> Earlier:
    """Return what a complete session knew, as the next one on its question is told."""
    return Earlier(
        session=state.id,
        reported_at=state.ended_at,
        facts=all_facts(state),
        sources=tuple(KnownSource(url=page.url, title=page.title, digest=page.digest) for page in state.pages.values()),
        cited=tuple(reference.url for reference in state.report.references) if state.report else (),
    )


def changes(earlier: Earlier, state: SessionState, text_of: TextOf) -> Changes:
    """Return what is new in ``state``; ``text_of`` gives a page's text by its digest, "" if it is no longer there.

    An earlier fact still stands if its quote stands in its source as that was read now. A fact of now is new only if it did not
    stand in its source before.
    """
    facts = all_facts(state)
    known = {fact.id for fact in facts}
    read_again = [fact for fact in earlier.facts if fact.id in known or fact.url in state.pages]
    lost = [fact for fact in read_again if fact.id not in known and not _stands(fact, state.pages[fact.url], text_of)]
    fresh, noticed = _fresh(earlier, facts, text_of)
    changed = _pairs(lost, fresh)
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


def _stands(fact: Fact, page: PageDone, text_of: TextOf) -> bool:
    return page.digest == fact.digest or holds_quote(text_of(page.digest), fact.quote)


def _fresh(earlier: Earlier, facts: Sequence[Fact], text_of: TextOf) -> tuple[list[Fact], tuple[str, ...]]:
    """The facts that the earlier session did not have: those that are new, and the ids of those that it could have found."""
    ids, quotes = {fact.id for fact in earlier.facts}, {normalised(fact.quote) for fact in earlier.facts}
    before = {source.url: source.digest for source in earlier.sources}
    fresh: list[Fact] = []
    noticed: list[str] = []
    for fact in facts:
        if fact.id in ids:
            continue
        stood = before.get(fact.url) == fact.digest or normalised(fact.quote) in quotes
        if stood or (fact.url in before and holds_quote(text_of(before[fact.url]), fact.quote)):
            noticed.append(fact.id)
        else:
            fresh.append(fact)
    return fresh, tuple(noticed)


def _pairs(lost: Iterable[Fact], fresh: Iterable[Fact]) -> tuple[FactChange, ...]:
    """Each lost fact with the fresh one of its source that is most like it; each of them once, the most alike first."""
    before, after = list(lost), list(fresh)
    scored = [
        (-jaccard(content_stems(old.quote), content_stems(new.quote)), place, other)
        for place, old in enumerate(before)
        for other, new in enumerate(after)
        if old.url == new.url
    ]
    partner: dict[int, int] = {}
    for score, place, other in sorted(scored):
        if -score >= ALIKE and place not in partner and other not in partner.values():
            partner[place] = other
    return tuple(FactChange(before=before[place], after=after[other].id) for place, other in sorted(partner.items()))


def _changed_sources(earlier: Earlier, state: SessionState) -> Iterable[SourceChange]:
    for source in earlier.sources:
        page = state.pages.get(source.url)
        if page is not None and page.digest != source.digest:
            yield SourceChange(url=source.url, title=page.title, before=source.digest, after=page.digest)


def _unread(earlier: Earlier, state: SessionState) -> Iterable[SourceChange]:
    titles = {source.url: source for source in earlier.sources}
    for url in earlier.cited:
        if url not in state.pages and url in titles:
            failure = state.failures.get(Read(url).key)
            reason = failure.message if failure else "there was no time to read it again"
            yield SourceChange(url=url, title=titles[url].title, before=titles[url].digest, reason=reason)
