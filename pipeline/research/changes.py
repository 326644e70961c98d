"""What changed since the session before on a question: the sentences of its documents that bear on it, the nearest first.

Compared are the texts of the documents, sentence by sentence, whatever of them a report quotes. A sentence bears on the question
if it, or its passage, under its headings, is about half as near to the question as the nearest passage of the report, by words
and by meaning. Of 760 changes of two manuals, over five releases each, a reader wanted to see 68 first: by this measure 63 of
them bear on their question, and 142 of the 561 that he did not want.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import SequenceMatcher
from heapq import nlargest
from typing import NamedTuple

from pipeline.domain import research_values as v
from pipeline.domain import session_state
from pipeline.domain import steps as s
from pipeline.domain.events import session_events as e
from pipeline.domain.page_choice_and_findings import all_facts
from pipeline.domain.session_state import SessionState
from pipeline.errors import GONE, ObjectMissing, StepError
from pipeline.research.step_context import Nearness, StepContext, StepResult
from pipeline.text.passages import passages, statements
from pipeline.text.quotes import holds_quote
from pipeline.text.words import question_words_in, repeated, words

_NUMBER = re.compile(r"\d+")
_BEARS = (0.5, 0.6)  # least nearness of a change by words and by meaning, as shares of that of the nearest passage
_SAME, _MEANT = 0.97, 0.8  # cosine from which two sentences say the same, and from which one replaced the other
_MOST_MEANT = 8  # sentences that are compared by meaning with one that replaced none in most of its words
_LONG, _SPELT = 5, 0.8  # letters of a word, and the share that two spellings of it have in common: "enabled" is not "disabled"
_REWORDED = 0.5  # least share of pairs of words in common if one sentence of a source replaced another
_MOVED = 0.8  # least share of repeated pairs of words, in both directions, of a document under another name
# Of one session: sentences that are compared, those first whose passages have most words of the question; changes that are told;
# sources that it knows from the sessions before it.
_MOST_COMPARED, _MOST_TOLD, _MOST_SOURCES = 100, 12, 200


_ByWords = dict[tuple[str, ...], str]  # sentences


class _Said(NamedTuple):
    """A sentence that a source has, and its earlier text ``old`` (a digest) had not; ``lost`` are those that only that text has.

    ``at`` counts the sentences of the source from 0.
    """

    text: str
    at: int
    url: str
    path: tuple[str, ...]
    passage: str
    old: str
    lost: tuple[str, ...]

    @property
    def forms(self) -> tuple[str, str]:
        """What is compared with the question: the sentence and its passage, under their headings."""
        return _under(self.path, self.text), _under(self.path, self.passage)


def earlier_session(state: SessionState) -> v.EarlierSession:
    """Return the facts, sources and citations of a complete session, for the next session on its query.

    A source that only sessions before it read is one of its sources too, unless it was deleted.
    """
    deleted = {one.url for one in state.changes.unread if one.is_lost} if state.changes else set()
    sources = [v.KnownSource(url=page.url, title=page.title, digest=page.digest, at=page.at) for page in state.pages.values()]
    older = state.earlier.sources if state.earlier else ()
    return v.EarlierSession(
        session=state.id,
        reported_at=state.ended_at,
        facts=_facts_of_report(state),
        sources=(*sources, *(one for one in older if one.url not in state.pages and one.url not in deleted))[:_MOST_SOURCES],
        cited=tuple(reference.url for reference in state.report.references) if state.report else (),
        of_passages=session_state.outcome_of(state) == "passages",
    )


async def session_changes(
    earlier: v.EarlierSession,
    state: SessionState,
    text_of: Callable[[str], str],
    nearness: Nearness | None = None,
    wrong: Collection[str] = (),
) -> v.Changes:
    """Return what is new in ``state``; ``text_of`` returns a page's text by its digest, "" if it was pruned.

    ``nearness`` is by meaning; without one, words alone count. ``wrong`` are ids of earlier facts that a person called wrong.

    Of a source that was not known a fact is new, if its file was put there since; of one that was, each sentence that bears on
    the question and that the earlier text did not have, with the most similar one that it has no more. An earlier fact is kept,
    or a sentence of it changed, or it is gone: no document says it any more. What another page says is not gone, unless it was
    shown from a document that was deleted and is shown no more. A document that was moved is the same one, also if a little of
    it changed.
    """
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
    deleted = {source.url for source in unread if source.is_lost}
    known = [fact for fact in earlier.facts if fact.url in now or fact.url in deleted]
    left_out = [fact for fact in known if fact.id in wrong and fact.id not in state.facts]
    read_again = [fact for fact in known if fact not in left_out]
    called_off = {fact.url for fact in left_out} - {fact.url for fact in state.facts.values()}  # a person wants no more of them
    quoted, shown = ("\n\n".join(fact.quote for fact in found) for found in (earlier.facts, facts))

    altered = [one for one in earlier.sources if now.get(one.url, one.digest) != one.digest and one.url not in called_off]
    asked, differing = list[_Said](), list[v.KnownSource]()
    for source in altered:
        texts = text_of(source.digest), text_of(now[source.url])
        then, said_now = ({tuple(words(one)): one for one in _sentences(text)} for text in texts)
        if then.keys() != said_now.keys():
            differing.append(source)
            asked += _new_sentences(source, moved.get(source.url, source.url), texts, then, said_now)

    gone, touched = list[v.Fact](), set[str]()
    for fact in read_again:
        if fact.id in state.facts or now.get(fact.url) == fact.digest:
            continue
        text = text_of(now[fact.url]) if fact.url in now else ""
        old = text_of(before[fact.url].digest) if fact.url in before else ""  # a later session may have told that it is gone
        lost = [one for one in _parts(fact.quote) if not holds_quote(text, one) and (not old or holds_quote(old, one))]
        is_shown = fact.url not in deleted or not of_passages or any(holds_quote(shown, one) for one in _parts(fact.quote))
        others = _sentences(text) if lost else ()
        reworded = [one for one in lost if any(_alike(one, other) >= _REWORDED for other in others)]
        read = [text_of(page.digest) for page in state.pages.values()] if is_shown and len(lost) > len(reworded) else []
        rest = [one for one in lost if one not in reworded and not any(holds_quote(other, one) for other in read)]
        touched |= {fact.id} if rest or reworded else set()
        part = {} if rest == _parts(fact.quote) else {"claim": "", "quote": "\n".join(rest)}
        gone += [fact.model_copy(update={"url": moved.get(fact.url, fact.url), **part})] if rest else []
    asked.sort(key=lambda one: -question_words_in(state.query, one.forms[1]))
    best = [_under(fact.path, fact.quote) for fact in ((*facts, *state.more_places) or earlier.facts)]
    bearing = await _bearing(state.query, [*asked[:_MOST_COMPARED], *gone], best, nearness)
    said = [(near, one) for near, one in bearing if isinstance(one, _Said) and not holds_quote(quoted, one.text)]
    told = await _with_what_was(said, lambda url: text_of(now[url]), nearness)
    changed = []
    for near, one, text, was in told:
        name = next((fact.id for fact in read_again if was and holds_quote(fact.quote, was)), one.old)
        was_said = v.Fact(id=name, claim="", quote=was, url=one.url, digest=one.old, path=one.path)
        after = next((fact.id for fact in facts if fact.url == one.url and holds_quote(fact.quote, one.text)), "")
        if not (was and any(holds_quote(fact.quote, was) for fact in left_out)):
            changed.append(v.FactChange(before=was_said, after=after, said=text, near=round(near, 2)))
    replaced = [one.before.quote for one in changed if one.before.quote]
    gone = [one for _, one in bearing if isinstance(one, v.Fact) and not any(holds_quote(one.quote, was) for was in replaced)]
    read_at = {one.digest: one.at or earlier.reported_at for one in earlier.sources}

    def is_new(fact: v.Fact) -> bool:
        page = state.pages.get(fact.url)
        is_known = fact.url in before or fact.url in moved.values() or any(one.digest == fact.digest for one in earlier.sources)
        was_there = page and (page.file_changed or is_other_kind) and not earlier.reported_at <= page.file_changed <= page.at
        return not (is_known or was_there) and not all(holds_quote(quoted, one) for one in _parts(fact.quote))

    quotes_now = {fact.quote for fact in facts}
    kept = sum(fact.quote in quotes_now if of_passages else fact.id not in touched for fact in read_again)
    places = {moved.get(fact.url, fact.url) for fact in (*earlier.facts, *facts, *state.more_places)}
    places -= {one.before.url for one in changed}
    return v.Changes(
        session=earlier.session,
        since=min([earlier.reported_at, *(read_at[one.before.digest] for one in changed)]),
        added=tuple(fact.id for fact in facts if is_new(fact)),
        changed=tuple(changed),
        gone=tuple(gone),
        sources=tuple(
            v.SourceChange(url=url, title=source.title, before=source.digest, after=now[source.url])
            for source in differing
            if (url := moved.get(source.url, source.url)) in places
        ),
        unread=tuple(unread),
        kept=0 if is_other_kind else kept,
        called_wrong=len(left_out),
        first_of_kind=is_other_kind,
        moved=moved,
    )


def _facts_of_report(state: SessionState) -> tuple[v.Fact, ...]:
    """Return the chosen passages; if there are none, all facts. A model's facts are not in a report of passages."""
    return tuple(fact for fact in all_facts(state) if not state.passages or fact.id in state.passages)


