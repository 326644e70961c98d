"""Words to stems: identifiers whole and in parts, numbers whole, accents, other languages and scripts; text to sentences."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.words import forms, language_of, split_sentences, stems, word_count, words, words_around_change


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("os.path.join", {"os", "path", "join"}),
        ("pg_hba.conf", {"pg", "hba", "conf"}),
        ("snake_case", {"snake", "case"}),
        ("TaskGroup", {"task", "group"}),
        ("state-of-the-art", {"state", "art"}),
    ],
)
def test_an_identifier_counts_whole_and_by_its_parts(word: str, parts: set[str]) -> None:
    whole, *others = forms(word)
    assert whole not in parts
    assert parts <= set(others)


@pytest.mark.parametrize("group", [("ColBERT", "col-bert", "Col_Bert"), ("café", "cafe"), ("Kafka's", "Kafka’s", "kafka")])
def test_one_word_in_several_spellings_is_one_stem(group: tuple[str, ...]) -> None:
    assert len({forms(word)[0] for word in group}) == 1


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("english", "record", "records"),
        ("german", "Protokoll", "Protokolle"),
        ("german", "Häuser", "Haus"),
        ("french", "nationales", "national"),
    ],
)
def test_the_forms_of_a_word_have_one_stem_in_its_language(language: str, one: str, other: str) -> None:
    assert forms(one, language) == forms(other, language)


def test_a_script_without_blanks_gives_pairs_of_signs_each_a_word_of_its_own() -> None:
    assert words("日本語") == ["日本", "本語"]
    assert words("日") == ["日"]
    assert words("PostgreSQL的備份, 5号机") == ["PostgreSQL", "的備", "備份", "5", "号机"]
    assert set(stems("水深")) <= set(stems("貯水池の水深は四十二メートルです"))


def test_letters_keep_their_marks_however_they_are_composed() -> None:
    hut = "Hütte"
    assert words(unicodedata.normalize("NFD", hut)) == words(hut) == [hut]
    assert words("जलाशय की गहराई") == ["जलाशय", "की", "गहराई"]
    assert stems("ΛΟΓΟΣ", "greek") == stems("λόγος", "greek")


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("The harbour is deep.", 4, 4),
        ("Der Hafen ist 42 Meter tief.", 6, 6),
        ("白鹭水库的最大水深是四十二米。", 6, 9),
        ("貯水池の水深は四十二メートルです。", 6, 10),
        ("ความลึกของอ่างเก็บน้ำคือสี่สิบสองเมตร", 6, 12),
        ("저수지의 수심은 사십이 미터이다.", 4, 4),
        ("", 0, 0),
    ],
)
def test_a_text_has_a_length_in_words_in_every_script(text: str, least: int, most: int) -> None:
    assert least <= word_count(text) <= most


@given(st.text(max_size=200))
def test_any_text_has_the_stems_of_its_words_in_their_order(text: str) -> None:
    assert stems(text) == [form for word in words(text) for form in forms(word)]
    assert all(form for form in stems(text))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The record is written before it is acknowledged, and that is all there is to it.", "english"),
        ("Das Protokoll wird auf die Platte geschrieben, bevor es bestätigt wird.", "german"),
        ("Le journal est écrit sur le disque avec les données qui ne sont pas perdues.", "french"),
        ("Журнал не потерян, что и было показано на диске.", "russian"),
        ("Rezervuarın derinliği çok fazla ve bu yüzden su daha soğuk.", "turkish"),
        ("白鹭水库的最大水深是四十二米。", "chinese"),
        ("貯水池の水深は四十二メートルです。", "japanese"),
        ("저수지의 수심은 사십이 미터이다.", "korean"),
        ("ความลึกของอ่างเก็บน้ำคือสี่สิบสองเมตร", "thai"),
        ("जलाशय की गहराई बयालीस मीटर है।", "hindi"),
        ("عمق الخزان اثنان وأربعون مترا.", "arabic"),
        ("עומק המאגר הוא ארבעים ושניים מטרים.", "hebrew"),
        ("Το βάθος της λίμνης είναι σαράντα δύο μέτρα.", "greek"),
        ("Độ sâu của hồ chứa là bốn mươi hai mét.", "vietnamese"),
        ("What is BM25?", "english"),
        ("Why bats sleep", "english"),
        ("Wie funktioniert BM25?", "german"),
        ("WIE GROSS WIRD EIN DACHS?", "german"),
        ("À quoi sert un VPN ?", "french"),
        ("¿Dónde viven osos?", "spanish"),
        ("Perché abbaiano i cani?", "italian"),
        ("O que é BM25?", "portuguese"),
        ("Чому собаки гавкають?", "russian"),
    ],
)
def test_a_language_is_known_by_its_script_two_function_words_or_one_that_asks(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize("text", ["", "1 2 3", "fsync fdatasync renameat2", "car insurance", "NAS raid level", "fire?"])
def test_what_has_no_function_words_is_of_no_known_language(text: str) -> None:
    assert language_of(text) == ""


@pytest.mark.parametrize("text", ["best NAS and UPS", "precio de la vivienda en Madrid"])
def test_one_function_word_or_words_of_two_languages_tell_no_language(text: str) -> None:
    assert language_of(text) == ""


@given(st.from_regex(r"[A-Za-z]{1,50}", fullmatch=True))
def test_a_plain_word_and_its_possessive_have_the_same_stems(word: str) -> None:
    assert forms(word) == forms(f"{word}'s")


HARD_TEXT = st.text(alphabet=st.sampled_from("aB.!?…\"'()[]“” \n0e_`-"), max_size=300) | st.text(max_size=300)


@given(HARD_TEXT)
def test_no_character_of_a_sentence_is_lost_or_altered(text: str) -> None:
    place = 0
    for sentence in split_sentences(text):
        found = text.find(sentence, place)
        assert found >= 0
        assert not text[place:found].strip()
        place = found + len(sentence)
    assert not text[place:].strip()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It works. It does.", 2),
        ("Dr. Smith uses e.g. Python 3.11 and i.e. nothing else.", 1),
        ("See Fig. 3 and No. 7 of the U.S. report.", 1),
        ("He lives in the U.S. The house is old.", 2),
        ("It was J. R. Hartley who wrote it.", 1),
        ("The file is renamed. os.replace is atomic.", 2),
        ("The file (see below. It is long) is renamed. Done.", 2),
        ("Really? Yes! It is.", 3),
        ("It waits ... and then goes on.", 1),
        ("He said “Go. Now.” Then he left.", 2),
        ("The value is 3.14. 2 is even.", 2),
        ("Das Hochwasser vom 12. August 2002 war das schwerste. Danach kam eines im 21. Jahrhundert.", 2),
        ("Die Bahn, im Volksmund „Express“, fuhr bis 1967. Ihre Strecke war lang.", 2),
        ("Er sagte „Geh. Jetzt.“ Dann ging er.", 2),
        ("Gezählt wurden 24. Danach kam nichts.", 2),
    ],
)
def test_a_sentence_ends_where_a_reader_would_end_it(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


@pytest.mark.parametrize(
    "text", ["." * 200_000 + "a", "a. " * 70_000, "a." * 100_000, "x" * 200_000, "( " * 100_000, '". ' * 70_000]
)
def test_hostile_text_is_split_in_one_pass(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


def test_signs_at_the_ends_of_what_was_said_before_are_no_change() -> None:
    before = "The check is off by 10 pm."
    assert words_around_change("The check is on by 10 pm.", before, 130) == "The check is on by 10 pm. (was “off”)"
    assert words_around_change("The check is off by 9 pm.", before, 130) == "The check is off by 9 pm. (was “10”)"
    assert words_around_change("ttl: '10 minutes'", "ttl: '5 minutes'", 130) == "ttl: '10 minutes' (was “5”)"
    assert words_around_change("The check, too, is off by 10 pm.", before, 130) == "The check, too, is off by 10 pm."
