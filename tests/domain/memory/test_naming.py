"""Names by rule (things, people, code, defined terms; no fragments), and the check of those that a model proposes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.memory.naming import checked_names, named_entities
from pipeline.domain.memory.values import EntityKind, NamedEntity, Statement
from pipeline.domain.reasoner_questions.memory_questions import ProposedName


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


CLAIMS = ("The write-ahead log (WAL) holds the pages.", "A checkpoint empties the WAL; call `fsync` first.", "Ships sail.")


def checked(name: str, kind: EntityKind, *aliases: str, claims: tuple[str, ...] = CLAIMS) -> tuple[NamedEntity, ...]:
    return checked_names([ProposedName(name=name, kind=kind, aliases=aliases)], statements(*claims))


def test_a_proposed_name_collects_the_statements_that_hold_it_or_one_of_its_spellings() -> None:
    (found,) = checked("write-ahead log", "term", "WAL", "journal")
    assert (found.id, found.aliases, found.statements) == ("write-ahead-log", ("WAL",), ("f0", "f1"))


def test_a_proposed_name_that_stands_in_no_statement_is_dropped_whatever_its_spellings() -> None:
    assert checked("Write Behind Cache", "name", "WAL") == ()


def test_an_everyday_word_collects_nothing_as_a_name_or_as_a_spelling() -> None:
    assert checked("the", "term") == checked("The", "name") == checked("holds", "code") == ()
    (found,) = checked("WAL", "name", "the", "The", "a")
    assert found.aliases == ()
    assert found.statements == ("f0", "f1")


def test_a_proposed_name_of_one_statement_or_of_one_page_is_none_yet() -> None:
    assert checked("fsync", "code") == ()
    assert checked_names([ProposedName(name="WAL", kind="name")], statements(*CLAIMS, same_page=True)) == ()


@given(st.lists(st.text(max_size=40), max_size=4), st.text(max_size=80), st.lists(st.text(max_size=20), max_size=3))
def test_each_statement_of_a_checked_name_holds_a_spelling_of_it(claims: list[str], name: str, aliases: list[str]) -> None:
    texts = {one.fact: one.claim for one in statements(*claims)}
    for kind in ("name", "code", "term"):
        proposed = ProposedName(name=name, kind=kind, aliases=tuple(aliases))
        for entity in checked_names([proposed], statements(*claims)):
            spellings = [one.lower() for one in (entity.name, *entity.aliases)]
            assert all(any(one in texts[fact].lower() for one in spellings) for fact in entity.statements)
