"""The search index: changed or made anew, it is the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.site import words
from pipeline.site.notes import Face

TEXTS = st.text(alphabet="ab é日本1 .", max_size=30)
VAULTS = st.dictionaries(st.sampled_from([f"n/{number}.md" for number in range(6)]), st.tuples(TEXTS, TEXTS), max_size=6)
Vault = dict[str, tuple[str, str]]


def index_of(vault: Vault) -> dict[str, bytes]:
    terms = {path: words.terms_of(title, text) for path, (title, text) in vault.items()}
    return {**words.note_files(faces(vault).values()), **dict(words.word_files(terms))}


def faces(vault: Vault) -> dict[str, Face]:
    return {path: Face(path, "note", title) for path, (title, _) in vault.items()}


@given(before=VAULTS, after=VAULTS)
def test_an_index_that_was_changed_is_the_same_as_one_made_anew(before: Vault, after: Vault) -> None:
    index = index_of(before)
    terms = {
        path: tuple(words.terms_of(*vault[path]) if path in vault else "" for vault in (before, after))
        for path in {*before, *after}
    }
    for file, data in words.changed(terms, faces(after).get, lambda file: index.get(file, b"")):  # type: ignore[arg-type]
        if data is None:
            index.pop(file, None)
        else:
            index[file] = data
    assert index == index_of(after)


def test_a_word_of_the_title_weighs_more() -> None:
    weights = dict(entry.split(":") for entry in words.terms_of("Append", "append write write write").split())
    assert weights["append"] > weights["write"]


def test_letters_lose_their_accents_and_scripts_without_spaces_go_by_pairs() -> None:
    assert words.terms_of("", "Énergie") == words.terms_of("", "energie")
    assert [entry.split(":")[0] for entry in words.terms_of("", "日本語").split()] == ["日本", "本語"]


def test_each_term_lies_in_the_file_of_its_first_letters() -> None:
    assert words.word_file("append") == "search/w-ap.js"
    assert words.word_file("日本") == "search/w-u65e5.js"
