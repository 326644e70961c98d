"""Whether a session's facts hold what is asked: a report, one that names what is missing, or an end in words."""

from __future__ import annotations

import pytest

from pipeline.domain.not_found_gate import query_of, statistics, step_after_gathering
from pipeline.domain.state import Iteration, PageDone, PageObserved, SearchDone, SessionState, Worker
from pipeline.domain.steps import Fail, StartSynthesis
from pipeline.domain.values import Fact, Hit, PlanNode, ResearchConfig
from pipeline.text.ranking.scoring import StemmedText, statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics

OWN = (
    "An append-only log survives a power cut because each record is synced before it is acknowledged.",
    "A checksum in each record tells a torn record of the log from a whole one.",
    "The harbour is twelve metres deep at low tide.",
    *(f"Paragraph {number} says nothing of note about matter {number}." for number in range(30)),
)
KNOWN = statistics_of([StemmedText.of(text, "", "english") for text in OWN]).model_copy(
    update={"language": "english", "documents": 12}
)


def session(
    query: str,
    texts: tuple[str, ...] = OWN,
    known: TermStatistics = KNOWN,
    *,
    languages: tuple[str, ...] = ("english",),
    reasoner: str = "extractive",
    url: str = "corpus:{}.md",
) -> SessionState:
    """One worker that read a page for each text, and found it there."""
    state = SessionState(id="s1", query=query, config=ResearchConfig(reasoner=reasoner, pages_per_iteration=99))
    state.nodes["search_0"] = PlanNode(id="search_0", task="search", description="")
    worker = state.workers["search_0"] = Worker("search_0", "v", 0, "", iterations=[Iteration("", ("q",))])
    hits = []
    for number, text in enumerate(texts):
        address = url.format(number)
        fact = Fact(id=f"f{number}", claim=text, quote=text, url=address, digest="d")
        state.facts[fact.id] = fact
        state.pages[address] = PageDone(address, f"Page {number}", "d", len(text), "")
        worker.iterations[0].observed[address] = PageObserved((fact,), ())
        hits.append(Hit(url=address, title=f"Page {number}", snippet=text))
    state.searches["q"] = SearchDone("fake", tuple(hits))
    state.survey = SearchDone("fake", tuple(hits), (), known, languages)
    return state


def refusal(query: str, **more: object) -> Fail:
    step = step_after_gathering(session(query, **more))  # type: ignore[arg-type]  # one of its own keywords
    assert isinstance(step, Fail)
    return step


def test_what_the_facts_answer_is_written() -> None:
    assert step_after_gathering(session("How does an append-only log survive a power cut?")) == StartSynthesis()


def test_a_question_of_which_a_part_is_near_is_written() -> None:
    assert step_after_gathering(session("How deep is the harbour, and which airline flies to Reykjavik?")) == StartSynthesis()


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        (12, "nothing in your 12 documents is near the question"),
        (1, "your one document holds no passage that is near the question"),
        (0, "no source that was found is near the question"),
    ],
)
def test_what_is_near_no_document_ends_the_session_and_says_where_was_looked(documents: int, words: str) -> None:
    step = refusal("Who composed the opera Turandot?", known=KNOWN.model_copy(update={"documents": documents}))
    assert (step.cause, step.reason) == ("no-evidence", words)


def test_what_shares_a_word_with_the_question_is_kept_as_nearest() -> None:
    step = refusal("Which opera by Puccini has a harbour in Nagasaki and a marriage broker?")
    assert step.nearest == ("f2",)


def test_a_question_in_a_language_of_no_document_is_told_so() -> None:
    step = refusal("Wie tief ist das Hafenbecken bei der Ebbe und warum ist das so?")
    assert step.reason.endswith("; the question is in German, the documents are in English")
    both = refusal("Wie tief ist das Hafenbecken bei der Ebbe und warum ist das so?", languages=("english", "german"))
    assert "the question is in" not in both.reason


def test_a_session_that_was_cut_short_does_not_say_that_its_sources_have_no_answer() -> None:
    state = session("Who composed the opera Turandot?")
    state.exhausted = "usd"
    assert step_after_gathering(state) == Fail("budget", "stopped before enough evidence was found: usd exhausted")
    state.query = "How does an append-only log survive a power cut?"
    assert step_after_gathering(state) == StartSynthesis()


def test_without_facts_nothing_is_nearest() -> None:
    assert refusal("How deep is the harbour?", texts=()).nearest == ()


def test_a_question_is_read_in_its_own_language_if_there_are_documents_in_it() -> None:
    german = "Wie tief ist das Hafenbecken bei der Ebbe?"
    assert query_of(session(german, languages=("english", "german"))).language == "german"
    assert query_of(session(german, languages=("english",))).language == "english"
    assert query_of(session(german, languages=())).language == "german"


def test_without_an_index_the_statistics_are_those_of_what_was_found() -> None:
    found = statistics(session("How deep is the harbour?", known=TermStatistics(), languages=()))
    assert found.passages == 2 * len(OWN)  # the hits and the facts
    assert found.counts["harbour"] == 2


def test_without_an_index_the_statistics_say_which_language_they_are_of() -> None:
    german = session("Wie tief ist das Hafenbecken bei der Ebbe?", ("Das Hafenbecken ist tief.",), TermStatistics(), languages=())
    assert statistics(german).language == "german"


@pytest.mark.parametrize(
    "query", ["How do heat pumps in cold climates behave?", "How do heat pumps in cold climates fare over decades?"]
)
def test_what_a_model_found_on_the_web_about_the_very_subject_is_not_refused(query: str) -> None:
    texts = tuple(f"In trial {number} heat pumps in cold climates reduced losses by {number} per cent." for number in range(12))
    web = session(query, texts, TermStatistics(), languages=(), reasoner="gpt", url="https://{}.example/")
    assert isinstance(step_after_gathering(web), StartSynthesis)


def test_what_a_model_found_is_not_judged_by_its_words() -> None:
    assert isinstance(refusal("Who composed the opera Turandot?"), Fail)
    assert step_after_gathering(session("Who composed the opera Turandot?", reasoner="a-model")) == StartSynthesis()
