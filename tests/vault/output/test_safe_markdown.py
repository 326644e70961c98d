"""Sentences of a model, from its reply through the note to the page: text stays text, and what is hostile stays inert."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.values import Fact
from pipeline.research.report_text import read_sentence
from pipeline.vault.output.markdown import prose
from tests.site.scratch import read
from tests.vault.output.test_escaping import HOSTILE, anything
from tests.vault.scanner import scan

GIVEN = {"E": 20, "S": 4}  # the keys that the prompt gave out
QUOTE = (
    "Ollama listens at http://localhost:11434/v1 by default; see https://docs.example/a?b=c. Amazon S3 holds it; E4 is a node."
)

# What a model says, and how a page shows it, as HTML without the paragraph.
KEPT = (
    ("Set `work_mem` first.", "Set <code>work_mem</code> first."),
    ("`PRAGMA journal_mode=WAL;` turns it on.", "<code>PRAGMA journal_mode=WAL;</code> turns it on."),
    ("Run `ls | wc -l`.", "Run <code>ls | wc -l</code>."),
    ("Use ``a ` b``.", "Use ``a ` b``."),
    ("A `<b>` tag is text.", "A <code>&lt;b&gt;</code> tag is text."),
    ("`a` and `b`.", "<code>a</code> and <code>b</code>."),
    ("It is **durable**.", "It is <strong>durable</strong>."),
    ("It is *not* safe.", "It is <em>not</em> safe."),
    ("**`fsync`** matters.", "<strong><code>fsync</code></strong> matters."),
    ("**Two words** and *one*.", "<strong>Two words</strong> and <em>one</em>."),
    ("It takes $O(n \\log n)$ steps.", 'It takes <span class="math">O(n \\log n)</span> steps.'),
    ("There are $2^{32}$ of them.", 'There are <span class="math">2<sup>32</sup></span> of them.'),
    ("With $x$ given, it ends.", 'With <span class="math">x</span> given, it ends.'),
    ("$\\frac{a}{b}$ is the ratio.", '<span class="math">\\frac{a}{b}</span> is the ratio.'),
    ("It costs $5 and $10.", "It costs $5 and $10."),
    ("It costs $5-$10 a month.", "It costs $5-$10 a month."),
    ("Set $HOME and $PATH.", "Set $HOME and $PATH."),
    ("2 * 3 * 4 is 24.", "2 * 3 * 4 is 24."),
    ("Both *.py and *.md files count.", "Both *.py and *.md files count."),
    ("Call __init__ and snake_case_name.", "Call __init__ and snake_case_name."),
    ("Ollama listens at http://localhost:11434/v1 by default.", "Ollama listens at http://localhost:11434/v1 by default."),
    ("See https://docs.example/a?b=c.", "See https://docs.example/a?b=c."),
    ("`http://localhost:11434/v1` is the base.", "<code>http://localhost:11434/v1</code> is the base."),
    ("A GPU (T4) suffices.", "A GPU (T4) suffices."),
    ("In the last quarter (Q4) it rose.", "In the last quarter (Q4) it rose."),
    ("The error (E220) means no memory.", "The error (E220) means no memory."),
    ("Error E220 means no memory.", "Error E220 means no memory."),
    ("Amazon S3 holds it.", "Amazon S3 holds it."),
    ("Node E4 holds it (E4).", "Node E4 holds it (E4)."),
    ("The P1 priority stays.", "The P1 priority stays."),
    ("It is in RFC 9309 [sic].", "It is in RFC 9309 [sic]."),
    ("A & B, 3 < 4 > 2.", "A &amp; B, 3 &lt; 4 &gt; 2."),
    ("1. is no list here.", "1. is no list here."),
    ("- nor is this.", "- nor is this."),
    ("C# and F# run.", "C# and F# run."),
    ("It rose by 5 % (~3 points).", "It rose by 5 % (~3 points)."),
    ("std::vector grows.", "std::vector grows."),
    ("`std::vector` grows.", "std::vector grows."),
    ("Names like `a_b` and `__init__` stay.", "Names like <code>a_b</code> and <code>__init__</code> stay."),
)
# Keys and addresses that only code may add.
REMOVED = (
    ("It holds 45 records [E5].", "It holds 45 records."),
    ("It holds [E5][E6] records.", "It holds records."),
    ("It is so [E5-E7].", "It is so."),
    ("It is **so** [E5].", "It is <strong>so</strong>."),
    ("Go to https://evil.example/?q=1 now.", "Go to now."),
)
# What Obsidian, Dataview, Templater, MathJax or a browser would obey; all of it is shown as words.
OBEYED = (
    "`= this.file`", "`$= dv.pages()`", "`<% tp.file.delete() %>`", "`[[Home]]`", "`a:: b`", "`%% x %%`",
    "$\\href{javascript:alert(1)}{x}$", "$\\require{html}$", "$\\class{x}{y}$", "$\\style{color:red}{y}$", "$\\unicode{x41}$",
    "**[[Home]]**", "*<script>alert(1)</script>*", "**![x](https://evil.example)**", "*#tag*", "**key:: value**", "$a %% b$",
    "**<% evil %>**", "_[a](obsidian://x)_", "$x^{[[a]]}$", "`dataviewjs`", "*`= x`*", "**a** ^block-id", "`{{date}}`",
)  # fmt: skip


def said(text: str) -> str:
    fact = Fact(id="f", claim=QUOTE, quote=QUOTE, url="corpus:a.md", digest="d")
    one = read_sentence(f"{text} [E1]" if "http" in text else text, {"E1": fact})
    return one.text if one else ""


def page_of(text: str) -> str:
    return read(f"{prose(said(text))}\n").html.strip().removeprefix("<p>").removesuffix("</p>")


@pytest.mark.parametrize(("text", "shown"), [*KEPT, *REMOVED])
def test_a_sentence_reads_on_the_page_as_it_was_said(text: str, shown: str) -> None:
    assert page_of(text) == shown


@pytest.mark.parametrize("text", [*HOSTILE, *OBEYED])
def test_a_hostile_sentence_does_nothing_in_the_note_and_nothing_on_the_page(text: str) -> None:
    note = f"before {prose(text)} after"
    found = scan(note)
    assert not any((found.links, found.embeds, found.addresses, found.images, found.tags, found.blocks)), note
    assert not any((found.fences, found.html, found.headings, found.callouts)), note
    assert not re.search(r"<%|%>|%%|::|(?<!\\)`\s*\$?=", note), note
    shown = read(f"{note}\n").html
    assert set(re.findall(r"</?([a-z]+)", shown)) <= {"p", "code", "strong", "em", "span", "sub", "sup"}, shown


@given(anything, st.sampled_from(["**{}**", "*{}*", "`{}`", "${}$", "{}", "a **{}** b `{}`"]))
def test_whatever_stands_between_marks_does_nothing(text: str, form: str) -> None:
    note = f"before {prose(form.replace('{}', text))} after"
    found = scan(re.sub(r"(?<![\\`])`[^`]+`", "C", note))  # what stands in code is inert
    assert not any((found.links, found.embeds, found.images, found.tags, found.blocks, found.fences)), note
    assert not re.search(r"<%|%>|%%|::|\n", note), note


@given(anything)
def test_every_word_is_kept(text: str) -> None:
    shown = unescape(re.sub(r"<[^>]+>", "", read(f"x {prose(text)} y\n").html))
    for word in re.findall(r"[^\W_]{2,}", re.sub(r"&(?:#\d+|lt);", " ", prose(text))):
        assert word in shown, (text, shown)


def test_in_a_table_a_bar_in_code_does_not_end_the_cell() -> None:
    table = f"| a | b |\n| --- | --- |\n| {prose('`x | y`', cell=True)} | {prose('p | q', cell=True)} |\n"
    assert "<td><code>x | y</code></td>\n<td>p | q</td>" in re.sub(r"\s*\n\s*", "\n", read(table).html)


def test_a_colon_before_code_stays_a_colon() -> None:
    assert prose("Two settings: `wal_level` and `archive_mode`.") == "Two settings: `wal_level` and `archive_mode`."
