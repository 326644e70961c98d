"""Which passages say the same word for word, and which name another figure."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.adapters.reasoners.extractive.corroboration import cross_check
from pipeline.adapters.reasoners.extractive.near_copies import edited
from pipeline.domain.reasoner_questions import CrossCheckQuestion
from pipeline.domain.values import Contradiction, Fact, ValidatedFact
from tests.adapters.reasoners.extractive.builders import fact


def differing(first: str, second: str, origins: tuple[str, str] = ("a", "b")) -> tuple[Contradiction, ...]:
    a, b = fact(first, "corpus:a.md"), fact(second, "corpus:b.md")
    named = {a.id: origins[0], b.id: origins[1]}
    forth = cross_check(CrossCheckQuestion(query="q", groups=((a, b),), origins=named)).contradictions
    back = cross_check(CrossCheckQuestion(query="q", groups=((b, a),), origins=named)).contradictions
    assert forth == back
    return forth


def validated(*facts: Fact, origins: dict[str, str] | None = None) -> dict[str, ValidatedFact]:
    named = origins or {entry.id: entry.url for entry in facts}
    return {entry.fact_id: entry for entry in cross_check(CrossCheckQuestion(query="q", groups=(facts,), origins=named)).facts}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The audit found that 25% of the citations were wrong.", "The audit found that 11% of the citations were wrong."),
        ("The server listens on port 7420 in this setup.", "The server listens on port 7402 in this setup."),
        ("The flush of the journal takes about 5 ms.", "The flush of the journal takes about 9 seconds."),
    ],
)
def test_two_sentences_that_differ_in_one_figure_alone_are_a_disagreement(first: str, second: str) -> None:
    (pair,) = differing(first, second)
    assert pair.kind == "number"
    assert first.rstrip(".") in pair.explanation
    assert second.rstrip(".") in pair.explanation


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The journal is flushed every 200 milliseconds here.", "The journal is flushed every 0.2 seconds here."),
        ("The cache of the server takes 1 GB of memory.", "The cache of the server takes 1,024 MB of memory."),
        ("The towers of the bridge are 141 metres high.", "The main span of the bridge is 486 metres long."),
        ("The port of the server is 7420 if none is set.", "The port of the server is 7402 if none is set."),
        ("The mode of the file was added in version 3.3.", "The mode of the file was added in version 3.7."),
        ("The rename of the file is atomic on this system.", "The rename of the file is atomic on this system."),
    ],
)
def test_what_can_both_hold_raises_no_alarm(first: str, second: str) -> None:
    assert differing(first, second) == ()


def test_one_origin_does_not_contradict_itself() -> None:
    assert (
        differing("The server listens on port 7420 in this setup.", "The server listens on port 7402 in this setup.", ("a", "a"))
        == ()
    )


def test_a_sentence_inside_a_longer_passage_is_compared_too() -> None:
    first = "Much is said before it here. The audit found that 25% of the citations were wrong. Much is said behind it."
    (pair,) = differing(first, "The audit found that 11% of the citations were wrong. Nothing else is said of the matter.")
    assert "25%" in pair.explanation
    assert "11%" in pair.explanation


def test_another_origin_that_says_the_same_confirms_a_fact() -> None:
    same = fact("A record survives a power cut only after fsync has returned.", "corpus:a.md")
    again = fact("A record survives a power cut only after fsync has returned.", "corpus:b.md")
    other = fact("The garden of the palace is open to visitors in summer.", "corpus:c.md")
    entries = validated(same, again, other)
    assert (entries[same.id].standing, entries[same.id].support) == ("corroborated", (again.id,))
    assert (entries[other.id].standing, entries[other.id].support) == ("single", ())
    assert entries[same.id].confidence > entries[other.id].confidence
    assert validated(same, again, origins={same.id: "x", again.id: "x"})[same.id].standing == "single"


PIECES = ["the", "pump", "of", "5", "ms", "not", "7,000.5", "%", "|", "-", "```", "."]
TEXT = st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join)


@settings(deadline=None)
@given(st.lists(TEXT, min_size=2, max_size=5, unique=True))
def test_any_facts_are_compared_and_each_has_one_entry(texts: list[str]) -> None:
    facts = tuple(fact(text, f"corpus:{place}.md") for place, text in enumerate(texts))
    origins = {entry.id: entry.url for entry in facts}
    assert set(validated(*facts)) == set(origins)
    pairs = cross_check(CrossCheckQuestion(query="q", groups=(facts,), origins=origins)).contradictions
    assert all({pair.a, pair.b} <= set(origins) and pair.a != pair.b for pair in pairs)


GUIDE = "Blocks are kept back for the administrator. {} They keep the system alive when the disk is full, as the guide explains."


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("The default percentage is 5%.", "The default percentage is 8%.", "number"),
        (
            "Checking by the count of mounts is enabled by default.",
            "Checking by the count of mounts is disabled by default.",
            "polarity",
        ),
        ("The package waits there for 5 days.", "The package waits there for 10 days.", "number"),
        ("The journal is replayed at the next mount.", "The journal is not replayed at the next mount.", "polarity"),
    ],
)
def test_a_copy_in_which_one_sentence_was_edited_contradicts_and_does_not_confirm(first: str, second: str, kind: str) -> None:
    (pair,) = differing(GUIDE.format(first), GUIDE.format(second))
    assert pair.kind == kind
    assert first.rstrip(".") in pair.explanation
    assert second.rstrip(".") in pair.explanation
    a, b = fact(GUIDE.format(first), "corpus:a.md"), fact(GUIDE.format(second), "corpus:b.md")
    assert [entry.standing for entry in validated(a, b).values()] == ["single", "single"]


def test_a_sentence_of_twelve_words_that_another_document_has_word_for_word_is_a_copy_and_confirms_nothing() -> None:
    a, b = (fact(GUIDE.format("The default percentage is 5%."), url) for url in ("corpus:a.md", "corpus:b.md"))
    b = b.model_copy(update={"id": "other"})
    assert [entry.standing for entry in validated(a, b).values()] == ["single", "single"]


def test_the_same_said_in_other_words_confirms() -> None:
    a = fact("The old server listens on port 7420 by default, and no other host may open it.", "corpus:a.md")
    b = fact("The old server listens by default on port 7420, and no other host may ever open it.", "corpus:b.md")
    assert [entry.standing for entry in validated(a, b).values()] == ["corroborated", "corroborated"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "To set a netlink option, call it with the level SOL_NETLINK. Unless otherwise noted, optval is a pointer to an int.",
            "To set a UDP option, call it with the level IPPROTO_UDP. Unless otherwise noted, optval is a pointer to an int.",
        ),
        ("The risk of the use of the PROGRAM is with you alone.", "The risk of the use of the LIBRARY is with you alone."),
        ("Use --quiet to leave the names of files out of output.", "Use --silent to leave the names of files out of output."),
        ("The following ioctl calls return information in value.", "The following ioctl calls return information in value."),
    ],
)
def test_what_is_said_of_another_option_or_announced_confirms_nothing(first: str, second: str) -> None:
    a, b = fact(first, "corpus:a.md"), fact(second, "corpus:b.md")
    b = b.model_copy(update={"id": "other"})
    assert [entry.standing for entry in validated(a, b).values()] == ["single", "single"]


def test_an_edit_in_a_sentence_with_a_condition_counts_only_where_both_texts_say_the_same_before_it() -> None:
    first, second = "The port of the server is 7420 if none is set.", "The port of the server is 7402 if none is set."
    assert len(differing(GUIDE.format(first), GUIDE.format(second))) == 1
    assert differing(f"One text begins so. {first}", f"Another has this beginning. {second}") == ()
    a, b = fact(GUIDE.format(first), "corpus:a.md"), fact(GUIDE.format(second), "corpus:b.md")
    assert [entry.standing for entry in validated(a, b).values()] == ["single", "single"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Takes a boolean. Defaults to false.", "Takes a boolean. Defaults to true."),
        ("Default value is 32.", "Default value is 1024."),
        ("The value for this option is silently capped to 15.", "The value for this option is silently capped to 30."),
    ],
)
def test_what_an_option_is_by_default_is_compared_only_under_one_heading_of_one_title(first: str, second: str) -> None:
    a, b = fact(first, "corpus:a.5"), fact(second, "corpus:b.5")
    here = {"path": ("journald.conf(5)", "Compress=")}
    a, same = (entry.model_copy(update=here) for entry in (a, b))
    elsewhere = b.model_copy(update={"path": ("journald.conf(5)", "Seal=")})
    other_page = b.model_copy(update={"path": ("timer(5)", "Compress=")})
    assert [len(_pairs_of(a, one)) for one in (same, elsewhere, other_page)] == [1, 0, 0]


def _pairs_of(*facts: Fact) -> tuple[Contradiction, ...]:
    origins = {entry.id: entry.url for entry in facts}
    return cross_check(CrossCheckQuestion(query="q", groups=(facts,), origins=origins)).contradictions


def test_two_sentences_that_several_passages_show_are_one_disagreement() -> None:
    first, second = (
        "The audit found that 25% of the citations were wrong.",
        "The audit found that 11% of the citations were wrong.",
    )
    facts = [fact(first, "corpus:a.md"), fact(f"{first} More follows here.", "corpus:a.md"), fact(second, "corpus:b.md")]
    assert len(_pairs_of(*facts)) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The written offer is valid for at least three years.", "The written offer is valid for at least five years."),
        ("The accuracy of the timer is 1min.", "The accuracy of the timer is 5min."),
        (
            "| package | accuracy | speed |\n|---|---|---|\n| charset-normalizer | 98 % | 100 file/sec |",
            "| package | accuracy | speed |\n|---|---|---|\n| charset-normalizer | 91 % | 100 file/sec |",
        ),
    ],
)
def test_numbers_in_words_with_their_unit_and_in_tables_are_figures_too(first: str, second: str) -> None:
    (pair,) = differing(first, second)
    assert pair.kind == "number"


def test_rows_of_one_wording_are_not_compared() -> None:
    levels = "The level 1 is quick and takes little memory. The level 2 is quick and takes little memory."
    assert not [one for one in edited(levels, levels.replace("level 2", "level 3")) if one.in_place]
    first, second = (
        "| level | size of it | time of it |\n|---|---|---|\n| level " + row
        for row in ("1 | 64 KiB | 5 s |", "2 | 64 KiB | 9 s |")
    )
    assert differing(first, second) == ()


def test_sentences_of_opposite_sense_do_not_confirm_each_other() -> None:
    a = fact("Asynchronous writes are allowed on the small volumes of the array.", "corpus:a.md")
    b = fact("On the volumes of the small array, asynchronous writes are forbidden.", "corpus:b.md")
    assert [entry.standing for entry in validated(a, b).values()] == ["single", "single"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The journal of ext3 is replayed at the next mount.", "The journal of ext4 is replayed at the next mount."),
        ("The client sends its greeting at the beginning.", "The server sends its greeting at the beginning."),
        ("The option -a enables the slow check.", "The option -A disables the slow check."),
        ("The default percentage is 5%.", "The default percentage is 5.0%."),
    ],
)
def test_names_sides_options_and_ways_to_write_a_figure_raise_no_alarm(first: str, second: str) -> None:
    assert differing(GUIDE.format(first), GUIDE.format(second)) == ()
