"""What is searched of a note, in any script; and the search index: changed or made anew, it is the same."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.site import search
from pipeline.site.note_to_html import Record

TEXTS = st.text(alphabet="ab é日本1 .", max_size=30)
VAULTS = st.dictionaries(st.sampled_from([f"n/{number}.md" for number in range(6)]), st.tuples(TEXTS, TEXTS), max_size=6)
Vault = dict[str, tuple[str, str]]


def entry(vault: Vault, path: str) -> search.Entry | None:
    title, text = vault.get(path, ("", ""))
    note = Record(path, "report", title, "", created="2026-11-21T02:00:00", tags=["Topic/Logs"])
    return (note, search.content_of(title, text)) if path in vault else None


def index_of(vault: Vault) -> dict[str, search.Held]:
    return dict(search.changed(((None, entry(vault, path)) for path in vault), lambda _file: {}))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The torn record", ["torn", "record"]),
        ("Énergie Straße", ["energie", "straße"]),
        ("日本語。テスト", ["日本", "本語", "テス", "スト"]),
        ("PostgreSQL入門", ["postgresql", "入門"]),
        ("세종대왕", ["세종", "종대", "대왕"]),
        ("गंगा का पानी।", ["गंगा", "का", "पानी"]),
        ("الْعَرَبِيَّة", ["العربيه"]),
        ("שָׁלוֹם עולם", ["שלום", "עולם"]),
        ("เมือง", ["เม", "มื", "ือ", "อง"]),
        ("x" * 25, []),
    ],
)
def test_words_are_cut_as_their_script_does(text: str, found: list[str]) -> None:
    assert search.terms(text) == found


@given(st.text(max_size=40), st.text(alphabet="aB z1_“”–…·→∴\u00a0é日½¹-", max_size=30))
def test_no_term_has_a_sign_of_the_index_and_signs_around_a_word_change_none(text: str, signs: str) -> None:
    assert not [term for term in search.terms(text) if set(term) & set(" :=\n\t")]
    assert search.terms(f"{signs} 日本") == [*search.terms(signs), "日本"], "a quick look at plain words and a thorough one"


@given(before=VAULTS, after=VAULTS, same_number=st.booleans())
def test_an_index_that_was_changed_is_the_same_as_one_made_anew(before: Vault, after: Vault, same_number: bool) -> None:
    with mock.patch.object(search, "note_id", (lambda _path: "01234") if same_number else search.note_id):
        index = index_of(before)
        changes = [(entry(before, path), entry(after, path)) for path in sorted({*before, *after})]
        for file, held in search.changed(changes, lambda file: search.loaded(search.script(file, index.get(file, {})))):
            index[file] = held
        made = {file: list(held.items()) for file, held in index_of(after).items()}
        assert {file: list(held.items()) for file, held in index.items() if held} == made


@pytest.mark.parametrize("kind", ["w-", "v-", "n-"])
def test_a_file_that_does_not_hold_what_it_should_is_not_changed_further(kind: str) -> None:
    vault = {"n/1.md": ("", "some words")}
    index = index_of(vault)
    with pytest.raises(ValueError, match=r"not in list|not where"):
        list(search.changed([(entry(vault, "n/1.md"), None)], lambda file: {} if file.startswith(kind) else index[file]))


@pytest.mark.parametrize("data", [b"", b"altered", b'researchIndex("w-on",{"one":"0123', b'researchIndex("n-00","eJ");\n'])
def test_what_is_no_file_of_the_index_is_told_apart(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        search.loaded(data)


def test_a_word_of_the_title_weighs_more_and_a_note_is_found_by_kind_day_and_tag() -> None:
    words, text = search.content_of("Append", "append write write write").split("\n")
    weights = dict(one.split(":") for one in words.split())
    assert (weights["append"] > weights["write"], text) == (True, "append write write write")
    index = index_of({"n/1.md": ("T", "日本")})
    facets = {term for file, held in index.items() if file.startswith("f-") for term in held}
    assert facets == {"kind=report", "day=2026-11-21", "tag=topic/logs"}
    assert "w-u65e5" in index
