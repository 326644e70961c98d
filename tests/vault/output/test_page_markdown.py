"""Whole passages as quotes in a report, in its sources and in the notes of its workers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.values import Paragraph, Sentence
from pipeline.vault.output.markdown import flat, markdown, within
from tests.fakes import MemoryStore
from tests.vault import links
from tests.vault.builders import Story, Workplace
from tests.vault.scanner import body_of, scan

TABLE = "| Method | Survives |\n| fsync | yes |\n| none | no |"
CODE = "To do it:\n\n```\nfor x in y:\n    print(x)\n```"


def test_a_table_has_its_first_row_as_header() -> None:
    assert markdown(TABLE).split("\n") == ["| Method | Survives |", "| --- | --- |", "| fsync | yes |", "| none | no |"]


def test_a_line_that_introduces_a_list_stands_before_it_and_left_out_items_are_marked() -> None:
    assert markdown("- Sync.", "Two rules:") == "Two rules:\n\n- \\[…\\]\n- Sync."
    assert markdown("- Sync.", "fsync") == "fsync\n\n- Sync."


def test_only_a_colon_that_another_colon_may_join_is_hidden() -> None:
    assert markdown("- One:\n- Two:") == "- One:\n- Two:"
    assert "::" not in markdown("- key::\n- b", "lead::")


def test_code_is_in_a_fence() -> None:
    assert markdown(CODE).split("\n")[2:] == ["```", "for x in y:", "    print(x)", "```"]


def test_the_end_of_long_code_is_code_though_its_beginning_is_in_another_passage() -> None:
    assert markdown("$ one\n\n$ two\n```\n\nText.") == "```\n$ one\n\n$ two\n```\n\nText."


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
    written = within(markdown(text, lead), ">")
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
        r"^> A log grows\.\n>\n> — \[\[[^\]]+\|¹\]\] \[\[[^\]]+#\^q-[^\]]+\|Title [^›]+ › Chapter › Part 0\]\]", quotes[0]
    )
    assert "> | Method | Survives |\n> | --- | --- |" in quotes[1]
