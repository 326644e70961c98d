from __future__ import annotations

import pytest

from pipeline.domain.events.talk_events import PassagesFound, ReadPage
from pipeline.domain.talk.gate import is_answerable, judgement
from pipeline.domain.talk.state import Turn
from pipeline.domain.values import EXTRACTIVE, Fact, Hit
from pipeline.text.ranking.term_statistics import TermStatistics

KNOWN = TermStatistics(
    language="english", documents=3, passages=40, body_stems=60, heading_stems=4, counts={"harbour": 9, "deep": 4}
)


def turn(question: str, quote: str, path: tuple[str, ...] = ("The harbour",)) -> Turn:
    page = ReadPage(url="corpus:a.md", title="The harbour", digest="0" * 64, session="s")
    fact = Fact(id="f", claim=quote, quote=quote, url=page.url, digest=page.digest, path=path)
    found = PassagesFound(number=1, hits=(), pages=(page,), statistics=KNOWN, languages=("english",))
    return Turn(1, question, stands_alone=question, found=found, observed={page.url: (fact,)})


def test_a_passage_that_covers_the_question_answers_it() -> None:
    assert is_answerable(turn("How deep is the harbour?", "The harbour is 12 metres deep."), EXTRACTIVE)


@pytest.mark.parametrize("question", ["How deep is the harbour of Rotterdam?", "Is semaglutide safe in pregnancy?"])
def test_a_question_about_a_name_that_no_passage_holds_is_refused(question: str) -> None:
    assert not is_answerable(turn(question, "The harbour is 12 metres deep."), EXTRACTIVE)


def test_a_change_log_answers_only_questions_on_dates_and_versions() -> None:
    entry = "Add a deep harbour, inspired by the nurseries of trio."
    path = ("Changelog", "What\u2019s new in version 3")
    assert not is_answerable(turn("How do I open a nursery in trio?", entry, path), EXTRACTIVE)
    assert is_answerable(turn("Which version added a deep harbour?", f"{entry} New in version 3.", path), EXTRACTIVE)


def test_without_facts_nothing_is_answerable_and_a_model_needs_only_one() -> None:
    assert not is_answerable(Turn(1, "How deep?"), "model")
    assert is_answerable(turn("Quam altus est portus?", "The harbour is 12 metres deep."), "model")


def _outcome(said: str, urls: list[str]) -> str:
    """Return the outcome for a passage with three of a question's words, if the best passages of 50 documents are at ``urls``."""
    made = turn("Is a deep basin yellow beside the ferry crane?", said, ("Ports",))
    assert made.found
    counts = dict.fromkeys(("deep", "yellow", "crane", "basin", "ferri"), 30)
    known = KNOWN.model_copy(update={"documents": 50, "passages": 900, "counts": counts})
    hits = tuple(Hit(url=url, title="", snippet="") for url in urls)
    made.found = made.found.model_copy(update={"hits": hits, "statistics": known})
    return judgement(made).outcome


def test_less_of_the_question_is_enough_where_one_of_many_documents_has_most_of_the_best_passages() -> None:
    one, two, many = ([f"{number % documents}.md#{number}" for number in range(10)] for documents in (1, 4, 10))
    some = "The basin is deep and yellow beside the wall."
    assert [_outcome(some, urls) for urls in (one, two, many)] == ["answered", "partly", "partly"]
    more = "The basin is yellow beside the crane."
    assert [_outcome(more, urls) for urls in (one, two, many)] == ["answered", "answered", "partly"]
