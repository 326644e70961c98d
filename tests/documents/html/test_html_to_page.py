from __future__ import annotations

import pytest

from pipeline.documents.html.html_to_page import MAX_ATTRIBUTES, MAX_DEPTH, read_html
from pipeline.errors import ReadFailed
from pipeline.text.page_format import blocks


def body(markup: str) -> str:
    """Return the page text below the title."""
    text = read_html(f"<title>T</title><body>{markup}</body>", "name").text
    return text.removeprefix("# T\n").strip("\n")


@pytest.mark.parametrize(
    "around",
    [
        "<nav>menu</nav>",
        "<header>menu</header>",
        "<footer>menu</footer>",
        "<aside>menu</aside>",
        "<script>menu</script>",
        "<style>menu</style>",
        "<form>menu</form>",
        "<div hidden>menu</div>",
        "<div style='color:red; display: none'>menu</div>",
        "<div role=navigation>menu</div>",
        "<div class=sphinxsidebar>menu</div>",
        "<div class=navheader><table><tr><td>menu</td></tr></table></div>",
        "<!-- menu -->",
    ],
)
def test_what_surrounds_the_content_is_left_out(around: str) -> None:
    assert body(f"{around}<p>Said.</p>{around}") == "Said."


def test_only_the_main_element_is_read_when_there_is_one() -> None:
    assert body("<p>outside</p><main><p>inside</p></main>") == "inside"


def test_an_empty_main_element_does_not_hide_the_page() -> None:
    assert body("<main></main><p>outside</p>") == "outside"


def test_a_header_with_the_main_heading_is_kept() -> None:
    assert body("<article><header><h1>Big</h1></header><p>x</p></article>") == "## Big {#big}\n\nx"


@pytest.mark.parametrize(
    ("markup", "anchor"),
    [
        ("<h2 id=own>Part</h2>", "own"),
        ("<section id=around><h2>Part</h2></section>", "around"),
        ("<div id=far><div><div><h2>Part</h2></div></div></div>", "far"),
        ("<a name=before></a><h2>Part</h2>", "before"),
        ("<h2><a name=inside></a>Part</h2>", "inside"),
        ("<section id=s><h3>First</h3><h2>Part</h2></section>", "part"),
        ("<div id=closed><p>x</p></div><h2>Part</h2>", "part"),
        ("<h2 id='a b'>Part</h2>", "a%20b"),
    ],
)
def test_a_heading_keeps_the_anchor_that_leads_to_it(markup: str, anchor: str) -> None:
    text = read_html(f"<title>T</title>{markup}<p>x</p>", "name").text
    assert {block.heading: block.anchor for block in blocks(text)}["Part"] == anchor


def test_pilcrows_of_headings_are_dropped() -> None:
    assert body("<h2 id=a>Part<a class=headerlink href=#a>¶</a></h2><p>x</p>") == "## Part {#a}\n\nx"
    assert body("<h2 id=a>Part <a href=#a>#</a></h2><p>x</p>") == "## Part {#a}\n\nx"


def test_an_api_entry_becomes_a_heading_one_level_down() -> None:
    markup = (
        "<h2 id=s>Functions</h2><dl><dt id=os.replace>os.<b>replace</b>(src, dst)</dt><dd><p>Rename.</p>"
        "<dl><dt id=inner>inner</dt><dd>Deep.</dd></dl></dd></dl>"
    )
    assert body(markup) == (
        "## Functions {#s}\n\n### os.replace(src, dst) {#os.replace}\n\nRename.\n\n#### inner {#inner}\n\nDeep."
    )


def test_terms_with_short_descriptions_are_items() -> None:
    assert body("<dl><dt>COSTS<dd><p>Include costs.</p><dt>-a<dt>-b<dd>Both.<dt>Empty:</dl>") == (
        "- COSTS: Include costs.\n- -a, -b: Both.\n- Empty"
    )


@pytest.mark.parametrize("long", ["<p>One.</p><p>Two.</p>", "word " * 61])
def test_one_long_description_makes_headings_of_all_terms_of_a_list(long: str) -> None:
    text = body(
        "<h2>Options</h2><dl><dt><span class=term>-a</span> <span class=term>--all</span>"
        f"<dd>{long}<dt>-b<dd>Short.</dl><p>After."
    )
    assert "### -a, --all {#a-all}\n" in text
    assert text.endswith("### -b {#b}\n\nShort.\n\n## Options {#options-2}\n\nAfter.")


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("2<sup>32</sup> x<sup>n</sup> 10<sup>−3</sup> Ca<sup>2+</sup>", "2^32 x^n 10^−3 Ca^2+"),
        ("said<sup>[1]</sup> and<sup><a href=#f>2</a></sup> done<sup>*</sup>", "said and done"),
        ("the 1<sup>st</sup> <sup>2</sup>", "the 1st 2"),
        ("H<sub>2</sub>O and x<sub>i</sub>", "H₂O and xi"),
        ("Q&amp;amp;A, &amp;lt;b&amp;gt;, &amp;amp;lt;", "Q&A, &lt;b&gt;, &amp;lt;"),
    ],
)
def test_raised_and_lowered_signs_are_spelt_out(markup: str, expected: str) -> None:
    assert body(f"<p>{markup}</p>") == expected


