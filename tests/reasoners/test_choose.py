"""The choice of passages without a model: what is near, how much of it, whole sections, twins, quotes that hold."""

from __future__ import annotations

import pytest

from pipeline.domain.events.upkeep_events import Rated
from pipeline.reasoners.passages import ReadPage, choose
from pipeline.text.cleaning import digest_of, normalised
from pipeline.text.questions import parse_question
from pipeline.text.ranking import TermStatistics
from pipeline.text.words import word_count

FILLER = "The {} of the northern valley is described here at length, with its colours, its makers and its price in three markets."
SUBJECTS = ("cloth", "cheese", "lamp", "bridge", "orchard", "violin", "kettle", "saddle", "mirror", "basket", "anvil", "sundial")
CHAPTERS = "\n\n".join(f"## The {subject}\n\n{FILLER.format(subject)}" for subject in SUBJECTS)
RESTORE = "\n\n".join(
    f"Step {number}: {text} Wait until the console prints that it is done, and note the time in the log book of the machine room."
    for number, text in enumerate(
        ("Stop the server.", "Move the old data away.", "Unpack the backup.", "Start the server.", "Check the backup."), start=1
    )
)
MANUAL = f"# The manual\n\n{CHAPTERS}\n\n## Restoring a backup\n\n{RESTORE}\n\n## Noise\n\nThe heron pump makes 62 decibels.\n"


def page(text: str, url: str = "corpus:manual.md", **cosines: float) -> ReadPage:
    return ReadPage(url, "The manual", digest_of(text.encode()), text, cosines)


def test_a_narrow_question_gets_few_passages_that_stand_in_the_page_and_seven_more_places_at_most() -> None:
    manual = page(MANUAL)
    choice = choose(parse_question("How loud is the heron pump in decibels?"), [manual], TermStatistics())
    assert choice.passages[0].quote == "The heron pump makes 62 decibels."
    assert choice.passages[0].path == ("The manual", "Noise")
    assert len(choice.passages) <= 3
    assert len(choice.more) <= 7
    for fact in (*choice.passages, *choice.more):
        assert normalised(manual.text)[fact.start :].startswith(normalised(fact.quote))
        assert fact.digest == manual.digest
        assert fact.question == ""  # its session has it


def test_a_broad_question_gets_the_section_with_most_of_the_best_passages_whole_and_in_order() -> None:
    choice = choose(parse_question("How do I restore the server from a backup?"), [page(MANUAL)], TermStatistics())
    text = " ".join(fact.quote for fact in choice.passages)
    steps = [text.find(f"Step {number}:") for number in range(1, 6)]
    assert -1 not in steps
    assert steps == sorted(steps)
    assert sum(word_count(fact.quote) for fact in choice.passages) <= 900


def test_a_question_of_how_that_one_section_answers_gets_no_other() -> None:
    text = f"{MANUAL}\n## The cellar\n\nThe disks of each backup lie in the cellar, in which a server stood once.\n"
    choice = choose(parse_question("How do I restore the server from a backup?"), [page(text)], TermStatistics())
    assert {fact.path[-1] for fact in choice.passages} == {"Restoring a backup"}
    assert "The cellar" in {fact.path[-1] for fact in choice.more}


def test_a_broad_question_keeps_to_the_page_with_most_of_the_best_passages() -> None:
    steps = {
        "Seal": "To repair the pump, tear its seal off with pliers.",
        "Disk": "To repair the pump, turn its disk on the lathe.",
        "Valve": "To repair the pump, call the smith with his hammer.",
        "Axle": "A broken axle of the pump needs the hammer and the anvil.",
    }
    guide = page("# The pump\n\n" + "\n\n".join(f"## {name}\n\n{step}" for name, step in steps.items()), "corpus:guide.md")
    tools = page("# The pump\n\n## Tools\n\nLathe, pliers, hammer, anvil and smith stand beside the pump.", "corpus:tools.md")
    choice = choose(parse_question("How do I repair the pump?"), [tools, guide], TermStatistics())
    assert {fact.url for fact in choice.passages} == {"corpus:guide.md"}
    assert {fact.quote for fact in choice.passages} == set(steps.values())


@pytest.mark.parametrize("question", ["Which laptop suits students best?", "When is my next dentist appointment?"])
def test_nothing_is_chosen_if_nothing_is_near(question: str) -> None:
    choice = choose(parse_question(question), [page(MANUAL)], TermStatistics())
    assert choice.passages == choice.more == ()


def test_what_answers_one_part_of_a_question_is_near_however_much_else_is_asked() -> None:
    question = "How loud is the heron pump, and how do I bake sourdough bread with rye flour and honey?"
    choice = choose(parse_question(question), [page(MANUAL)], TermStatistics())
    assert choice.passages[0].quote == "The heron pump makes 62 decibels."


def test_with_vectors_the_nearest_by_meaning_is_chosen_without_a_common_word_and_only_above_the_floor() -> None:
    text = "# Notes\n\nDelete archives with prune.\n\n## Birds\n\nA heron stands in the river and waits for fish all day."
    near = {
        normalised("Delete archives with prune."): 0.6,
        normalised("A heron stands in the river and waits for fish all day."): 0.1,
    }
    query = parse_question("wipe my backups")
    known = TermStatistics(language="english", documents=1, passages=2, body_stems=6.0, heading_stems=1.0, nearest=0.3)
    chosen = choose(query, [ReadPage("corpus:n.md", "Notes", "d", text, near)], known)
    assert chosen.passages[0].quote == "Delete archives with prune."
    assert chosen.passages[0].cosine == 0.6
    far = {name: cosine / 3 for name, cosine in near.items()}
    assert choose(query, [ReadPage("corpus:n.md", "Notes", "d", text, far)], known).passages == ()


def test_the_same_page_in_two_formats_is_shown_once() -> None:
    twice = [page(MANUAL, "corpus:a.html"), page(MANUAL.replace("62 decibels.", "62 decibels"), "corpus:b.txt")]
    choice = choose(parse_question("How loud is the heron pump in decibels?"), twice, TermStatistics())
    assert [fact.quote.rstrip(".") for fact in choice.passages].count("The heron pump makes 62 decibels") == 1


def test_the_choice_does_not_depend_on_the_order_of_the_pages() -> None:
    pages = [page(MANUAL, "corpus:a.md"), page(f"# Other\n\n{CHAPTERS}\n\nA pump is loud.\n", "corpus:b.md")]
    query = parse_question("How loud is the heron pump in decibels?")
    assert choose(query, pages, TermStatistics()).passages == choose(query, pages[::-1], TermStatistics()).passages


def test_the_source_of_a_wrong_passage_comes_last_and_the_passage_is_known_again_at_another_address() -> None:
    question = parse_question("How does one restore a backup, and how loud is the heron pump?")
    pages = [page(MANUAL), page("# Backups\n\nA backup is restored by the night shift.", "corpus:night.md")]
    rated = Rated(wrong_urls=frozenset({"corpus:manual.md"}))
    chosen = choose(question, pages, TermStatistics(), rated=rated).passages
    urls = [fact.url for fact in chosen]
    assert urls == sorted(urls, reverse=True)
    assert len(set(urls)) == 2
    rated, again = Rated(wrong=frozenset({chosen[0].id}), passages=chosen[:1]), [one._replace(url="corpus:x") for one in pages]
    assert chosen[0].quote not in {fact.quote for fact in choose(question, again, TermStatistics(), rated=rated).passages}
