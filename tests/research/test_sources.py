"""Which sources may be read, which pages come again or first, and what is said to be open."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from pipeline.domain.events.session_events import GapsFound, PageRead
from pipeline.domain.page_choice_and_findings import chosen_pages, may_be_read, open_gaps
from pipeline.domain.research_values import Fact, Gap, Hit, Perspective, PlanNode, ResearchConfig
from pipeline.domain.session_state import Analysis, Failure, Iteration, PageObserved, ReportPart, SessionState, Worker
from pipeline.domain.steps import FindGaps, SearchFor
from pipeline.research.page_reading import sources_of
from pipeline.research.planning_and_searching import NOT_SEARCHED, approval_of, find_gaps, searched
from pipeline.research.report_assembly import limits
from pipeline.text.cleaning import tokens
from tests.fakes import Journal, MemoryStore, done_search, step_context_for


@pytest.mark.parametrize(
    ("url", "allow", "deny", "may"),
    [
        ("https://docs.example.org/a", (), ("example.org",), False),
        ("https://notexample.org/a", (), ("example.org",), True),
        ("https://www.example.org/a", ("example.org",), (), True),
        ("https://other.example/a", ("example.org",), (), False),
        ("https://a.example.org/x", ("example.org",), ("a.example.org",), False),
        ("corpus:notes/garden.md#beds", ("example.org",), (), True),
        ("corpus:notes/garden.md#beds", (), ("notes/",), False),
        ("corpus:notes%20old/a.md", (), ("notes old/",), False),
        ("corpus:notes%20old/a.md", (), ("notes%20old/",), False),
        ("corpus:notes/a.md", (), ("./notes/a.md",), False),
        ("corpus:notes/garden.md", ("manuals/",), (), False),
        ("corpus:notesbook/a.md", (), ("notes/",), True),
        ("https://example.org/notes/a", (), ("notes/",), True),
    ],
)
def test_hosts_and_folders_are_allowed_or_denied(url: str, allow: tuple[str, ...], deny: tuple[str, ...], may: bool) -> None:
    assert may_be_read(url, ResearchConfig(allow=allow, deny=deny)) is may


def _state(**more: str) -> tuple[SessionState, Worker]:
    """A session whose worker found pages a to f with its first search, and read a, b and c; its reading had no room for c."""
    state = SessionState(config=ResearchConfig(pages_per_iteration=3, reasoner="model/x", gap_rounds=0))
    state.nodes = {"search_0": PlanNode(id="search_0", task="search", description="", perspective="v")}
    state.perspectives = {"v": Perspective(id="v", name="V", focus="", questions=("What is asked?",))}
    seen = {f"corpus:{name}.md": PageObserved((), (), whole=True) for name in "ab"}
    worker = Worker(
        "search_0", "v", 0, "", iterations=[Iteration("", ("one",), observed=seen, evaluated=True), Iteration("", ("two",))]
    )
    state.workers = {worker.id: worker}
    for query, names in (("one", "abcdef"), ("two", "defg")):
        hits = tuple(Hit(url=f"corpus:{name}.md", title=name, published=more.get(name, "")) for name in names)
        state.searches[query] = done_search(hits)
    for name in "abc":
        url = f"corpus:{name}.md"
        state.pages[url] = PageRead(url=url, title=name, digest="0" * 64, characters=10, at="")
    return state, worker


def test_a_page_that_a_reading_had_no_room_for_or_saw_in_parts_is_offered_again() -> None:
    state, worker = _state()
    assert chosen_pages(state, worker, 1) == ("corpus:a.md", "corpus:b.md", "corpus:c.md")
    assert "corpus:c.md" in chosen_pages(state, worker, 2)
    assert not {"corpus:a.md", "corpus:b.md"} & set(chosen_pages(state, worker, 2))
    state.searches["two"] = done_search((Hit(url="corpus:a.md", title="a"), *state.searches["two"].hits))
    assert "corpus:a.md" not in chosen_pages(state, worker, 2)
    worker.iterations[0].observed["corpus:a.md"] = PageObserved((), (), whole=False, shown=((0, 5),))
    assert chosen_pages(state, worker, 2)[0] == "corpus:a.md"


def test_of_pages_found_and_not_read_those_near_the_question_are_named_first_and_a_title_once() -> None:
    state, worker = _state()
    worker.iterations = [Iteration("", ("one",))]
    release, other, chapter = state.searches["one"].hits[:3]
    hits = (release.model_copy(update={"title": "Release notes"}), chapter.model_copy(update={"coverage": 0.6}), other)
    state.pages["corpus:b.md"] = state.pages["corpus:b.md"].model_copy(update={"title": "c"})  # another section of that page
    state.searches["one"] = done_search(hits)
    state.failures = {
        key: Failure(key, 1, True, "ReadFailed", why, "")
        for key, why in {"Read:a": "forbidden", "Read:b": "status 500", "Read:c": "forbidden"}.items()
    }
    unread = "3 pages could not be read: forbidden (2 of them); status 500"
    assert list(limits(state)) == ["Found, but not read by the model: “c”, “a”", unread]


def test_hits_that_the_sources_do_not_allow_are_left_out_and_counted() -> None:
    context = step_context_for(MemoryStore(), Journal())
    found = asyncio.run(searched("How do pumps behave?", 5, ResearchConfig(allow=("page-1.md/",)), context))
    assert {hit.url for hit in found.hits} <= {"corpus:page-1.md#part"}
    assert found.left_out == 15 - len(found.hits)


def test_gaps_are_looked_for_in_more_pages_than_a_perspective() -> None:
    state, worker = _state()
    state.config = state.config.model_copy(update={"gap_pages": 5})
    worker.iterations = [Iteration("", ("one",))]
    assert len(chosen_pages(state, worker, 1)) == 3
    worker.round = 1
    assert len(chosen_pages(state, worker, 1)) == 5


def test_newer_pages_come_first_only_where_the_present_state_is_asked_for() -> None:
    state, worker = _state(g="2026-10-01", d="2019-01-01")
    assert "corpus:g.md" not in chosen_pages(state, worker, 2)
    state.recent = True
    assert "corpus:g.md" in chosen_pages(state, worker, 2)


def test_only_the_best_page_is_shown_beyond_what_was_hit_and_in_a_large_window_whole() -> None:
    state, worker = _state()
    state.config = state.config.model_copy(update={"pages_per_iteration": 4})
    worker.iterations = [Iteration("", ("one",))]
    hits = (Hit(url=f"corpus:{name}.md", title=name, heading="Part 9") for name in "abcd")
    state.searches["one"] = done_search(tuple(hits))
    for url in (f"corpus:{name}.md" for name in "abcd"):
        state.pages[url] = PageRead(url=url, title=url, digest="0" * 64, characters=9, at="")
    text = "".join(f"## Part {number}\n\n{'Water flows downhill. ' * 60}\n\n" for number in range(40))
    context = replace(step_context_for(MemoryStore(), Journal()), page_text=lambda _digest: text)

    def shown() -> list[int]:
        return [sum(text[start:end].count("## ") for start, end in one.shown) for one in sources_of(state, worker, 1, context)]

    assert shown() == [3, 1, 1, 1]
    state.config = state.config.model_copy(update={"context_tokens": 200_000})
    assert shown() == [40, 1, 1, 1]
    hits = (Hit(url=f"corpus:{'ab'[number % 2]}.md", title="", heading=f"Part {number}") for number in range(30))
    state.searches["one"] = done_search(tuple(hits))
    assert shown() == [40, 6]


def test_the_section_that_the_last_reading_searched_for_is_shown_whole_beside_pages_that_questions_bring() -> None:
    state, worker = _state()
    worker.round = 1
    state.config = state.config.model_copy(update={"perspectives": 1, "iterations": 1, "gap_pages": 12})
    worker.iterations = [Iteration("", ("Locks", "What is asked?"))]
    others = tuple(Hit(url=f"corpus:{number}.md", title="", heading="Part 1") for number in range(11))
    state.searches |= {
        "What is asked?": done_search(others),
        "Locks": done_search((Hit(url="corpus:z.md#l", title="", heading="Locks"), *others)),
    }
    for url in ("corpus:z.md", *(hit.url for hit in others)):
        state.pages[url] = PageRead(url=url, title=url, digest="0" * 64, characters=9, at="")
    section = f"## Locks {{#l}}\n\n{'A lock is held. ' * 200}\n\n"
    text = "".join(f"## Part {number}\n\n{'Water flows downhill. ' * 60}\n\n" for number in range(40)) + section
    context = replace(step_context_for(MemoryStore(), Journal()), page_text=lambda _digest: text)
    shown = {one.url: "".join(text[start:end] for start, end in one.shown) for one in sources_of(state, worker, 1, context)}
    assert section.strip() in shown["corpus:z.md"]
    assert len(shown) > 6
    quote = "Water flows downhill. " * 1_000
    state.facts["f"] = Fact(id="f", claim=quote, quote=quote, url="corpus:z.md", digest="0" * 64)
    state.observed["corpus:z.md"] = PageObserved((), (), whole=False, shown=((0, len(text) // 2),))
    parts = [text[start:end] for one in sources_of(state, worker, 1, context) for start, end in one.shown]
    spent = tokens(text) / 2 + 3 * tokens(quote)  # what was shown and found leaves less room
    assert 2_000 < sum(map(tokens, parts)) < (41_000 - spent) / 2


def found_gaps(state: SessionState) -> tuple[Gap, ...]:
    (event,) = find_gaps(FindGaps(0), state).drafts
    assert isinstance(event, GapsFound)
    return event.gaps


def test_what_was_never_searched_for_is_not_called_sought_in_vain() -> None:
    state, worker = _state()
    worker.iterations[-1].evaluated, worker.iterations[-1].gaps = True, ("What is asked?", "And a new pump?")
    state.analyses.append(Analysis(0))
    found = found_gaps(state)
    assert [(gap.question, gap.reason) for gap in found] == [("What is asked?", ""), ("And a new pump?", NOT_SEARCHED)]
    failure = Failure(SearchFor("What is asked?").key, 1, True, "SearchFailed", "no reply", "")
    state.failures[failure.step] = failure
    assert found_gaps(state)[0].reason == "The search for it failed: no reply"
    state.failures.clear()
    state.searches["pumps, old or new; one"] = done_search(())
    assert found_gaps(state)[1].reason == ""
    state.config = state.config.model_copy(update={"gap_rounds": 1})
    found = found_gaps(state)
    assert {gap.reason for gap in found} == {""}
    state.analyses[0].gaps = found
    state.parts[1] = ReportPart((), answered=("What is asked?",))
    assert [gap.question for gap in open_gaps(state)] == ["And a new pump?"]
    state.query = "and a  new pump?"
    assert open_gaps(state) == ()


def test_workers_side_by_side_choose_their_pages_in_turn_and_what_one_finds_beside_another_is_not_open_for_it() -> None:
    state, first = _state()
    state.nodes["search_1"] = PlanNode(id="search_1", task="search", description="", perspective="w")
    state.perspectives["w"] = Perspective(id="w", name="W", focus="", questions=("What else?",))
    state.searches["three"] = done_search(tuple(Hit(url=f"corpus:{name}.md", title=name) for name in "bcdxyz"))
    second = Worker("search_1", "w", 0, "", iterations=[Iteration("", ("three",))])
    first.iterations = [Iteration("", ("one",))]
    state.workers[second.id] = second
    assert chosen_pages(state, first, 1) == ("corpus:a.md", "corpus:c.md", "corpus:e.md")
    assert chosen_pages(state, second, 1) == ("corpus:b.md", "corpus:d.md", "corpus:x.md")
    fact = Fact(id="f", claim="", quote="q", url="corpus:b.md", digest="0" * 64, question="What is asked?")
    second.iterations[0].observed["corpus:b.md"] = PageObserved((fact,), ())
    first.iterations[0].evaluated, first.iterations[0].gaps = True, ("What is asked?", "One more?", "And two?")
    second.iterations[0].evaluated, second.iterations[0].gaps = True, ("What else?",)
    state.analyses.append(Analysis(0))
    assert [gap.question for gap in found_gaps(state)] == ["What else?", "One more?", "And two?"]
    deep, before = "How deep is the harbour at night?", "How deep is the harbour before night?"
    second.iterations[0].gaps = (deep, "At night, how deep is the harbour then?", before)
    assert [gap.question for gap in found_gaps(state)] == ["One more?", deep, "And two?", before]
    second.iterations[0].gaps = ("What else?",)
    # In a second reading the first worker was shown what the other had found to its question, and still calls it open.
    first.iterations.append(Iteration("", ("four",), evaluated=True, gaps=("What is asked?",)))
    assert [gap.question for gap in found_gaps(state)] == ["What is asked?", "What else?"]


def test_the_first_hit_of_each_search_is_read_behind_the_best_page() -> None:
    state, worker = _state()
    worker.iterations = [Iteration("", ("one", "two", "last"))]
    state.searches["last"] = done_search((Hit(url="corpus:z.md", title="z"),))
    assert chosen_pages(state, worker, 1) == ("corpus:d.md", "corpus:a.md", "corpus:z.md")


def test_a_question_that_an_earlier_perspective_asks_is_not_asked_again() -> None:
    questions = (("A?", "B?"), ("B?", "A?"), ("B?", "C?"))
    views = [Perspective(id="", name="The best way", focus="", questions=asked) for asked in questions]
    found = approval_of(tuple(views), validates=True).perspectives
    assert [(view.id, view.questions) for view in found] == [("the-best-way", ("A?", "B?")), ("the-best-way-2", ("C?",))]
