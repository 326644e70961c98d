"""One question's outcome into values."""

from __future__ import annotations

from pipeline.domain.state import Report, SessionState
from pipeline.domain.values import Fact, Sentence
from pipeline.evaluate.bm25_baseline import Baseline
from pipeline.evaluate.question_set.question_set import Entry
from pipeline.evaluate.question_set.rows import Answer, AnswerablePart, Nugget, Unanswerable
from pipeline.evaluate.scoring.outcome import Outcome
from pipeline.evaluate.scoring.question_scores import Scorer, broad, documents, narrow, refusal, trust
from pipeline.evaluate.scoring.stored_pages import StoredPages
from pipeline.text.normalise import normalised
from tests.fakes import MemoryStore

ENTRY = Entry("limit", "How long?", "dev", answers=(Answer(id="limit", aliases=("five seconds",)),), docs=("a.md", "b.md"))
NUGGETS = (
    Nugget(id="b", nugget="one", vital=True, any=("alpha", "first")),
    Nugget(id="b", nugget="two", any=("re:b+eta",)),
    Nugget(id="b", nugget="three", vital=True, any=("gamma",)),
)


def report(text: str, limits: tuple[str, ...] = ()) -> Report:
    return Report("Five seconds", (Sentence(text=text, facts=("f",)),), (), (), (), (), limits, 0, 0)


def outcome(text: str, missing: str = "") -> Outcome:
    return Outcome("report", state=SessionState(report=report(text)), output=normalised(text), missing=missing)


def test_an_answer_counts_by_how_far_down_it_is() -> None:
    for words, expected in ((0, (1, 1, 1)), (149, (0, 1, 1)), (1_499, (0, 0, 1))):
        values, _ = narrow(ENTRY, outcome("word " * words + "five seconds"), None)
        assert tuple(values[f"narrow.{name}"] for name in ("at150", "at1500", "anywhere")) == expected


def test_the_title_is_no_answer() -> None:
    values, notes = narrow(ENTRY, outcome("It is short."), None)
    assert values["narrow.anywhere"] == 0
    assert notes == ["answer missing: five seconds"]


def test_the_baseline_is_scored_at_one_and_at_ten_passages() -> None:
    values, _ = narrow(ENTRY, outcome(""), ["nothing", "five seconds"])
    assert (values["baseline.at150"], values["baseline.at1500"]) == (0, 1)


def test_nuggets_count_once_by_any_of_their_names_and_vital_ones_apart() -> None:
    values, notes = broad(NUGGETS, "first, then alpha, then BETA", ["gamma"])
    assert (values["broad.at150"], values["broad.vital150"]) == (2 / 3, 1 / 2)
    assert (values["baseline.nuggets"], values["baseline.vital"]) == (1 / 3, 1 / 2)
    assert notes == ["nuggets 2/3; missing: three (vital)"]


def test_nuggets_further_down_count_at_the_longer_limit_alone() -> None:
    values, _ = broad(NUGGETS, "word " * 400 + "alpha", None)
    assert [values[f"broad.at{words}"] for words in (150, 500, 1500)] == [0, 1 / 3, 1 / 3]


def test_documents_are_counted_at_each_stage() -> None:
    reached = {"searched": frozenset(("a.md", "b.md")), "read": frozenset(("a.md",))}
    values, notes = documents(ENTRY, Outcome("report", reached=reached), {})
    assert [values[f"narrow.doc.{stage}"] for stage in ("searched", "read", "quoted", "cited")] == [1, 0.5, 0, 0]
    assert notes == ["not read: b.md"]


def test_a_copy_of_the_answering_document_will_do() -> None:
    reached = {"searched": frozenset(("copy.md",))}
    values, _ = documents(ENTRY, Outcome("report", reached=reached), {"b.md": "b.md", "copy.md": "b.md"})
    assert values["narrow.doc.searched"] == 0.5


def test_a_refusal_is_right_or_a_mistake() -> None:
    soup = Entry("soup", "Soup?", "dev", unanswerable=Unanswerable(id="soup", query="Soup?", kind="off-topic"))
    assert refusal(soup, Outcome("refused"))[0] == {"refused.off-topic": 1}
    assert refusal(soup, outcome("A report."))[0] == {"refused.off-topic": 0}
    assert refusal(soup, Outcome("failed"))[0] == {"refused.off-topic": 0}
    assert refusal(ENTRY, Outcome("refused"))[0] == {"refused.answerable": 1}


def test_of_a_half_the_missing_words_are_named_and_the_rest_is_answered() -> None:
    part = AnswerablePart(aliases=("12 metres",))
    row = Unanswerable(id="h", query="?", kind="half", missing=("price", "cost"), answerable_part=part)
    half = Entry("h", "?", "dev", unanswerable=row)
    values, _ = refusal(half, outcome("It is 12 metres deep.", missing="Nothing is said about its price."))
    assert (values["half.named"], values["half.answered"], values["half.both"], values["refused.half"]) == (1, 1, 1, 0)
    values, _ = refusal(half, outcome("It is 12 metres deep."))
    assert (values["half.named"], values["half.both"]) == (0, 0)


def test_a_quote_that_its_page_does_not_hold_makes_its_citation_fail() -> None:
    store = MemoryStore()
    digest = store.put(b"# A\n\nThe harbour is deep.")
    facts = {
        "f": Fact(id="f", claim="", quote="The harbour  is deep.", url="corpus:a.md", digest=digest),
        "g": Fact(id="g", claim="", quote="The harbour is shallow.", url="corpus:a.md", digest=digest),
        "h": Fact(id="h", claim="", quote="The harbour is deep.", url="corpus:b.md", digest="0" * 64),
    }
    sentences = (Sentence(text="One.", facts=("f", "g")), Sentence(text="Two.", facts=("unknown",)), Sentence(text="Three."))
    state = SessionState(facts=facts, report=Report("T", sentences, (), (), (), (), (), 0, 0))
    values, notes = trust(Outcome("report", state=state), StoredPages(store))
    assert (values["quotes.standing"], values["quotes.all"]) == (1, 3)
    assert (values["sentences.citing"], values["sentences.all"]) == (2, 3)
    assert (values["citations.resolving"], values["citations.all"]) == (1, 3)
    assert len(notes) == 2


def test_a_session_that_failed_is_scored_as_such() -> None:
    score = Scorer(StoredPages(MemoryStore()), Baseline([])).score(ENTRY, Outcome("failed", "the disk is full"))
    assert (score.values["failed"], score.values["narrow.anywhere"], score.values["refused.answerable"]) == (1, 0, 0)
    assert score.notes[0] == "failed: the disk is full"
