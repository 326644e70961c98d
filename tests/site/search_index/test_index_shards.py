"""The search index: changed or made anew, it is the same."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.site.note_record import Face
from pipeline.site.search_index import index_shards
from pipeline.site.search_index.terms import content_of, words_of

TEXTS = st.text(alphabet="ab é日本1 .", max_size=30)
VAULTS = st.dictionaries(st.sampled_from([f"n/{number}.md" for number in range(6)]), st.tuples(TEXTS, TEXTS), max_size=6)
Vault = dict[str, tuple[str, str]]


def entry(vault: Vault, path: str) -> index_shards.Entry | None:
    return (Face(path, "note", vault[path][0]), content_of(vault[path][0], ("a",), vault[path][1])) if path in vault else None


def index_of(vault: Vault) -> dict[str, index_shards.Held]:
    return dict(index_shards.whole(found for path in vault if (found := entry(vault, path))))


@given(before=VAULTS, after=VAULTS, same_number=st.booleans())
def test_an_index_that_was_changed_is_the_same_as_one_made_anew(before: Vault, after: Vault, same_number: bool) -> None:
    with mock.patch.object(index_shards, "note_id", (lambda _path: "01234") if same_number else index_shards.note_id):
        index = index_of(before)
        changes = [(entry(before, path), entry(after, path)) for path in sorted({*before, *after})]
        for file, held in index_shards.changed(
            changes, lambda file: index_shards.loaded(index_shards.script(file, index.get(file, {})))
        ):
            index[file] = held
        assert {file: list(held.items()) for file, held in index.items() if held} == {
            file: list(held.items()) for file, held in index_of(after).items()
        }


@pytest.mark.parametrize(("kind", "said"), [("w-", "a note is not where"), ("v-", "a word is not where"), ("n-", "not in list")])
def test_a_file_that_does_not_hold_what_it_should_is_not_changed_further(kind: str, said: str) -> None:
    vault = {"n/1.md": ("", "some words")}
    index = index_of(vault)
    with pytest.raises(ValueError, match=said):
        list(
            index_shards.changed(
                [(entry(vault, "n/1.md"), None)],
                lambda file: {} if file.startswith(kind) else index_shards.loaded(index_shards.script(file, index[file])),
            )
        )


@pytest.mark.parametrize("data", [b"", b"altered", b'researchIndex("w-on",{"one":"0123', b'researchIndex("n-00","eJ");\n'])
def test_what_is_no_file_of_the_index_is_told_apart(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        index_shards.loaded(data)


def test_a_word_of_the_title_weighs_more() -> None:
    weights = dict(entry.split(":") for entry in words_of("Append", "append write write write").split())
    assert weights["append"] > weights["write"]


def test_letters_lose_their_accents_and_scripts_without_spaces_go_by_pairs() -> None:
    assert words_of("", "Énergie") == words_of("", "energie")
    assert [entry.split(":")[0] for entry in words_of("", "日本語").split()] == ["日本", "本語"]


def test_each_term_lies_in_the_file_of_its_first_letters() -> None:
    assert index_shards.word_file("append") == "w-ap"
    assert index_shards.word_file("日本") == "w-u65e5"


def test_a_note_is_found_by_kind_day_and_tag() -> None:
    face = Face("n/1.md", "report", "T", created="2026-11-21T02:00:00")
    index = dict(index_shards.whole([(face, content_of("T", ("Topic/Logs",), ""))]))
    facets = {term for file, held in index.items() if file.startswith("f-") for term in held}
    assert facets == {"kind=report", "day=2026-11-21", "tag=topic/logs"}


def test_words_are_listed_by_their_length_except_those_with_digits() -> None:
    index = index_of({"n/1.md": ("", "vacuum frozen sha256 log 日本語日本")})
    assert {file: held for file, held in index.items() if file.startswith("v-")} == {"v-6": {"words": "frozen vacuum"}}


def test_what_is_shown_of_a_note_includes_its_text_and_is_compressed() -> None:
    index = index_of({"n/1.md": ("T", "A sentence.\nAnother.")})
    (file,) = (file for file in index if file.startswith("n-"))
    data = index_shards.script(file, index[file])
    assert b"sentence" not in data
    ((shown,),) = index_shards.loaded(data).values()
    assert shown == ["n/1.html", "T", "note", "", "", "A sentence.\nAnother."]
