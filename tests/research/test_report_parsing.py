"""A model's Markdown becomes sentences that cite facts: keys, tables, steps around code, the last line, and what is not kept."""

from __future__ import annotations

import pytest

from pipeline.domain.events.session_events import ReportRevised
from pipeline.domain.report_draft import joined_again, kept_text
from pipeline.domain.research_values import Addition, Fact, Sentence, Verdict
from pipeline.domain.session_state import ReportPart, SessionState
from pipeline.domain.steps import MendReport
from pipeline.research.report_parsing import BEYOND, read_report, read_sentence, unmarked
from pipeline.research.writing import mend_report

QUOTES = {"E1": "Stop the server first.", "E2": "Then run pg_ctl start.", "E3": "See https://example.org/docs for more."}
FACTS = {key: Fact(id=f"id-{key}", claim=quote, quote=quote, url="corpus:a.md", digest="0" * 64) for key, quote in QUOTES.items()}

REPORT = """- What to do
- What it costs

# How to restart

Stop it first [E1].

## What to do

1. Stop the server. [E1]
2. Start it again:

   ```
   pg_ctl start
     -D data
   ```
   [E2]
3. Look at the log [E1, E9].

## What it costs

| Way | Price | Time |
| --- | --- | --- |
| restart | nothing [E1] | a minute [E2] |
| wait | ∴ more [E1] | |

answered in part: nothing says how long `restart` takes
"""


def _sentences(text: str) -> list[Sentence]:
    written = read_report(text, FACTS)
    return [one for section in written.sections for paragraph in section.paragraphs for one in paragraph.sentences]


def test_a_report_is_read_into_its_parts() -> None:
    written = read_report(REPORT, FACTS)
    assert [section.id for section in written.sections] == ["summary", "section_2", "section_3"]
    assert [section.title for section in written.sections] == ["How to restart", "What to do", "What it costs"]
    assert (written.outcome, written.lacks) == ("in-part", "nothing says how long restart takes")


def test_steps_go_on_behind_code_that_stands_between_them() -> None:
    blocks = read_report(REPORT, FACTS).sections[1].paragraphs
    assert [(block.form, block.start, len(block.sentences)) for block in blocks] == [
        ("steps", 1, 2),
        ("code", 1, 1),
        ("steps", 3, 1),
    ]
    assert blocks[1].sentences[0].text == "pg_ctl start\n  -D data"
    assert blocks[1].sentences[0].facts == ("id-E2",)


def test_the_steps_of_a_later_section_count_on_from_those_before_with_what_the_check_added_or_cut() -> None:
    text = "## A\n\n1. Stop it [E1].\n2. Wait [E1].\n3. Start it [E2].\n\n## B\n\n3. Look [E1].\n\n## C\n\n1. Wait [E1].\n"
    part = ReportPart(read_report(text, FACTS, begins=False).sections, checked=True)
    sections, _ = kept_text(SessionState(parts={1: part}))
    assert [paragraph.start for section in sections for paragraph in section.paragraphs] == [1, 4, 1]


def test_a_key_that_was_not_given_out_is_kept_as_unknown() -> None:
    last = read_report(REPORT, FACTS).sections[1].paragraphs[-1].sentences[0]
    assert (last.facts, last.unknown) == (("id-E1",), ("E9",))


def test_each_cell_of_a_table_keeps_what_it_cites() -> None:
    table = read_report(REPORT, FACTS).sections[2].paragraphs[0]
    assert table.header == ("Way", "Price", "Time")
    first, second = table.sentences
    assert (first.cells, first.cell_facts) == (("restart", "nothing", "a minute"), ((), ("id-E1",), ("id-E2",)))
    assert (first.facts, first.text) == (("id-E1", "id-E2"), "Way: restart; Price: nothing; Time: a minute")
    assert (second.basis, second.cells) == ("derived", ("wait", "more ∴", ""))


