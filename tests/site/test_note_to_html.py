"""Notes as HTML: each of Obsidian's signs."""

from __future__ import annotations

import pytest

from tests.site.scratch import read

OTHERS = ("Home.md", "sources/2026-11/a.md", "reports/2026/b.md", "img/Chart One.png")


def html_of(text: str, *, at_hand: bool = False) -> str:
    return read(text, others=OTHERS, at_hand=at_hand).html.strip()


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("[[sources/2026-11/a]]", '<a class="internal" href="../sources/2026-11/a.html">sources/2026-11/a</a>'),
        ("[[sources/2026-11/a|The *source*]]", '<a class="internal" href="../sources/2026-11/a.html">The *source*</a>'),
        ("[[a]]", '<a class="internal" href="../sources/2026-11/a.html">a</a>'),
        ("[[Sources/2026-11/A.md|x]]", '<a class="internal" href="../sources/2026-11/a.html">x</a>'),
        ("[[Home]]", '<a class="internal" href="../index.html">Home</a>'),
        ("[[b#What is it?|x]]", '<a class="internal" href="../reports/2026/b.html#h-what-is-it">x</a>'),
        ("[[b#One#Two|x]]", '<a class="internal" href="../reports/2026/b.html#h-two">x</a>'),
        ("[[b#^q-1|x]]", '<a class="internal" href="../reports/2026/b.html#%5Eq-1">x</a>'),
        ("[[#Here|x]]", '<a class="internal" href="#h-here">x</a>'),
        ("[[nowhere|x]]", '<span class="internal broken">x</span>'),
        ("[x](../sources/2026-11/a.md)", '<a class="internal" href="../sources/2026-11/a.html">x</a>'),
        ("[x](../nowhere.md)", '<span class="internal broken">x</span>'),
        ("[x](https://example.org/a?b=c&d)", 'href="https://example.org/a?b=c&amp;d">x</a>'),
        ("[my.md](file:///home/me/my.md#page=2)", "<p><span>my.md</span></p>"),
        ("[[a|default: ＄x ＃1]]", ">default: $x #1</a>"),  # look-alikes of signs
        ("[x](mailto:a@example.org)", 'href="mailto:a@example.org">x</a>'),
    ],
)
def test_a_link_leads_where_it_says(written: str, made: str) -> None:
    assert made in html_of(written)


def test_a_link_in_a_table_has_an_escaped_bar() -> None:
    table = html_of("| a | b |\n| --- | ---: |\n| [[a\\|The source]] | 2 |")
    assert '<td><a class="internal" href="../sources/2026-11/a.html">The source</a></td>' in table
    assert '<td class="align-right">2</td>' in table


def test_a_citation_is_a_number_that_leads_to_the_source_or_to_the_quote_at_hand() -> None:
    elsewhere, at_hand = html_of("So.[[a#^q-1|¹²]]"), html_of("So.[[a#^q-1|¹²ᵃ]]", at_hand=True)
    assert '<sup class="cite"><a href="../sources/2026-11/a.html#%5Eq-1" aria-label="Source 12">12</a></sup>' in elsewhere
    assert '<sup class="cite" id="from-quote-q-1"><a href="#quote-q-1" aria-label="Source 12a">12a</a></sup>' in at_hand


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("![[Chart One.png]]", '<figure class="embed image"><img src="../img/Chart%20One.png" alt="Chart One" loading="lazy">'),
        ("![[Chart One.png|A rise]]", 'alt="A rise"'),
        ("a ![[Chart One.png|300x200]] b", 'width="300" height="200"> b</p>'),
        ("![A rise](../img/Chart%20One.png)", '<img src="../img/Chart%20One.png" alt="A rise"'),
    ],
)  # fmt: skip
def test_an_image_of_the_vault_is_shown(written: str, made: str) -> None:
    assert made in html_of(written)


def test_a_note_that_another_shows_is_a_link_in_a_paragraph_of_its_own() -> None:
    made = html_of("![[b]]\n\n![[b#^q-1]]")
    link = '<p><a class="internal" href="../reports/2026/b.html{}">b</a></p>'
    assert made == f"{link.format('')}\n{link.format('#%5Eq-1')}"


def test_an_image_elsewhere_is_a_link_so_that_reading_fetches_nothing() -> None:
    made = html_of("![a chart](https://evil.example/x.png?q=secret)")
    assert "<img" not in made
    assert 'href="https://evil.example/x.png?q=secret">a chart</a>' in made


def test_callouts_have_a_kind_and_a_title_and_may_fold() -> None:
    made = html_of("> [!abstract] In *short*\n> First.\n> > [!bug]-\n> > Inner.\n")
    assert '<div class="callout" data-callout="abstract">\n<p class="callout-title">In <em>short</em></p>' in made
    assert '<details class="callout" data-callout="bug">\n<summary class="callout-title">Bug</summary>' in made
    assert made.count("</details>") == 1
    assert html_of("> not [!note]\n> a callout").startswith("<blockquote>")


