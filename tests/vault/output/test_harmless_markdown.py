"""Quotes and sentences as Markdown of a note."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.vault.output.harmless_markdown import markdown, prose, within
from tests.site.scratch import read
from tests.vault.output.test_escaping import HOSTILE, anything
from tests.vault.scanner import fields, scan

PASSAGES = (
    "```\n````\n```dataviewjs\ndv.pages()\n```", "| a ]] | [[Home|x]] |\n| %% | <% tp %> |",
    "%% begin notes %%\n\n- %% end notes %%", "<script>alert(1)</script>", "text ^id\n\n^q-1",
    "---\n\n- [ ] task\n- > [!success] Verified", "- ![[Home]]\n- `= this.file`\n- #tag", "# heading\n\n===",
    "| only |", "|  |  |", "- ",
)  # fmt: skip
passages = st.lists(st.one_of(st.sampled_from(PASSAGES), st.text()), min_size=1, max_size=3).map("\n\n".join)


@given(passages, passages)
@example("```\n%% begin notes %%\n[[Home]] <% x %>", "")
def test_a_passage_does_nothing_in_a_vault(text: str, lead: str) -> None:
    written = within(markdown(text, lead), ">")
    assert all(line.startswith(">") for line in written.split("\n"))
    found = scan(written)
    assert not any((found.links, found.embeds, found.images, found.tags, found.html, found.maths)), written
    assert not any((found.blocks, found.callouts, found.headings)), written
    assert all(set(fence) == {"`"} for fence in found.fences)
    assert not re.search("<%", written)


@pytest.mark.parametrize("sign", ["- ", "| ", "`", "\n", "```\n", " | "])
def test_a_long_passage_is_read_in_linear_time(sign: str) -> None:
    assert len(markdown(sign * 50_000)) < 2_000_000


# What Obsidian, Dataview, Templater, MathJax or a browser would obey; all of it is shown as words.
OBEYED = (
    "`= this.file`", "`$= dv.pages()`", "`<% tp.file.delete() %>`", "`[[Home]]`", "`a:: b`", "`%% x %%`",
    "$\\href{javascript:alert(1)}{x}$", "$\\require{html}$", "$\\class{x}{y}$", "$\\style{color:red}{y}$", "$\\unicode{x41}$",
    "**[[Home]]**", "*<script>alert(1)</script>*", "**![x](https://evil.example)**", "*#tag*", "**key:: value**", "$a %% b$",
    "**<% evil %>**", "_[a](obsidian://x)_", "$x^{[[a]]}$", "`dataviewjs`", "*`= x`*", "**a** ^block-id", "`{{date}}`",
    "(`a:: b`)", "[see `a` and `b::c`]", "`f(a::b, c::d)`",
)  # fmt: skip


@pytest.mark.parametrize("text", [*HOSTILE, *OBEYED])
def test_a_hostile_sentence_does_nothing_in_the_note_and_nothing_on_the_page(text: str) -> None:
    note = f"before {prose(text)} after"
    found = scan(note)
    assert not any((found.links, found.embeds, found.addresses, found.images, found.tags, found.blocks)), note
    assert not any((found.fences, found.html, found.headings, found.callouts)), note
    assert not re.search(r"<%|%>|%%|(?<!\\)`\s*\$?=", note), note
    assert not fields(f"{note}\n{prose(text)}"), note
    shown = read(f"{note}\n").html
    assert set(re.findall(r"</?([a-z]+)", shown)) <= {"p", "code", "strong", "em", "span", "sub", "sup"}, shown


@given(anything, st.sampled_from(["**{}**", "*{}*", "`{}`", "${}$", "{}", "a **{}** b `{}`"]))
def test_whatever_stands_between_marks_does_nothing(text: str, form: str) -> None:
    note = f"before {prose(form.replace('{}', text))} after"
    found = scan(re.sub(r"(?<![\\`])`[^`]+`", "C", note))  # what stands in code is inert
    assert not any((found.links, found.embeds, found.images, found.tags, found.blocks, found.fences)), note
    assert not re.search(r"<%|%>|%%|\n", note), note
    assert not fields(f"{note}\n{prose(form.replace('{}', text))}"), note


@given(anything)
def test_every_word_is_kept(text: str) -> None:
    shown = unescape(re.sub(r"<[^>]+>", "", read(f"x {prose(text)} y\n").html))
    for word in re.findall(r"[^\W_]{2,}", re.sub(r"&(?:#\d+|lt);", " ", prose(text))):
        assert word in shown, (text, shown)