def test_a_cell_without_words_keeps_its_sign_and_its_keys() -> None:
    table = "| A | B | C |\n| --- | --- | --- |\n| x [E1] | ∴ [E2] | – |\n| y | ✓ [E3] | https://evil.example |\n"
    first, second = _sentences(f"# T\n\n{table}")
    assert (first.cells, first.cell_facts, first.basis) == (("x", "∴", "–"), (("id-E1",), ("id-E2",), ()), "derived")
    assert (second.cells, second.cell_facts) == (("y", "✓", ""), ((), ("id-E3",), ()))


def test_an_address_that_no_cited_quote_has_leaves_a_gap_that_is_seen() -> None:
    said = "Look at https://evil.example/x now [E1]. See https://example.org/docs/ [E3]. ∴ `curl https://<your host>/` [E3]."
    plain, quoted, filled = _sentences(f"# T\n\n{said}\n")
    assert plain.text == "Look at […] now."
    assert filled.text == "`curl https://<your host>/`."  # no address until the user fills it in
    assert "https://example.org/docs/" in quoted.text


def test_what_a_model_knows_itself_is_marked_as_that_only_where_it_was_asked_for() -> None:
    text = f"# T\n\nStop it [E1].\n\n## {BEYOND}\n\n- Most people wait a minute.\n"
    asked = read_report(text, FACTS, beyond=True).sections[-1].paragraphs[0].sentences[0]
    assert asked.basis == "beyond"
    assert _sentences(text)[-1].basis == "bridge"


def test_a_new_item_loses_its_mark_and_no_number_of_its_own() -> None:
    assert unmarked("3. 32-bit builds stop") == "32-bit builds stop"
    assert unmarked(" - 2.5 GB are enough") == "2.5 GB are enough"
    one = read_sentence("Stop it. [E1] Then start it [E2].", FACTS)
    assert one is not None
    assert one.facts == ("id-E1", "id-E2")


def test_the_sentences_of_an_item_stay_apart_and_lists_inside_it_stay_lists() -> None:
    item = "1. Stop the server [E1]. Nothing says how long it takes."
    text = f"# T\n\n{item}\n   - with pg_ctl [E2]\n   - or by hand [E1]\n2. Wait [E1].\n"
    (steps,) = read_report(text, FACTS).sections[0].paragraphs
    assert [(one.text, one.within, one.facts) for one in steps.sentences] == [
        ("Stop the server.", "", ("id-E1",)),
        ("Nothing says how long it takes.", "item", ()),
        ("with pg_ctl", "list", ("id-E2",)),
        ("or by hand", "list", ("id-E1",)),
        ("Wait.", "", ("id-E1",)),
    ]
    kept = [None, *steps.sentences[1:]]
    assert [one.within for one in joined_again(steps.sentences, kept)] == ["", "list", "list", ""]
    kept = [None, None, *steps.sentences[2:]]
    assert [one.within for one in joined_again(steps.sentences, kept)] == ["", "", ""]


def test_a_list_goes_on_behind_the_code_inside_an_item() -> None:
    item = "1. Go back [E1].\n   - Pin it [E1]:\n\n   ```\n   Pin: x\n   ```\n\n"
    text = f"# T\n\n{item}   - Run it [E2].\n   - Wait [E2].\n2. Look [E1].\n"
    _, _, items, steps = read_report(text, FACTS).sections[0].paragraphs
    assert (items.form, [(one.text, one.within) for one in items.sentences]) == ("bullets", [("Run it.", ""), ("Wait.", "")])
    assert (steps.form, steps.start, items.start) == ("steps", 2, 2)
    assert [one.form for one in read_report("# T\n\n - Pin it [E1].\n1. Look [E1].\n", FACTS).sections[0].paragraphs] == [
        "bullets",
        "steps",
    ]


@pytest.mark.parametrize("behind", ["[E1]", "[E1] It waits [E2].", "[E1] It waits."])
def test_keys_that_begin_the_line_behind_code_are_the_code_s(behind: str) -> None:
    code, *after = read_report(f"# T\n\n```\nstop\n```\n{behind}\n", FACTS).sections[0].paragraphs
    assert (code.form, code.sentences[0].facts) == ("code", ("id-E1",))
    assert [one.sentences[0].facts[0] for one in after] == ["id-E1"] * behind.count("waits")


