"""What makes a report of quotes hard to read."""

from __future__ import annotations

import pytest

from pipeline.domain.state import Report, SessionState
from pipeline.domain.values import Fact, Paragraph, ReportSection, Sentence
from pipeline.evaluate.scoring.readability import count, scrap, source_sentences
from pipeline.evaluate.scoring.stored_pages import StoredPages
from pipeline.text.sentences import points_back
from tests.fakes import MemoryStore

PAGE = "# Harbour\n\nThe harbour is deep. It was dug by hand in 1904. Ships wait outside at night.\n\nThis is about tea."


def state_of(*paragraphs: tuple[str, ...], title: str = "Harbour") -> tuple[SessionState, StoredPages]:
    store = MemoryStore()
    digest = store.put(PAGE.encode())
    fact = Fact(id="f", claim="c", quote="The harbour is deep.", url="corpus:a.md", digest=digest)
    made = tuple(Paragraph(sentences=tuple(Sentence(text=text, facts=("f",)) for text in texts)) for texts in paragraphs)
    sections = (ReportSection(id="s", title=title, paragraphs=made),)
    state = SessionState(id="s", facts={"f": fact}, report=Report("T", (), sections, (), (), (), (), 0, 0))
    return state, StoredPages(store)


def test_neighbours_in_the_source_are_counted_across_sentences_and_within_a_passage() -> None:
    apart = count(*state_of(("The harbour is deep.", "Ships wait outside at night.")))
    together = count(*state_of(("The harbour is deep. It was dug by hand in 1904.", "Ships wait outside at night.")))
    assert (apart.pairs, apart.neighbours) == (1, 0)
    assert (together.pairs, together.neighbours) == (2, 2)


def test_an_opener_leans_only_if_the_sentence_before_it_is_not_shown() -> None:
    torn = count(*state_of(("It was dug by hand in 1904.",)))
    whole = count(*state_of(("The harbour is deep.", "It was dug by hand in 1904.")))
    across = count(*state_of(("The harbour is deep.",), ("It was dug by hand in 1904.",)))
    assert (torn.openers, torn.leaning) == (1, 1)
    assert (whole.openers, whole.leaning) == (1, 0)
    assert (across.openers, across.leaning) == (1, 0)


def test_a_passage_begins_where_the_source_goes_on_elsewhere() -> None:
    counts = count(*state_of(("Ships wait outside at night.", "It was dug by hand in 1904.")))
    assert (counts.openers, counts.leaning) == (2, 1)


def test_a_sentence_of_no_page_is_no_pair() -> None:
    assert count(*state_of(("The harbour is deep.", "Somebody else said this here."))).pairs == 0


def test_body_sentences_share_a_word_with_their_section() -> None:
    counts = count(*state_of(("Harbours are old places.", "Tea is a drink of leaves."), title="The harbour"))
    assert (counts.body, counts.off_title) == (2, 1)


def test_no_report_has_no_counts() -> None:
    assert count(SessionState(), StoredPages(MemoryStore())).sentences == 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Figure 3.2: The parts of the machine in order.", "caption"),
        ("REQ-12: The machine must stop at once when asked.", "requirement id"),
        ("Home | News | About | Contact | Imprint", "link list"),
        ("The signs &amp; and &#38; mean the same here.", "raw entity"),
        ("New in version 3.6.", "fragment"),
        ("", "fragment"),
        ("The harbour is 12 metres deep at low tide.", ""),
        ("Figures show that it works well for most.", ""),
        ("Table 8.17 shows some examples of valid input.", ""),
        ("Table 8.17.", "caption"),
        ("SYS-NAV-007: The machine must know its place.", "requirement id"),
        ("RAID-5: The parity blocks are spread over all disks.", ""),
    ],
)
def test_scraps_are_named(text: str, kind: str) -> None:
    assert scrap(text) == kind


def test_a_leaning_word_is_one_whole_first_word() -> None:
    assert points_back("However, it is so.")
    assert points_back('"It works so."')
    assert not points_back("Items are so.")
    assert not points_back("12 of them are so.")


def test_sentences_end_at_marks_and_lines() -> None:
    assert source_sentences("It is so. (But not here.) Use os.replace now.\nEnd") == [
        "It is so.",
        "(But not here.)",
        "Use os.replace now.",
        "End",
    ]


def test_long_hostile_sentences_are_read_to_their_end() -> None:
    for text in ("| " * 200_000, "&a" * 200_000, "figure " * 100_000, ". " * 200_000, "http://" * 100_000, " " * 400_000):
        scrap(text)
        points_back(text)
        assert source_sentences(text) or not text.strip("| ")