def test_cells_that_span_are_filled_in() -> None:
    markup = (
        "<table><tr><td rowspan=2>a<td>1<tr><td>2<tr><td colspan=2>wide<td>3<thead><tr><th colspan=2>Both<th>C</thead></table>"
    )
    assert body(markup) == "| Both | Both | C |\n| a | 1 |\n| a | 2 |\n| wide |  | 3 |"


@pytest.mark.parametrize("span", ["9999", "-1", "x", "99999999999"])
def test_a_span_beyond_reason_is_bounded(span: str) -> None:
    assert len(body(f"<table><tr><td colspan={span} rowspan={span}>a<td>b</tr><tr><td>c</table>")) < 3_000


@pytest.mark.parametrize(
    "furniture",
    [
        "<ul class='docnav top'><li>Prev<li>Book</ul>",
        "<div id=banner><a href=x>Get it</a></div>",
        "<div class=note><h3>Note</h3></div>",
        "<h2>Contents</h2>",
        "<div class=sidebar><a href=x>Elsewhere</a></div>",
        "<ul>" + "<li><a href=x>Chapter</a>" * 4 + "</ul>",
    ],
)
def test_furniture_is_left_out(furniture: str) -> None:
    assert body(f"{furniture}<p>Said.</p>") == "Said."


def test_a_box_with_text_is_kept_and_its_label_is_no_heading() -> None:
    assert body("<div class=sidebar><p>TIP</p><p>Said in a box.</p></div>") == "TIP\n\nSaid in a box."
    note = "<table><tr><td rowspan=2><img src=x></td><th>Note</th></tr><tr><td><p>Mind it.</p></td></tr></table>"
    assert body(f"<div class=note>{note}</div>") == "Mind it."


def test_lists_code_tables_and_line_breaks() -> None:
    markup = (
        "<ul><li>one<li><p>two</p><pre>\nx = 1\n  y\n</pre></ul><table><caption>Sizes</caption><tr><th>Name<th>Size"
        "<tr><td>a<br>b<td><p>1</p><p>2</p></table>"
    )
    assert body(markup) == "- one\n- two\n\n```\nx = 1\n  y\n```\n\nSizes\n\n| Name | Size |\n| a b | 1 2 |"


def test_inline_elements_do_not_part_words() -> None:
    assert body("<div>os.<code>re</code>place <b>renames</b></div><p>a<i>b</i></p>") == "os.replace renames\n\nab"


def test_a_list_of_links_says_nothing() -> None:
    links = "".join(f"<li><a href=x{n}>Chapter number {n}</a></li>" for n in range(9))
    assert body(f"<ul>{links}</ul><p>Said.</p>") == "Said."


@pytest.mark.parametrize(
    ("title", "heading", "expected"),
    [
        ("json — JSON encoder — Python documentation", "json — JSON encoder", "json — JSON encoder"),
        ("Name resolution", "Name", "Name resolution"),
        ("PostgreSQL: Documentation: 15: 8.3. Foo", "8.3. Foo", "8.3. Foo"),
        ("index", "Welcome all", "Welcome all"),
        ("42", "Answers", "Answers"),
        ("", "Only heading", "Only heading"),
        ("", "", "name"),
    ],
)
def test_the_title_goes_without_the_name_of_the_site(title: str, heading: str, expected: str) -> None:
    assert read_html(f"<title>{title}</title><h1>{heading}</h1><p>x</p>", "name").title == expected


def test_author_and_date_come_from_the_page() -> None:
    document = read_html("<meta name=author content='A. Author'><meta name=date content=2024-05-01T10:00><p>x</p>", "n")
    assert (document.author, document.published) == ("A. Author", "2024-05-01")


def test_a_page_of_navigation_alone_is_refused() -> None:
    with pytest.raises(ReadFailed, match="navigation"):
        read_html("<nav>menu</nav><h1>Contents</h1>", "name")


def test_a_deeply_nested_page_is_refused_and_a_long_one_is_not() -> None:
    with pytest.raises(ReadFailed, match="nested"):
        read_html("<div>" * 100_000 + "x", "name")
    with pytest.raises(ReadFailed, match="nested"):
        read_html("<div>" * 100_000 + "x" + "</div>" * 100_000, "name")
    assert body("<div><p>x</div>" * (2 * MAX_DEPTH)).count("x") == 2 * MAX_DEPTH
    assert body("<p>x<br>" * (2 * MAX_DEPTH)).count("x") == 2 * MAX_DEPTH


def test_nesting_up_to_the_limit_is_read() -> None:
    assert body("<div>" * (MAX_DEPTH - 10) + "<p>deep</p>") == "deep"


def test_an_element_with_fifty_thousand_attributes_is_refused() -> None:
    with pytest.raises(ReadFailed, match=str(MAX_ATTRIBUTES)):
        read_html("<p " + " ".join(f"a{n}=1" for n in range(50_000)) + ">x</p>", "name")


def test_a_long_attribute_is_no_bomb() -> None:
    assert body(f"<img src='data:image/png;base64,{'A' * 200_000}'><p>x</p>") == "x"