def test_a_stop_inside_code_ends_no_sentence_and_keys_at_the_end_of_an_item_are_those_of_all_of_it() -> None:
    text = "# T\n\nRun `ALTER x ... REFRESH` and `a. B` [E1]. Then wait [E2].\n\n- Stop it. Then `b ... c` it [E2].\n- Wait.\n"
    prose, items = read_report(text, FACTS).sections[0].paragraphs
    assert [one.text for one in prose.sentences] == ["Run `ALTER x ... REFRESH` and `a. B`.", "Then wait."]
    assert [(one.text, one.within, one.facts) for one in items.sentences] == [
        ("Stop it.", "", ("id-E2",)),
        ("Then `b ... c` it.", "item", ("id-E2",)),
        ("Wait.", "", ()),
    ]


def test_a_bar_in_the_code_of_a_cell_ends_none() -> None:
    table = "| Language | Code |\n| --- | --- |\n| German | `de | deutsch` [E1] |\n"
    (row,) = [one for one in _sentences(f"# T\n\n{table}") if one.cells]
    assert (row.cells, row.facts) == (("German", "`de | deutsch`"), ("id-E1",))


def test_behind_a_citation_a_stop_ends_a_sentence_whatever_sign_the_next_begins_with() -> None:
    said = "∴ Stop it [E1]. systemd's page says. [E2] Of `a.b` [E1]. `c` waits [E2]."
    found = read_report(f"# T\n\n{said}\n", FACTS).sections[0]
    assert [(one.text, one.basis) for one in found.paragraphs[0].sentences] == [
        ("Stop it.", "derived"),
        ("systemd's page says.", "quoted"),
        ("Of `a.b`.", "quoted"),
        ("`c` waits.", "quoted"),
    ]
    one = read_sentence("∴ **So.** It ends [E1].", FACTS)
    assert one is not None
    assert one.basis == "derived"


@pytest.mark.parametrize(
    ("code_now", "is_now"),
    [("∴ `pg_ctl halt` [E2].", "pg_ctl halt"), ("```sh\npg_ctl halt\n  -m fast\n``` [E2]", "pg_ctl halt\n  -m fast")],
)
def test_an_item_that_the_check_adds_behind_a_heading_begins_the_list_and_code_that_it_changes_stays_code(
    code_now: str, is_now: str
) -> None:
    text = "# T\n\nAll [E1].\n\n## Do\n\n1. Stop it [E1]:\n\n   `pg_ctl stop`\n\n2. Look [E1].\n\n## Why\n\nSo [E2].\n"
    text += "\n| a |\n|---|\n| b [E1] |\n"
    part = ReportPart(
        read_report(text, FACTS).sections,
        verdicts={4: Verdict(sentence=4, supported=False, text=code_now)},
        additions=(
            Addition(after=2, text="- First ask [E1]."),
            Addition(after=4, text="It waits [E1]."),
            Addition(after=6, text="- Not now [E1]."),
            Addition(after=8, text="It is [E2]."),
        ),
    )
    state = SessionState(facts={fact.id: fact for fact in FACTS.values()}, parts={1: part})
    (revised,) = mend_report(MendReport(1), state).drafts
    assert isinstance(revised, ReportRevised)
    steps, code, waits, _, why, _, table, below = [
        paragraph for section in revised.sections[1:] for paragraph in section.paragraphs
    ]
    assert (steps.form, [one.text for one in steps.sentences]) == ("steps", ["First ask.", "Stop it:"])
    assert (code.form, [one.text for one in code.sentences]) == ("code", [is_now])
    assert (waits.form, waits.sentences[0].text) == ("paragraph", "It waits.")
    assert (why.form, why.sentences[0].text) == ("bullets", "Not now.")
    assert (len(table.sentences), below.form, below.sentences[0].text) == (1, "paragraph", "It is.")
