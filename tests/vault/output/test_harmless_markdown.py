"""Quotes and sentences as Markdown of a note."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.domain.values import Fact
from pipeline.research.report_parsing import read_sentence
from pipeline.vault.output.harmless_markdown import flat, markdown, prose, within
from tests.site.scratch import read
from tests.vault.output.test_escaping import HOSTILE, anything
from tests.vault.scanner import fields, scan

TABLE = "| Method | Survives |\n| fsync | yes |\n| none | no |"
CODE = "To do it:\n\n```\nfor x in y:\n    print(x)\n```"


@pytest.mark.parametrize(
    ("passage", "lead", "made"),
    [
        ("- Sync.", "Two rules:", "Two rules:\n\n- \\[…\\]\n- Sync."),
        ("- Sync.", "fsync", "fsync\n\n- Sync."),
        ("- One:\n- Two:", "", "- One:\n- Two:"),
        (CODE, "", CODE),
        ("$ one\n\n$ two\n```\n\nText.", "", "```\n$ one\n\n$ two\n```\n\nText."),  # the end of long code
    ],
)
def test_a_passage_keeps_its_table_its_list_with_what_introduces_it_and_its_code(passage: str, lead: str, made: str) -> None:
    assert markdown(passage, lead) == made


def test_a_quote_on_one_line_has_no_signs_of_lists_tables_and_code() -> None:
    assert flat(TABLE) == "Method · Survives; fsync · yes; none · no"
    assert flat("Rules:\n\n- a\n- b") == "Rules: a; b"
    assert flat("- It waits.\n- It is sent;\n- then kept") == "It waits. It is sent; then kept"
    assert flat("- EAGAIN: Wait. (See below.)\n- ENOMEM: None is left.\n- EPERM: not\n- EIO;") == (
        "EAGAIN: Wait. (See below.) ENOMEM: None is left. EPERM: not; EIO"
    )
    assert flat(CODE) == "To do it: for x in y: print(x)"
    assert flat("One. Two.") == "One. Two."


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
    ("**`fsync`** matters.", "<strong><code>fsync</code></strong> matters."),
    ("**Two words** and *one*.", "<strong>Two words</strong> and <em>one</em>."),
    ("It takes $O(n \\log n)$ steps.", 'It takes <span class="math">O(n \\log n)</span> steps.'),
    ("There are $2^{32}$ of them.", 'There are <span class="math">2<sup>32</sup></span> of them.'),
    ("$\\frac{a}{b}$ is the ratio.", '<span class="math">\\frac{a}{b}</span> is the ratio.'),
    ("It costs $5-$10 a month.", "It costs $5-$10 a month."),
    ("Set $HOME and $PATH.", "Set $HOME and $PATH."),
    ("2 * 3 * 4 is 24.", "2 * 3 * 4 is 24."),
    ("Call __init__ and snake_case_name.", "Call __init__ and snake_case_name."),
    ("Ollama listens at http://localhost:11434/v1 by default.", "Ollama listens at http://localhost:11434/v1 by default."),
    ("`http://localhost:11434/v1` is the base.", "<code>http://localhost:11434/v1</code> is the base."),
    ("The error (E220) means no memory.", "The error (E220) means no memory."),
    ("It is in RFC 9309 [sic].", "It is in RFC 9309 [sic]."),
    ("A & B, 3 < 4 > 2.", "A &amp; B, 3 &lt; 4 &gt; 2."),
    ("1. is no list here.", "1. is no list here."),
    ("` `- nor this.", "` `- nor this."),
    ("C# and F# run.", "C# and F# run."),
    ("It rose by 5 % (~3 points).", "It rose by 5 % (~3 points)."),
    ("std::vector grows.", "std::vector grows."),
    ("Two settings: `a` and `b`.", "Two settings: <code>a</code> and <code>b</code>."),
    ("Set `APT::Install` so.", "Set <code>APT::Install</code> so."),
    ("`std::vector` grows.", "\u200b<code>std::vector</code> grows."),
    (
        "**`std::vector`** (`a::b`, `c(d::e)`) grows.",
        "<strong>\u200b<code>std::vector</code></strong> (<code>a::b</code>, <code>c(d::e)</code>) grows.",
    ),
    ("Names like `a_b` and `__init__` stay.", "Names like <code>a_b</code> and <code>__init__</code> stay."),
)
# Keys and addresses that only code may add; where an address was, the gap is seen.
REMOVED = (
    ("It holds 45 records [E5].", "It holds 45 records."),
    ("It holds [E5][E6] records.", "It holds records."),
    ("It is so [E5-E7].", "It is so."),
    ("It is **so** [E5].", "It is <strong>so</strong>."),
    ("Go to https://evil.example/?q=1 now.", "Go to […] now."),
)
# What Obsidian, Dataview, Templater, MathJax or a browser would obey; all of it is shown as words.
OBEYED = (
    "`= this.file`", "`$= dv.pages()`", "`<% tp.file.delete() %>`", "`[[Home]]`", "`a:: b`", "`%% x %%`",
    "$\\href{javascript:alert(1)}{x}$", "$\\require{html}$", "$\\class{x}{y}$", "$\\style{color:red}{y}$", "$\\unicode{x41}$",
    "**[[Home]]**", "*<script>alert(1)</script>*", "**![x](https://evil.example)**", "*#tag*", "**key:: value**", "$a %% b$",
    "**<% evil %>**", "_[a](obsidian://x)_", "$x^{[[a]]}$", "`dataviewjs`", "*`= x`*", "**a** ^block-id", "`{{date}}`",
    "(`a:: b`)", "[see `a` and `b::c`]", "`f(a::b, c::d)`",
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
