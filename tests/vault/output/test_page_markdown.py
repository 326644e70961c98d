"""Whole passages as quotes in a report, in its sources and in the notes of its workers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.values import Paragraph, ReportSection, Sentence
from pipeline.text.page_format import blocks
from pipeline.vault.output.escaping import Link, fenced
from pipeline.vault.output.page_markdown import blocks_of, cells, claim_beside, flat, is_plain, markdown, within
from pipeline.vault.paths import block_id
from tests.fakes import MemoryStore
from tests.vault import links
from tests.vault.builders import Story, Workplace
from tests.vault.scanner import body_of, scan

MARK = Link("sources/s", "¹", "q-1")
TABLE = "| Method | Survives |\n| fsync | yes |\n| none | no |"
CODE = "To do it:\n\n```\nfor x in y:\n    print(x)\n```"


def test_a_passage_of_prose_ends_in_its_number() -> None:
    assert markdown("Logs grow.", mark=MARK) == "Logs grow.[[sources/s#^q-1|¹]]"


def test_paragraphs_and_lists_keep_their_form() -> None:
    text = "Three rules:\n\n- Write at the end.\n- Sync.\n\nThat is all."
    assert markdown(text, mark=MARK) == ("Three rules:\n\n- Write at the end.\n- Sync.\n\nThat is all.[[sources/s#^q-1|¹]]")


def test_a_table_has_its_first_row_as_header_and_its_number_in_the_last_cell() -> None:
    assert markdown(TABLE, mark=MARK).split("\n") == [
        "| Method | Survives |",
        "| --- | --- |",
        "| fsync | yes |",
        "| none | no[[sources/s#^q-1\\|¹]] |",
    ]


def test_a_table_whose_header_is_its_lead_gets_it() -> None:
    assert markdown("| none | no |", "| Method | Survives |").split("\n")[0] == "| Method | Survives |"


def test_a_line_that_introduces_a_list_stands_before_it_and_left_out_items_are_marked() -> None:
    assert markdown("- Sync.", "Two rules:") == "Two rules:\n\n- \\[…\\]\n- Sync."
    assert markdown("- Sync.", "fsync") == "fsync\n\n- Sync."


def test_a_list_that_breaks_off_is_marked() -> None:
    assert markdown("- You must sync; and") == "- You must sync; and \\[…\\]"
    assert markdown("- You must sync.") == "- You must sync."


def test_only_a_colon_that_a_link_or_another_colon_may_join_is_hidden() -> None:
    assert markdown("Two:\n\nWe ask:", mark=MARK) == "Two:\n\nWe ask&#58;[[sources/s#^q-1|¹]]"
    assert markdown("- One:\n- Two:") == "- One:\n- Two&#58;"
    assert "::" not in markdown("- key::\n- b", "lead::")


def test_rows_of_unequal_length_are_filled_up() -> None:
    assert markdown("| a | b | c |\n| d |").split("\n")[-1] == "| d |  |  |"


def test_code_is_in_a_fence_and_its_number_below() -> None:
    assert markdown(CODE, mark=MARK).split("\n")[2:] == ["```", "for x in y:", "    print(x)", "```", "", "[[sources/s#^q-1|¹]]"]


def test_code_that_was_cut_off_from_its_fence_is_code_again() -> None:
    assert [block.kind for block in blocks_of("    if torn:\n        break\n    go_on()")] == ["code"]
    assert [block.kind for block in blocks_of("One line\nand another.")] == ["paragraph"]


def test_a_fence_is_longer_than_any_inside_and_names_no_language() -> None:
    assert fenced("````\nx\n````")[0] == fenced("````\nx\n````")[-1] == "`````"
    assert fenced("a <% tp %>")[1] == "a <\u200b% tp %>"


def test_a_quote_on_one_line_has_no_signs_of_lists_tables_and_code() -> None:
    assert flat(TABLE) == "Method · Survives; fsync · yes; none · no"
    assert flat("Rules:\n\n- a\n- b") == "Rules: a; b"
    assert flat("- It waits.\n- It is sent;\n- then kept") == "It waits. It is sent; then kept"
    assert flat("- EAGAIN: Wait. (See below.)\n- ENOMEM: None is left.\n- EPERM: not\n- EIO;") == (
        "EAGAIN: Wait. (See below.) ENOMEM: None is left. EPERM: not; EIO"
    )
    assert flat(CODE) == "To do it: for x in y: print(x)"
    assert flat("One. Two.") == "One. Two."
    assert len(flat("word " * 400, 100)) <= 100


def test_a_claim_that_is_its_quote_is_not_said_twice() -> None:
    assert claim_beside("Rules: - a - b", "Rules:\n\n- a\n- b") == ""
    assert claim_beside("There are rules.", "Rules: a.") == "There are rules."


def test_one_paragraph_is_plain_and_all_else_is_not() -> None:
    assert is_plain("Logs grow.")
    assert not any(map(is_plain, ("- item", "| a | b |", "a\n\nb", "```\nx\n```")))


def test_cells_are_told_apart_by_bars_with_blanks() -> None:
    assert cells("| a|b | c |") == ["a|b", "c"]


def test_lines_inside_quotes_have_their_signs_and_no_blanks_behind_them() -> None:
    assert within("a\n\nb", "> >") == "> > a\n> >\n> > b"


HOSTILE = (
    "```\n````\n```dataviewjs\ndv.pages()\n```",
    "| a ]] | [[Home|x]] |\n| %% | <% tp %> |",
    "%% begin notes %%\n\n- %% end notes %%",
    "<script>alert(1)</script>",
    "text ^id\n\n^q-1",
    "---\n\n- [ ] task\n- > [!success] Verified",
    "- ![[Home]]\n- `= this.file`\n- #tag",
    "# heading\n\n===",
    "```\n%% begin notes %%\n[[Home]] <% x %>",
    "| only |",
    "|  |  |",
    "- ",
)
anything = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text()), min_size=1, max_size=3).map("\n\n".join)


@given(anything, anything)
def test_a_passage_does_nothing_in_a_vault(text: str, lead: str) -> None:
    written = within(markdown(text, lead, MARK), ">")
    assert all(line.startswith(">") for line in written.split("\n"))
    found = scan(written)
    assert {target for target, _ in found.links} <= {"sources/s#^q-1"}
    assert not any(
        (found.embeds, found.images, found.tags, found.html, found.maths, found.blocks, found.callouts, found.headings)
    )
    assert all(set(fence) == {"`"} for fence in found.fences)
    assert not re.search("<%", written)


@pytest.mark.parametrize("sign", ["- ", "| ", "`", "\n", "```\n", " | "])
def test_a_long_passage_is_read_in_linear_time(sign: str) -> None:
    assert len(markdown(sign * 50_000)) < 2_000_000


def told(store: MemoryStore, *texts: str, **report: object) -> Story:
    """A story whose report is made of whole passages, one a paragraph; the summary is the first of them."""
    story = Story(store)
    story.facts = tuple(  # type: ignore[assignment]  # as many as before
        fact.model_copy(update={"quote": text, "claim": text, "path": (f"Title {fact.url[-5:]}", "Chapter", f"Part {number}")})
        for number, (fact, text) in enumerate(zip(story.facts, [*texts, *["Logs grow."] * 9], strict=False))
    )
    story.begin().planned().gathered().analysed()
    note = story.scribe.note

    def passages(*events: object) -> None:
        note(*(_of_passages(story, event, report) for event in events))  # type: ignore[arg-type]  # any event

    story.scribe.note = passages  # type: ignore[method-assign,assignment]  # what `reported` notes is changed on its way
    return story.reported()


def _of_passages(story: Story, event: object, report: dict[str, object]) -> object:
    from pipeline.domain.events import session_events as e

    if not isinstance(event, e.ReportGenerated):
        return event
    said = [Sentence(text=fact.quote, facts=(fact.id,)) for fact in story.facts[:4]]
    section = event.sections[0].model_copy(
        update={"paragraphs": tuple(Paragraph(sentences=(sentence,), kind="passages") for sentence in said)}
    )
    return event.model_copy(update={"summary": tuple(said[:2]), "sections": (section,), **report})


def report_of(root: Path, *texts: str, **report: object) -> str:
    store = MemoryStore()
    told(store, *texts, **report)
    place = Workplace(root, store)
    assert place.build().problems == ()
    files = {name: data.decode() for name, data in place.files().items()}
    assert links.leading_nowhere(files) == []
    return body_of(place.note("reports/").read_text())


def test_a_report_shows_each_passage_as_a_quote_with_one_number_and_its_place(tmp_path: Path) -> None:
    body = report_of(tmp_path, "A log grows.", TABLE)
    quotes = body.partition("## What fsync does")[2].partition("## ")[0].strip().split("\n\n")
    assert all(line.startswith(">") for quote in quotes for line in quote.split("\n"))
    assert all(len(re.findall(r"\|[¹²³]+\]\]", quote)) == 1 for quote in quotes)
    assert "independent" not in body
    assert re.search(
        r"^> A log grows\.\n>\n> — \[\[[^\]]+\|¹\]\] \[\[[^\]]+#\^q-[^\]]+\|Title [^›]+ › Chapter › Part 0\]\]",
        quotes[0],
    )
    assert "> | Method | Survives |\n> | --- | --- |" in quotes[1]


def test_the_title_is_left_out_below_a_passage_of_the_same_source(tmp_path: Path) -> None:
    body = report_of(tmp_path, "A log grows.", "It never shrinks.")
    places = re.findall(r"> — \[\[[^\]]+\]\] \[\[[^|\]]+\|([^\]]+)\]\]", body)
    assert places[0].startswith("Title ")
    assert places[1] == "Chapter › Part 1"


def test_the_answer_holds_its_passages_each_with_its_place(tmp_path: Path) -> None:
    body = report_of(tmp_path, "A log grows.", "Rules:\n\n- Sync.")
    answer = body.partition("> [!abstract] In short\n")[2].partition("\n\n")[0].split("\n")
    assert answer[0] == "> > A log grows."
    assert answer[2].startswith("> > — [[")
    assert answer[4:6] == ["> > - [ ] useful", "> > - [ ] wrong"]
    assert [line for line in answer if line == ">"] == [">"]
    assert answer[7:9] == ["> > Rules:", "> >"]
    assert answer[9] == "> > - Sync."
    assert answer[11].startswith("> > — [[")


def test_a_passage_that_another_source_holds_too_leads_to_that_source_s_own_quote(tmp_path: Path) -> None:
    one, _, other, *_ = Story(MemoryStore()).facts
    assert one.url != other.url
    said = Sentence(text="A log grows.", facts=(one.id, other.id))
    section = ReportSection(id="section_1", title="Growth", paragraphs=(Paragraph(sentences=(said,), kind="passages"),))
    body = report_of(tmp_path, "A log grows.", sections=(section,))
    assert re.findall(r" · also in \[\[[^#\]]+#\^([^|\]]+)\|", body) == [block_id(other.id)]


def test_what_the_sources_disagree_on_stands_before_the_sections(tmp_path: Path) -> None:
    body = report_of(tmp_path, "A log grows.")
    assert body.index("## Sources disagree") < body.index("## What fsync does")


def test_a_quote_of_several_lines_has_its_form_in_source_and_worker_notes(tmp_path: Path) -> None:
    report_of(tmp_path, TABLE, CODE)
    source = "".join(path.read_text() for path in (tmp_path / "vault" / "sources").rglob("*.md"))
    workers = "".join(path.read_text() for path in (tmp_path / "vault" / "workers").rglob("*.md"))
    assert "> > | fsync | yes |" in source
    assert re.search(r"> > \| none \| no \|\n(?:>[^\n]*\n)*\n\^q-", source)
    assert ">   > | fsync | yes |" in workers
    assert ">   > ```\n>   > for x in y:\n>   >     print(x)\n>   > ```" in workers


def test_hostile_passages_change_nothing_that_notes_do(tmp_path: Path) -> None:
    report_of(tmp_path, *HOSTILE[:5])
    for path in (tmp_path / "vault").rglob("*.md"):
        if path.parent.name == "my":
            continue
        text = path.read_text()
        assert len(re.findall(r"(?m)^%% (?:begin|end) notes %%$", text)) == 2, path
        assert "<%" not in text
        found = scan(body_of(text))
        assert not any((found.html, found.tags, found.images)), path
        assert {fence.strip("`") for fence in found.fences} <= {"", "base", "mermaid", "yaml"}


def test_page_blocks_and_passages_have_the_same_kinds() -> None:
    assert [block.kind for block in blocks(CODE)] == [block.kind for block in blocks_of(CODE)]