@pytest.mark.parametrize("before", ["> [!note] T\n> text\n> ", "> ", "- item\n  ", "text\n"])
def test_a_table_stands_in_callouts_quotes_lists_and_after_text(before: str) -> None:
    mark = {">": "> ", "-": "  "}.get(before[0], "")
    made = html_of(f"{before}| a | b |\n{mark}| --- | --- |\n{mark}| 1 | 2 |\n")
    assert "<td>1</td>\n<td>2</td>" in made


def test_steps_go_on_after_code() -> None:
    assert '<ol start="2">' in html_of("1. one\n\n```\ncode\n```\n\n2. two")


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("$2^32$", '<span class="math">2<sup>32</sup></span>'),
        ("$x_{ij}<y$", '<span class="math">x<sub>ij</sub>&lt;y</span>'),
        ("from $5 to $6, or 10$ and 20$", "from $5 to $6, or 10$ and 20$"),
        ("between $5 and 6$", "between $5 and 6$"),
    ],
)
def test_a_formula_has_a_sign_of_tex_and_sums_of_money_are_text(written: str, made: str) -> None:
    assert made in html_of(written)


def test_comments_are_dropped_and_so_is_a_section_that_holds_nothing_else() -> None:
    made = html_of("a %%hidden%% b\n\n%%\nhidden\n%%\n\n## Notes\n\n%% begin notes %%\n%% end notes %%\n\n---\n")
    assert "hidden" not in made
    assert "Notes" not in made
    kept = html_of("## Notes\n\n%% begin notes %%\nMine.\n%% end notes %%\n")
    assert "<p>Mine.</p>" in kept
    assert "begin notes" not in kept


def test_what_only_obsidian_draws_goes_with_its_heading() -> None:
    made = html_of("## Plan\n\n```mermaid\nflowchart\n```\n\n### Part\n\nx\n\n## Sources\n\n```base\nviews\n```\n\n## Cost\n\ny")
    assert [part.partition("</h")[0].rpartition(">")[2] for part in made.split("<h")[1:]] == ["Plan", "Part", "Cost"]
    assert "flowchart" not in made


def test_what_a_passage_says_describes_a_report_and_not_its_boxes_or_its_place() -> None:
    draft = read("> [!abstract] Nearest\n> > The words.\n> >\n> > — [[a|A place]]\n> >\n> > - [ ] useful\n> > - [ ] wrong\n")
    assert draft.summary == "The words."
    assert "useful" not in "".join(draft.text)


def test_a_comment_sign_in_code_is_code() -> None:
    assert "100%%1" in html_of("`100%%1` and\n\n```\n%% kept %%\n```\n")
    assert "%% kept %%" in html_of("```\n%% kept %%\n```\n")


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("A paragraph. ^one", '<p id="^one">A paragraph.</p>'),
        ("> “Quoted.”\n\n^q-2", '<blockquote id="^q-2">'),
        ("- item ^three", '<li id="^three">item</li>'),
        ("> [!note] Title\n> Text\n\n^four", 'data-callout="note" id="^four"'),
    ],
)
def test_a_block_id_becomes_an_anchor(written: str, made: str) -> None:
    assert made in html_of(written)
    assert " ^" not in html_of(written)


def test_the_text_of_a_marked_block_can_be_quoted() -> None:
    draft = read("> “Quoted *words*.”\n\n^q-1\n\nPlain text. ^q-2\n")
    assert draft.blocks == {"q-1": "Quoted words.", "q-2": "Plain text."}


def test_ids_are_unique_on_a_page() -> None:
    made = html_of("## Same\n\nx ^a\n\n## Same\n\ny ^a\n")
    assert 'id="h-same"' in made
    assert 'id="h-same-2"' in made
    assert made.count('id="^a"') == 1


@pytest.mark.parametrize(
    ("written", "tagged"),
    [("#idea", "idea"), ("see #a/b-c now", "a/b-c"), ("#2026", ""), ("a#b", ""), ("\\#no", ""), ("#日本", "日本")],
)
def test_tags_lead_to_their_lists(written: str, tagged: str) -> None:
    assert read(written).tags == ({tagged} if tagged else set())


def test_tasks_and_highlights_and_deletions() -> None:
    made = html_of("- [ ] to do\n- [x] done\n\n==marked *too*== and ~~gone~~")
    assert '<li class="task"><input disabled type="checkbox" aria-label="to do"> to do</li>' in made
    assert '<input disabled checked type="checkbox" aria-label="done"> done' in made
    assert "<mark>marked <em>too</em></mark> and <s>gone</s>" in made


def test_the_first_heading_is_the_title_and_not_part_of_the_text() -> None:
    draft = read("# The *title*\n\nText.\n\n## Part\n\n### Sub\n")
    assert (draft.heading, draft.heading_text) == ("The <em>title</em>", "The title")
    assert "title" not in draft.html
    assert draft.toc == [("Part", "h-part")]
