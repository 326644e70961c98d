"""What is new since the session before: from facts and page texts alone, and over whole nights whose documents change."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.batch.due_queries import Decision
from pipeline.batch.session_lifecycle import adopt_settings, earlier_knowledge, new_session
from pipeline.config.queue_schema import Settings
from pipeline.config.services import config_for
from pipeline.domain.agenda import agenda
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import PageRead, ReportGenerated, TopicSurveyed
from pipeline.domain.reasoner_questions import PlanQuestion, Question
from pipeline.domain.research_values import Changes, EarlierSession, Fact, Hit, KnownSource, PlanNode, Reference, ResearchConfig
from pipeline.domain.session import ResearchSession, state_of
from pipeline.domain.session_state import Failure, Iteration, PageObserved, SessionState, Worker
from pipeline.domain.steps import FetchPage
from pipeline.errors import GONE
from pipeline.ops.forgetting import kept_events
from pipeline.ports import Answer
from pipeline.research import changes
from pipeline.research.changes import earlier_session
from pipeline.text.cleaning import digest_of
from pipeline.text.times import timestamp
from pipeline.vault.notes.nights_and_home import standing_words
from pipeline.vault.read_model import card_of
from tests.commanding import said, workspace_in
from tests.fakes import START, A, FakeReasoner, Journal, MemoryStore, Ticks, context_for, done_search, step_context_for
from tests.nights import bench, query, queue, sessions
from tests.vault.builders import Workplace

SEA, LAND = "corpus:sea.md", "corpus:land.md"

World = dict[str, list[str]]  # a page's address and its sentences


def digest(sentences: list[str]) -> str:
    return digest_of(" ".join(sentences).encode())


def fact(url: str, sentence: str, page: str) -> Fact:
    return Fact(id=digest_of(f"{sentence}\n{url}".encode())[:12], claim=sentence, quote=sentence, url=url, digest=page)


def session(world: World, found: World | None = None, name: str = "s-1") -> SessionState:
    """A complete session that read the whole world and found all it says, or only what is in ``found``."""
    found = world if found is None else found
    state = SessionState(id=name, status="complete", ended_at=timestamp(context_for().now()))
    state.config = ResearchConfig(pages_per_iteration=99)
    state.nodes = {"search_0": PlanNode(id="search_0", task="search", description="", perspective="p")}
    iteration = Iteration("", ("all",))
    state.searches = {"all": done_search(tuple(Hit(url=url, title=url) for url in world))}
    state.workers = {"search_0": Worker("search_0", "p", 0, "", iterations=[iteration])}
    for url, sentences in world.items():
        page = digest(sentences)
        state.pages[url] = PageRead(url=url, title=url.title(), digest=page, characters=1)
        facts = tuple(fact(url, sentence, page) for sentence in found.get(url, ()))
        iteration.observed[url] = PageObserved(facts, ())
        state.facts |= {one.id: one for one in facts}
    return state


def cited(state: SessionState) -> SessionState:
    """The session with a report that cites every page; of passages, if some were chosen."""
    references = tuple(Reference(number=1, url=url, title=url, digest="", facts=()) for url in state.pages)
    report = ReportGenerated(title="", summary=(), sections=(), references=references)
    return replace(state, report=report.model_copy(update={"outcome": "passages" if state.passages else "answered"}))


def session_changes(
    known: EarlierSession, state: SessionState, text_of: Callable[[str], str], wrong: Collection[str] = ()
) -> Changes:
    return asyncio.run(changes.session_changes(known, state, text_of, wrong=wrong))


def compared(before: World, after: World, found_before: World | None = None, found_after: World | None = None) -> Changes:
    texts = {digest(sentences): " ".join(sentences) for world in (before, after) for sentences in world.values()}
    earlier = earlier_session(cited(session(before, found_before)))
    return session_changes(earlier, session(after, found_after, "s-2"), texts.__getitem__)


def claims(found: Changes, after: World) -> list[str]:
    facts = session(after).facts
    return [facts[name].claim for name in found.added]


def test_what_stands_there_still_is_not_gone_only_because_it_was_not_found_again() -> None:
    before = {SEA: ["The sea is deep.", "Whales sing at night."]}
    after = {SEA: ["The sea is deep.", "Whales sing at night.", "Gulls cry."]}
    found = compared(before, after, found_after={SEA: ["Gulls cry."]})
    assert (found.gone, found.kept) == ((), 2)
    same = compared(before, before, found_after={SEA: []})
    assert (same.gone, same.kept) == ((), 2)


def test_of_a_source_that_a_person_called_wrong_and_that_is_shown_no_more_no_change_is_told() -> None:
    worlds = [{SEA: ["It is deep."], LAND: [f"The land is {miles} miles wide.", "Otto is tall."]} for miles in (3, 4)]
    texts = {digest(sentences): " ".join(sentences) for world in worlds for sentences in world.values()}
    then, now = session(worlds[0]), session(worlds[1], {SEA: ["It is deep."]}, "s-2")
    wrong = [one.id for one in then.facts.values() if "Otto" in one.quote]
    found = [session_changes(earlier_session(cited(then)), now, texts.__getitem__, ids).changed for ids in ([], wrong)]
    assert [len(one) for one in found] == [1, 0]


def test_what_changed_in_a_further_place_is_told_if_it_is_half_as_near_as_the_nearest_passage() -> None:
    further = {"corpus:otto.md": "Otto is {}.", LAND: "The land is {} miles wide."}
    worlds = [{SEA: ["It is deep."]} | {url: [text.format(miles)] for url, text in further.items()} for miles in (3, 4)]
    texts = {digest(sentences): " ".join(sentences) for world in worlds for sentences in world.values()}
    then, now = (session(world, {SEA: ["It is deep."]}, name) for world, name in zip(worlds, ("s-1", "s-2"), strict=True))
    now.query, now.more_places = "How wide is the land?", (fact(LAND, "The land is 4 miles wide.", ""),)
    known = earlier_session(cited(then))
    read_before = tuple(one.model_copy(update={"at": "2020-01-01"}) for one in known.sources)
    found = session_changes(known.model_copy(update={"sources": read_before}), now, texts.__getitem__)
    assert found.since == "2020-01-01"  # the last report did not read it
    assert [(one.before.quote, one.said) for one in found.changed] == [(worlds[0][LAND][0], worlds[1][LAND][0])]


def test_what_one_source_no_longer_says_has_changed_though_another_still_says_it() -> None:
    before = {SEA: ["The berth costs ten euros a night."], LAND: ["The berth costs ten euros a night."]}
    found = compared(before, after := before | {SEA: ["The berth costs twelve euros a night."]})
    assert [(change.before.url, session(after).facts[change.after].url) for change in found.changed] == [(SEA, SEA)]
    assert (found.added, found.gone, found.kept) == ((), (), 1)


def test_what_stood_there_before_is_not_new_only_because_it_is_found_now() -> None:
    before = {SEA: ["The sea is deep.", "Whales sing at night."]}
    found = compared(before, before, found_before={SEA: ["The sea is deep."]})
    assert found.added == ()
    grown = {SEA: [*before[SEA], "Gulls cry."], LAND: ["The sea is deep."]}
    found = compared(before, grown, found_before={SEA: ["The sea is deep."]})
    # neither the whales, nor another source that says what was known
    assert (found.added, [(one.before.quote, one.said) for one in found.changed]) == ((), [("", "Gulls cry.")])
    state, known = session(before, name="s-2"), earlier_session(cited(session({LAND: ["The land is dry."]})))
    met = known.model_copy(update={"sources": earlier_session(state).sources})
    for one, changed, number in ((known, "2026-11-21T12", 2), (known, "2026-11-23", 0), (met, "2026-11-21T12", 0)):
        state.pages[SEA] = state.pages[SEA].model_copy(update={"file_changed": changed, "at": "2026-11-22"})
        assert len(session_changes(one, state, lambda _digest: "").added) == number  # a file of the future says nothing


def test_a_sentence_that_came_in_place_of_two_is_the_change_of_the_more_similar_one() -> None:
    before = {SEA: ["The sea holds deep cold water and salt.", "The sea holds deep cold water near the pole."]}
    after = {SEA: ["The sea holds deep cold water near the south pole."]}
    assert [one.before.quote for one in compared(before, after).changed] == before[SEA][1:]
    unfound = compared(before, after, found_after={})  # the session did not find it, but the page has it now in their place
    assert [(one.before.quote, one.said) for one in unfound.changed] == [(before[SEA][1], *after[SEA])]
    assert (unfound.gone, unfound.kept) == ((), 0)


def test_a_source_that_could_not_be_read_again_says_neither_gone_nor_kept() -> None:
    before = {SEA: ["The sea is deep."], LAND: ["The land is dry."]}
    earlier = earlier_session(cited(session(before)))
    after = session({LAND: before[LAND]}, name="s-2")
    after.failures = {f"Read:{SEA}": Failure(f"Read:{SEA}", 1, True, "ReadFailed", "it is gone", "")}
    found = session_changes(earlier, after, lambda _digest: "")
    assert (found.gone, found.changed, found.kept) == ((), (), 1)
    assert [(source.url, source.reason) for source in found.unread] == [(SEA, "it is gone")]
    assert "no time" in session_changes(earlier, session({}), lambda _digest: "").unread[0].reason


def test_what_only_a_deleted_document_said_is_gone_and_what_another_says_too_is_kept() -> None:
    before = {SEA: ["The sea is deep.", "The land is dry."], LAND: ["The land is dry."]}
    after = session({LAND: before[LAND]}, name="s-2")
    after.failures = {f"Read:{SEA}": Failure(f"Read:{SEA}", 1, True, "ReadFailed", f"{SEA} cannot be read: {GONE}", "")}
    known, texts = earlier_session(cited(session(before))), {digest(said): " ".join(said) for said in before.values()}
    found = session_changes(known, after, texts.__getitem__)
    assert [fact.quote for fact in found.gone] == ["The sea is deep."]
    assert (found.kept, len(found.unread)) == (2, 1)


def test_what_a_session_between_found_to_be_gone_is_not_gone_again() -> None:
    before, after = {SEA: ["The sea is deep.", "Whales sing."]}, {SEA: ["Whales sing."]}
    texts = {digest(world[SEA]): " ".join(world[SEA]) for world in (before, after)}
    known, between = (earlier_session(cited(session(world))) for world in (before, after))
    later = known.model_copy(update={"sources": between.sources})
    assert [len(session_changes(one, session(after), texts.__getitem__).gone) for one in (known, later)] == [1, 0]


def test_of_reports_of_passages_the_passages_alone_are_compared_and_not_what_a_model_had_found_before_it_failed() -> None:
    before, (passage, _) = session(world := {SEA: ["The sea is deep.", "Whales sing at night."]}), session(world).facts
    after = session(world, {SEA: world[SEA][:1]}, "s-2")
    before.passages = after.passages = (passage,)
    found = session_changes(earlier_session(cited(before)), after, lambda _digest: " ".join(world[SEA]))
    assert found == Changes(session=found.session, since=found.since, kept=1)


def test_a_passage_of_which_a_letter_was_corrected_is_neither_changed_new_nor_gone() -> None:
    shown, other = "The sea is deep.", "A second scrub of the same pool can not begin befor the first one has ended."
    world, corrected = {SEA: [shown, other]}, {SEA: [shown, other.replace("befor ", "before ")]}
    texts = {digest(page[SEA]): " ".join(page[SEA]) for page in (world, corrected)}
    spelt = compared(
        {SEA: ["Write .stignroe to leave whales out, which is enabled here."]},
        {SEA: ["Write .stignore to leave whales out, which is disabled here."]},
    )
    assert [one.before.quote[6:15] for one in spelt.changed] == [".stignroe"]  # a name, or another word, is no spelling
    for number, becomes in ((0, 1), (1, 1), (1, 0)):
        before, after = session(world), session(corrected, name="s-2")
        before.passages, after.passages = (tuple(before.facts)[number],), (tuple(after.facts)[becomes],)
        found = session_changes(earlier_session(cited(before)), after, texts.__getitem__)
        assert (found.added, found.changed, found.gone) == ((), (), ())


SENTENCES = st.lists(
    st.sampled_from([f"{a} {b} {n}." for a in ("Red", "Blue") for b in ("cats", "ships") for n in "123"]), unique=True
)
WORLDS = st.dictionaries(st.sampled_from([SEA, LAND, "corpus:air.md"]), SENTENCES)


@given(before=WORLDS, after=WORLDS)
@settings(max_examples=150, deadline=None)
def test_every_earlier_fact_is_kept_changed_gone_or_of_a_source_that_was_not_read(before: World, after: World) -> None:
    found = compared(before, after)
    unread = {url for url in before if url not in after and url not in found.moved}
    assert all(2 * len({*before[was]} & {*after[now]}) >= len(before[was]) for was, now in found.moved.items())
    lost = [one for url, said in before.items() for one in said if one not in after.get(found.moved.get(url, url), [])]
    unsaid = [one for one in lost if not any(one in said for said in after.values())]
    read = sum(len(said) for url, said in before.items() if url not in unread)
    assert read - len(lost) <= found.kept <= read
    assert not {*(one.quote for one in found.gone)} - {*unsaid}
    for one in found.changed:  # of what was added to a passage all is told in one
        url = next((was for was, now in found.moved.items() if now == one.before.url), one.before.url)
        assert {*one.said.split("\n")} <= {*after[one.before.url]} - {*before[url]}
    assert all(not one.before.quote or one.before.quote in lost for one in found.changed)
    new = [*found.added, *(change.after for change in found.changed if change.after)]
    assert {*new} <= session(after).facts.keys() - session(before).facts.keys()
    assert {source.url for source in found.unread} == unread
    again = compared(after, after)
    assert again == Changes(session=again.session, since=again.since, kept=again.kept)


# ---- in a session --------------------------------------------------------------------------------------------------


def night_after_night() -> tuple[MemoryStore, SessionState, Journal]:
    """The store after two nights on one recurring question, the second session, and what it asked."""
    work = queue(query("pumps"))
    first = bench(work)
    first.work()
    (state,) = sessions(first.store).values()
    journal = Journal()
    night = bench(work, lambda _one: journal, first.store, run_id="night-2")
    asyncio.run(night.batch.work([Decision(work.queries[0], "again", "", state.id)]))
    second = [ResearchSession.open(first.store, name).state for name in first.store.ids("session") if name != state.id]
    return first.store, second[0], journal


def test_a_recurring_session_recalls_the_one_before_reads_its_sources_again_and_compares_before_it_reports() -> None:
    store, state, journal = night_after_night()
    assert state.status == "complete"
    types = [event.type for event in decode_all(record.data for record in store.load(state.id))]
    assert types[:3] == ["run.started", "research.started", "earlier.recalled"]
    assert types.index("changes.found") == types.index("report.generated") - 1
    assert state.earlier is not None
    assert state.changes is not None
    assert (state.changes.session, state.changes.since) == (state.previous_session, state.earlier.reported_at)
    assert (state.changes.added, state.changes.gone, state.changes.kept) == ((), (), len(state.earlier.facts))
    assert {f"read:{url}" for url in state.earlier.cited} <= set(journal.calls)
    assert len(set(journal.calls)) == len(journal.calls)


def test_the_first_report_of_a_kind_is_listed_as_what_it_is_and_the_next_one_is_compared_with_it(tmp_path: Path) -> None:
    work, place = queue(query("pumps")), Workplace(tmp_path, MemoryStore())
    with_model, before, found = bench(work).batch.config_of, "", list[str]()
    for number, has_model in enumerate((True, False, True, False), start=1):
        night = bench(work, store=place.store, run_id=f"night-{number}")
        night.batch.context = replace(night.batch.context, now=Ticks(moment=START + timedelta(days=number)).now)
        night.batch.config_of = with_model if has_model else lambda one: config_for(one, Settings())
        before = asyncio.run(night.batch.work([Decision(work.queries[0], "again", "", before)])).ended[0].session
        events = tuple(decode_all(record.data for record in place.store.load(before)))
        kept = kept_events(events, state_of(before, events))
        assert card_of(state_of(before, kept), kept).news == card_of(state_of(before, events), events).news  # also pruned
        place.build()
        found += re.findall("^(?:## )?(What changed|Answered|Passages|Nothing new)", place.note("Home").read_text(), re.MULTILINE)
    assert found == ["Answered", "Nothing new", "Nothing new", "Nothing new"]
    told = state_of(before, events)
    assert told.report
    told.report = told.report.model_copy(update={"outcome": "in-part", "lacks": "its price"})
    assert standing_words(card_of(told, events)).endswith("not found: its price")
    decision = Decision(work.queries[0], "again", "", before)
    begun = asyncio.run(new_session(place.store, decision, with_model(work.queries[0]), context_for("night-5")))
    adopt_settings(begun, config_for(work.queries[0], Settings()), place.store, context_for("night-6"))
    assert begun.state.earlier
    assert begun.state.earlier.session == before  # the model is gone: its report will be of passages, as that one is


def test_the_plan_is_told_what_the_report_before_rested_on() -> None:
    asked: list[PlanQuestion] = []

    class Listening(FakeReasoner):
        async def answer(self, question: Question[A]) -> Answer[A]:
            if isinstance(question, PlanQuestion):
                asked.append(question)
            return await super().answer(question)

    store, before, _ = night_after_night()
    work = queue(replace(query("pumps"), iterations=2))
    night = bench(work, store=store, run_id="night-3")
    night.batch.step_context_of = lambda _state: replace(step_context_for(store, Journal()), reasoner=Listening(Journal()))
    asyncio.run(night.batch.work([Decision(work.queries[0], "again", "", before.id)]))
    (plan,) = asked
    assert plan.earlier
    assert plan.earlier_on == before.ended_at[:10]


def earlier(*urls: str) -> EarlierSession:
    sources = tuple(KnownSource(url=url, title=url, digest="d") for url in urls)
    return EarlierSession(session="s-1", reported_at="", facts=(), sources=sources, cited=urls)


def test_sources_are_read_again_beside_the_work_and_skipped_once_a_cap_is_reached() -> None:
    state = session({LAND: []})
    state.status, state.survey, state.earlier = "searching", TopicSurveyed(provider="fake", hits=()), earlier(SEA, LAND)
    assert FetchPage(SEA) in agenda(state)
    assert FetchPage(LAND) not in agenda(state)
    state.exhausted = "usd"
    assert FetchPage(SEA) not in agenda(state)


def test_what_is_recalled_is_the_last_report_on_the_very_same_question() -> None:
    work = queue(query("pumps"))
    night = bench(work)
    night.work()
    (complete,) = sessions(night.store).values()
    follow = Decision(work.queries[0], "again", "", complete.id)
    failed = asyncio.run(new_session(night.store, follow, ResearchConfig(), context_for("two")))
    text = work.queries[0].text
    found = earlier_knowledge(night.store, failed.id, text, of_passages=False)
    assert found is not None
    assert found.session == complete.id
    assert earlier_knowledge(night.store, complete.id, "Another question?", of_passages=False) is None
    assert earlier_knowledge(night.store, "", text, of_passages=False) is None


def test_an_earlier_session_that_cannot_be_read_is_done_without(caplog: pytest.LogCaptureFixture) -> None:
    work = queue(query("pumps"))
    night = bench(work)
    night.work()
    (complete,) = sessions(night.store).values()
    stream = night.store.streams[complete.id]
    stream[3] = stream[3]._replace(data=b'{"type":"page.read"}')
    assert earlier_knowledge(night.store, complete.id, work.queries[0].text, of_passages=True) is None
    assert "the report is not compared with the earlier session" in caplog.text


# ---- over nights, with documents that change -----------------------------------------------------------------------

RECURRING = "  - {query: How deep is the harbour?, id: harbour, mode: fast, every: 1s}\n"


def night(folder: Path) -> str:
    """Another night, as soon as the question is due again; return its report."""
    names = {path.name for path in folder.glob("events/sessions/*")}
    while not (new := {path.name for path in folder.glob("events/sessions/*")} - names):
        time.sleep(0.05)
        assert said(folder, "run").code == 0
    (name,) = new
    (note,) = [path for path in (folder / "vault" / "reports").rglob("*.md") if path.stem[-4:] == name[-4:]]
    return note.read_text()


def test_a_report_begins_with_what_is_new_since_the_last_and_says_in_one_line_that_nothing_is(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path / "ws", RECURRING)
    kept, gone = "The outer harbour is deep as well.", "The inner harbour is nowhere deep."
    (folder / "corpus" / "basins.md").write_text(f"# Basins\n\n## Outside\n\n{kept}\n\n## Inside\n\n{gone}\n")
    assert "New since" not in night(folder)
    quiet = night(folder)
    assert quiet.count("[!tip]") == 1
    assert "> [!tip] Nothing new since" in quiet
    before = "The harbour is 12 metres deep at low tide. Ships wait outside the harbour at night."
    after = before.replace("12", "15")
    (folder / "corpus" / "harbour-2.md").write_text(f"# Harbour 2\n\n{after}\n")
    (folder / "corpus" / "basins.md").write_text(f"# Basins\n\n## Outside\n\n{kept}\n")
    (folder / "corpus" / "survey.md").write_text("# Survey\n\nsurveys found the harbour to be deep in its outer basin\n")
    (folder / "corpus" / "harbour-1.md").unlink()
    loud = night(folder)
    assert loud.index("[!abstract]") < loud.index("[!tip] New since")  # the answer stands first
    top = loud[loud.index("[!tip] New since") :].partition("\n## ")[0]
    assert "**New:** surveys found the harbour to be deep in its outer basin [" in top  # as it stands there
    assert "**Changed:** The harbour is 15 metres deep at low tide. [" in top
    assert "It said before: “The harbour is 12 metres deep at low tide.”" in top
    assert "**Gone:** “The harbour is 11 metres deep at low tide.” (" in top
    assert "\n  changed: The harbour is 15 metres deep at low tide. (was “12”)\n" in said(folder, "digest").out
    assert "**Sources that changed their text:**" in top
    assert re.search(r"\[!warning\] A source of .* is gone: harbour-1\.md", loud)
    assert f"**Gone:** “{gone}” (" in top
    assert said(folder, "verify").code == 0
    assert said(folder, "build").out.startswith("0 ")


def harbour_of(folder: Path, **notes: str) -> Path:
    """A workspace with the recurring question and these documents alone."""
    (folder / "corpus").mkdir(parents=True)
    (folder / "queries.yaml").write_text(f"queries:\n{RECURRING}")
    for name, text in notes.items():
        (folder / "corpus" / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    return folder


def test_of_a_passage_the_sentences_alone_that_came_or_went_are_told_and_a_renamed_document_says_nothing_new(
    tmp_path: Path,
) -> None:
    deep, bought = "The harbour pump is six metres deep in the cellar.", "The harbour pump was bought by Otto."
    folder = harbour_of(tmp_path / "ws", pump=f"{deep}\n\n\n{bought}")
    note, apart = folder / "corpus" / "pump.md", f"How deep the harbour is, {'the deep harbour tells ' * 30}Otto."
    whole = note.read_text()
    night(folder)
    cut, split = f"# pump\n\n{bought}\n", whole.replace(bought, f"{apart}\n\n{bought}")
    for text, told in ((cut, f"**Gone:** “{deep}” ("), (whole, f"**New:** {deep} ["), (split, f"**New:** {apart} [")):
        note.write_text(text)
        box = night(folder).partition("[!tip]")[2].partition("\n\n")[0]
        assert told in box
        assert not re.search(r"(New|Changed|Gone):\*\*.*bought by Otto", box)
    assert "bought" not in said(folder, "digest").out
    note = note.rename(note.with_name("cellar.md"))
    renamed = night(folder)
    assert re.search(r"\[!tip\] Nothing new since .*: 1 passage as before", renamed)
    assert "could not be read" not in renamed
    zebras = split + "\n## Zebras\n\nZebras sleep at noon. Otto sleeps {} hours.\n"
    note.write_text(zebras.format(3))
    assert re.search(r"as before; cellar\.md in your documents changed in other places", night(folder))
    assert "What changed" not in said(folder, "digest").out + (folder / "vault" / "Home.md").read_text()
    note.unlink()
    note.with_name("deep.md").write_text(zebras.format(5).replace("six", "seven"))
    assert "> [!warning]" not in night(folder)
    told = " ".join(said(folder, "digest").out.split())
    assert "changed: The harbour pump is seven metres deep in the cellar. (was “six”)" in told
    assert "Otto sleeps" not in told


def test_a_document_that_was_moved_and_changed_a_little_is_the_same_one() -> None:
    kept, now = [f"The sea has {number} long and quiet shores." for number in range(9)], "corpus:deep/sea.md"
    before, after = {SEA: [*kept, "The sea is nine fathoms deep."]}, {now: [*kept, "The sea is ten fathoms deep."]}
    texts, state = {digest(one): " ".join(one) for world in (before, after) for one in world.values()}, session(after, name="s-2")
    state.failures = {f"Read:{SEA}": Failure(f"Read:{SEA}", 1, True, "ReadFailed", f"{SEA} cannot be read: {GONE}", "")}
    found = session_changes(earlier_session(cited(session(before))), state, texts.__getitem__)
    assert (found.moved, found.gone, found.unread, found.kept) == ({SEA: now}, (), (), 9)
    assert [(one.before.url, one.before.quote) for one in found.changed] == [(now, "The sea is nine fathoms deep.")]


def test_of_code_and_tables_the_line_that_changed_is_told_with_what_it_was(tmp_path: Path) -> None:
    code = "## The harbour\n\n```\n# how long the harbour keeps mails\nkeep = {}days\n\n# who reads them\nreader = otto\n```"
    folder = harbour_of(tmp_path / "ws", post=code.format(7))
    night(folder)
    (folder / "corpus" / "post.md").write_text(f"# post\n\n{code.format(14)}\n")
    box = night(folder).partition("[!tip]")[2].partition("\n\n")[0]
    assert re.search(r"\*\*Changed:\*\* keep = 14days .* It said before: “keep = 7days”", box)
    home = (folder / "vault" / "Home.md").read_text()
    assert "**Changed:** keep = 14days (was “7days”)\n" in home
    assert "1 changed since" in home


def test_a_passage_left_out_because_it_was_called_wrong_and_the_one_in_its_place_are_named(tmp_path: Path) -> None:
    notes = {f"n{number}": f"The old harbour is {number} metres deep by measure {number}." for number in range(1, 5)}
    folder = harbour_of(tmp_path / "ws", **notes)
    first = night(folder)
    (report,) = (folder / "vault" / "reports").rglob("*.md")
    report.write_text(first.replace("- [ ] wrong", "- [x] wrong", 1))
    second = night(folder)
    assert re.search(r"> \[!tip\] Called wrong, no longer shown: 1 passage \(.*\): 2 passages as before", second)
    assert re.search(r"What changed\n(.|\n)*nother report since you\s+called 1 wrong\.", said(folder, "digest").out)
    for name in notes:
        (folder / "corpus" / f"{name}.md").rename(folder / "corpus" / f"{name} moved.md")
    assert re.search("Nothing new since .*: 3 passages as before", night(folder))  # the wrong one stays away
    report.write_text(report.read_text().replace("- [x] wrong, noted", "- [ ] wrong, noted"))
    night(folder)
    assert "Nothing new\n" in said(folder, "digest").out


def test_a_passage_of_a_document_that_was_there_unread_is_not_new_and_one_of_a_later_document_is(tmp_path: Path) -> None:
    texts = {f"n{number}": f"The harbour is deep by the chart of {number:02d} men." for number in range(40)}
    folder = harbour_of(tmp_path / "ws", **texts)
    night(folder)
    (folder / "corpus" / "later.md").write_text("# Harbour\n\nHow deep the harbour is, the chart of 1999 says.\n")
    for name in set(re.findall(r"page\.read .*?(n\d+)\.md", said(folder, "log").out)):
        (folder / "corpus" / f"{name}.md").unlink()
    second = night(folder)
    assert second.count("**New:**") == 1
    assert "**New:** How deep the harbour is, the chart of 1999 says." in second


def test_a_morning_says_what_changed_first_and_marks_a_new_question(tmp_path: Path) -> None:
    folder = harbour_of(tmp_path / "ws", light="## The keeper\n\n```\nkeeper_of_the_lighthouse: Ada\n```")
    asked = ["How slow is the crane?", "How deep is the harbour?", "How many metres deep is the harbour?"]
    for zone, slow, deep in (("Etc/GMT+12", "slow", 12), ("Pacific/Kiritimati", "very slow", 15)):  # nights a day apart
        (folder / "corpus" / "crane.md").write_text(f"# crane\n\nThe crane is {slow} in winter.\n")
        (folder / "corpus" / "harbour.md").write_text(f"# harbour\n\nThe harbour is {deep} metres deep, says Otto.\n")
        queries = "".join(f"  - {{query: {text}, id: q{number}}}\n" for number, text in enumerate(asked))
        (folder / "queries.yaml").write_text(f"settings: {{timezone: {zone}}}\nqueries:\n{queries}")
        assert said(folder, "run", "--again", *(f"q{number}" for number in range(len(asked)))).code == 0
        asked.append("Who keeps the lighthouse?")
    home, digest = (folder / "vault" / "Home.md").read_text(), " ".join(said(folder, "digest").out.split())
    assert len(re.findall(r"\*\*Changed:\*\* The harbour is 15 metres deep, says Otto. .was “12”.\n", home)) == 2
    assert "|Who keeps the lighthouse?]]** (1 source · new question): “The keeper: keeper_of_the_lighthouse: Ada”" in home
    assert max(map(digest.index, ("15 metres deep", "very slow"))) < digest.index("1 source; new question.")


def test_what_is_not_half_as_near_as_the_nearest_passage_by_meaning_is_not_told_nor_what_still_says_the_same() -> None:
    then = {SEA: ["Whales sing at night.", "The tide comes twice a day."], LAND: ["Otto is tall."]}
    now = {SEA: ["Whales sing in the night.", "High water comes twice a day, at noon too."], LAND: ["Otto is a tall man now."]}
    texts = {digest(sentences): " ".join(sentences) for world in (then, now) for sentences in world.values()}

    async def nearness(text: str, others: Sequence[str]) -> list[float]:
        return [0.1 if "Otto" in other else 0.99 if "Whales" in text and "Whales" in other else 0.8 for other in others]

    known, state = earlier_session(cited(session(then))), session(now, {SEA: now[SEA]}, "s-2")
    found = asyncio.run(changes.session_changes(known, state, texts.__getitem__, nearness))
    assert [(one.before.quote, one.said) for one in found.changed] == [(then[SEA][1], now[SEA][1])]
    assert [one.url for one in found.sources] == [LAND]
