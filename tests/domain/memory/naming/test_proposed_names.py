"""The check of the names that a model proposes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.memory.naming.proposed_names import checked_names
from pipeline.domain.memory.values import EntityKind, NamedEntity
from pipeline.domain.reasoner_questions.memory_questions import ProposedName
from tests.domain.memory.naming.claims import statements

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
