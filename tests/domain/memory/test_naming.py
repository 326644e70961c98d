"""Names without a model: names of things and people, code and defined terms that statements share, and no fragments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.memory.naming import named_entities
from pipeline.domain.memory.values import NamedEntity, Statement


def statements(*claims: str, same_page: bool = False) -> list[Statement]:
    pages = ("corpus:a.md", "corpus:a.md" if same_page else "corpus:b.md")
    return [
        Statement(fact=f"f{number}", claim=claim, quote=claim, url=pages[number % 2], digest="0" * 64)
        for number, claim in enumerate(claims)
    ]


def named(*claims: str, same_page: bool = False) -> dict[str, NamedEntity]:
    return {one.name: one for one in named_entities(statements(*claims, same_page=same_page))}


def test_a_proper_name_inside_two_sentences_of_two_pages_is_an_entity() -> None:
    found = named("The pages are cached by Linux for a while.", "On a server, Linux writes them back.")
    assert {name: (one.kind, one.statements) for name, one in found.items()} == {"Linux": ("name", ("f0", "f1"))}


def test_a_name_on_one_page_only_is_none_yet() -> None:
    assert named("It is cached by Linux.", "It is written by Linux.", same_page=True) == {}


def test_a_word_that_only_begins_sentences_or_is_written_small_elsewhere_is_no_name() -> None:
    assert named("Harbours are deep.", "Harbours are wide.") == {}
    assert named("1. Then Acknowledge the record.", "Never Acknowledge early; acknowledging costs nothing.") == {}


def test_headings_months_and_counted_things_are_no_names() -> None:
    assert named("How The Harbour Works At Night", "How The Harbour Works By Day") == {}
    assert named("It began in March, see Figure 3.", "It ended in March, see Figure 4.") == {}


def test_an_acronym_is_a_name_wherever_it_is() -> None:
    assert list(named("BM25 ranks passages.", "It is ranked by BM25.")) == ["BM25"]


def test_code_and_calls_are_entities_of_their_own_kind() -> None:
    found = named("Call `os.replace` last.", "The name is changed by `os.replace` at once.")
    assert {name: one.kind for name, one in found.items()} == {"os.replace": "code"}
    assert list(named("Then fsync_range() returns.", "It waits in fsync_range().")) == ["fsync_range()"]


def test_a_defined_term_is_found_in_other_forms_too() -> None:
    found = named("A torn write is a record of which only a part reached the disk.", "Checksums catch torn writes.")
    assert {name: (one.kind, len(one.statements)) for name, one in found.items()} == {"torn write": ("term", 2)}


def test_two_names_for_the_same_statements_are_one_entity_with_an_alias() -> None:
    found = named("It is ranked by Okapi BM25 first.", "Passages are ranked by Okapi BM25.")
    assert {name: one.aliases for name, one in found.items()} in ({"Okapi BM25": ("BM25",)}, {"Okapi BM25": ()})


@given(st.lists(st.text(max_size=80), max_size=6))
def test_whatever_statements_say_names_are_sorted_unique_and_shared(claims: list[str]) -> None:
    found = named_entities(statements(*claims))
    assert [one.id for one in found] == sorted({one.id for one in found})
    assert all(len(one.statements) > 1 for one in found)