def _moved(earlier: v.EarlierSession, state: SessionState, text_of: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield earlier sources that have another address now, each with that: the text is the same, or nearly so of a file gone."""
    known = {one.url for one in earlier.sources}
    for one in (one for one in earlier.sources if one.url not in state.pages):
        found = [page.url for page in state.pages.values() if page.digest == one.digest]
        failure = state.failures.get(s.FetchPage(one.url).key)
        is_gone = not found and failure is not None and failure.message.endswith(GONE)
        for page in (page for page in state.pages.values() if is_gone and page.url not in known):
            texts = text_of(one.digest), text_of(page.digest)
            found += [page.url] if min(repeated(*texts), repeated(*reversed(texts))) >= _MOVED else []
        yield from ((one.url, url) for url in found[:1])


def _new_sentences(source: v.KnownSource, url: str, texts: tuple[str, str], then: _ByWords, said: _ByWords) -> Iterator[_Said]:
    """Yield the sentences of a source's text that the one before it, if that is still stored, had nowhere.

    ``texts`` are both, the earlier one first, ``then`` and ``said`` the sentences of each by their words. What no passage holds
    gives orders to models. A question says nothing.
    """
    old, new = texts
    places = {tuple(words(one)): place for place in passages(new) for one in _sentences(place.body)}
    lost = tuple(one for key, one in then.items() if key not in said)
    for at, (key, one) in enumerate(said.items()):
        if old and key not in then and any(map(str.isalpha, one)) and not one.endswith(("?", "？")) and not holds_quote(old, one):
            place = places.get(key) or next((place for place in passages(new) if holds_quote(place.body, one)), None)
            if place:
                yield _Said(one, at, url, place.path, place.body, source.digest, lost)


async def _bearing(
    query: str, found: Sequence[_Said | v.Fact], nearest: Sequence[str], nearness: Nearness | None
) -> list[tuple[float, _Said | v.Fact]]:
    """Return what bears on the question, with how near it is as a share of the nearest of the texts ``nearest``; best first."""
    forms = [one.forms if isinstance(one, _Said) else (_under(one.path, one.quote),) for one in found]
    alone = [one.text if isinstance(one, _Said) else one.quote for one in found]
    texts = list(dict.fromkeys([*nearest, *(form for each in forms for form in each), *alone]))
    scales = [[float(question_words_in(query, text)) for text in texts]]
    scales += [list(await nearness(query, texts))] if nearness else []
    most = [max(scale[: len({*nearest})], default=0.0) for scale in scales]
    place = {text: at for at, text in enumerate(texts)}
    known = [(scale, best, least) for scale, best, least in zip(scales, most, _BEARS, strict=False) if best > 0]
    shares = [[max(scale[place[form]] for form in each) / best for scale, best, _ in known] for each in forms]
    # Of one passage that comes first which is nearest by itself.
    order = sorted(range(len(found)), key=lambda at: (-min(shares[at], default=1.0), -scales[-1][place[alone[at]]]))
    near = (at for at in order if nearest and all(share >= least for share, (*_, least) in zip(shares[at], known, strict=True)))
    return [(min(shares[at], default=1.0), found[at]) for at in near]


async def _with_what_was(
    found: Sequence[tuple[float, _Said]], text_of: Callable[[str], str], nearness: Nearness | None
) -> list[tuple[float, _Said, str, str]]:
    """Return the first sentences, each with what a report shows for it, and with what was there instead, "" if nothing like it.

    Of what was added to one passage all is told in one. A sentence that still says the same is left out. ``text_of`` returns a
    source's text by its address.
    """
    first, was = found[: 4 * _MOST_TOLD], dict[int, str]()
    every = ((_alike(old, one.text), at, old) for at, (_, one) in enumerate(first) for old in one.lost)
    pairs = [pair for pair in every if pair[0] >= _REWORDED]
    for at, (_, one) in enumerate(first):
        others = nlargest(_MOST_MEANT, one.lost, key=lambda old: _alike(old, one.text)) if nearness else ()
        cosines = await nearness(one.text, others) if nearness else ()
        pairs += [(cosine / 2, at, old) for old, cosine in zip(others, cosines, strict=True) if cosine >= _MEANT]
    for _, at, old in sorted(pairs, key=lambda pair: -pair[0]):
        taken = (was[other] for other in was if first[other][1].url == first[at][1].url)
        if at not in was and old not in taken and not holds_quote(text_of(first[at][1].url), old):
            was[at] = old
    told = dict[tuple[str, ...], list[tuple[float, _Said, str]]]()
    for at, (near, one) in enumerate(first):
        old = was.get(at, "")
        if not (old and await _still_says(old, one.text, nearness)):
            told.setdefault((one.url, old or one.passage), []).append((near, one, old))
    told = {key: same for key, same in told.items() if not max(same, key=lambda entry: entry[1].at)[1].text.endswith(":")}
    return [
        (*same[0][:2], "\n".join(one.text for _, one, _ in sorted(same, key=lambda entry: entry[1].at)), same[0][2])
        for same in list(told.values())[:_MOST_TOLD]
    ]


async def _still_says(old: str, new: str, nearness: Nearness | None) -> bool:
    """Whether a sentence says the same in other words, or only the spelling of longer words was corrected.

    Numbers, code and names in it are compared letter by letter.
    """
    differing = {word.rstrip(".,;:!?)\"'”").lstrip("(\"'“") for word in {*old.split()} ^ {*new.split()}}
    if new.startswith("```") or not all(word.isalpha() for word in differing if word):
        return False
    one, other = words(old), words(new)
    pairs = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    is_long = len(one) == len(other) and all(min(map(len, pair)) >= _LONG and pair[0][:2] == pair[1][:2] for pair in pairs)
    if is_long and all(SequenceMatcher(None, *pair).ratio() >= _SPELT for pair in pairs):
        return True
    return nearness is not None and (await nearness(old, [new]))[0] >= _SAME


def _alike(one: str, other: str) -> float:
    """The share of pairs of words that two sentences have in common (Dice 1945), any number for any other."""
    texts = _NUMBER.sub("0", one), _NUMBER.sub("0", other)
    shares = repeated(*texts), repeated(*reversed(texts))
    return 2 / sum(1 / share for share in shares) if all(shares) else 0.0


def _sentences(text: str) -> list[str]:
    """The statements of a text that have a word, a line of code in a fence of its own."""
    found = ((kind, one.rstrip(" \\") if kind == "code" else one) for kind, one in statements(text))  # code may go on in a line
    return [f"```\n{one}\n```" if kind == "code" else one for kind, one in found if words(one)]


def _parts(quote: str) -> list[str]:
    return _sentences(quote) or [quote]


def _under(path: Sequence[str], text: str) -> str:
    return f"{' › '.join(path)}: {text}"


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
    try:
        changes = await session_changes(state.earlier, state, text_of, context.nearness, wrong)
    except StepError:  # the model of vectors fails, which a warning says
        changes = await session_changes(state.earlier, state, text_of, None, wrong)
    return StepResult((e.ChangesFound(changes=changes),))
