from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.markdown_reader import read_markdown
from pipeline.errors import ReadFailed


def body(source: str) -> str:
    return read_markdown(f"# T\n\n{source}", "name").text.removeprefix("# T\n").strip("\n")


def test_front_matter_gives_title_author_date_and_language() -> None:
    document = read_markdown("---\ntitle: A title\nauthor: [A, B]\ndate: 2024-05-01\nlang: de-AT\n---\nText.\n", "name")
    assert (document.title, document.author, document.published, document.language) == ("A title", "A, B", "2024-05-01", "de")
    assert document.text == "# A title\n\nText.\n"


@pytest.mark.parametrize("front", ["title: [unclosed", "- a list", "a: b: c", "x: 2024-99-99", "&a [*a]", "\tx: y"])
def test_faulty_front_matter_is_left_out_and_the_text_is_read(front: str) -> None:
    assert read_markdown(f"---\n{front}\n---\nText.\n", "name").text.endswith("\n\nText.\n")


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: Snipe: a survey\nauthor: A: B\ndate: 2024-03-11\n---",
        '+++\ntitle = "Snipe: a survey"\ndate = 2024-03-11\n+++',
    ],
)
def test_a_title_with_a_colon_is_a_title(front: str) -> None:
    document = read_markdown(f"{front}\nText.\n", "name")
    assert (document.title, document.published) == ("Snipe: a survey", "2024-03-11")


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("**bold** and *it* and __b__ and _i_ and ~~gone~~", "bold and it and b and i and [deleted: gone]"),
        ("snake_case_name and 5 * 3 * 2 and *args", "snake_case_name and 5 * 3 * 2 and *args"),
        ("`**kwargs` and ``a `b` c``", "**kwargs and a `b` c"),
        ("[text](http://x.org/a_(b)) <http://y.org>", "text http://y.org"),
        ("[[note|shown]] and [[note]] and ![[embed]] x", "shown and note and x"),
        ("[[note#Part#Sub]] [[note#^id]] [[#Part]] #tag", "note > Part > Sub note Part #tag"),
        ("a &amp; b \\* c <b>d</b> 1 < 2", "a & b * c d 1 < 2"),
        ("use vector<int> and List<String> here", "use vector<int> and List<String> here"),
        ("![a wide lake](p.png)", "[image: a wide lake]"),
        ("==marked== it", "marked it"),
        ("a == b == c", "a == b == c"),
        ("the value $\\frac{3}{4}$ and $5 or $6", "the value \\frac{3}{4} and $5 or $6"),
        ("x<sup>2n</sup> and <ruby>漢字<rt>かんじ</rt></ruby>", "x^(2n) and 漢字(かんじ)"),
    ],
)
def test_inline_marks_are_read_as_what_they_mean(marked: str, expected: str) -> None:
    assert body(marked) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a %%gone%% b", "a b"),
        ("a\n\n%%\ngone\n\ngone\n%%\n\nb", "a\n\nb"),
        ("100 %% of it", "100 %% of it"),
        ("a 5%%f and 6%%g b", "a 5%%f and 6%%g b"),
        ("`%%x%%` %%y%%", "%%x%%"),
        ("a ^one-id\n\n- b ^37066d\n\nx ^2", "a\n\n- b\n\nx ^2"),
        ("> [!note|right]- Mind\n> this", "Mind this"),
        ("> [!tip]\n> Mind it.", "Mind it."),
        ("```mermaid\na --> b\n```\n\nx\n\n~~~{plantuml}\na -> b\n~~~\n\n```sh\nls\n```", "x\n\n```\nls\n```"),
        (
            "````{note} Mind\nIt is.\n\n```sh\nls\n```\n````\nx\n```{tip}\nTry.\n```",
            "Mind\n\nIt is.\n\n```\nls\n```\n\nx\n\nTry.",
        ),
        ("{{% notice %}}\nSaid.\n{{% /notice %}}", "Said."),
        ("Said.\n{: .note data-x='y'}\n\nof *it*{: .red} now {:.2f} and `{: .x}`", "Said.\n\nof it now {:.2f} and {: .x}"),
        ("* TOC\n{:toc}\n\n## Part {: #own .x }\n\nx", "## Part {#part}\n\nx"),
        ('<Tabs id="os">\n<TabItem value="d" label="Debian" default>\n\nUse it.\n\n</TabItem>\n</Tabs>', "Debian\n\nUse it."),
        ('1. On\n\n   <Tabs>\n   <TabItem value="Debian">Use it.</TabItem>\n   </Tabs>', "- 1. On\n- Debian\n- Use it."),
        (
            '{{< tabs name="os" >}}\n{{% tab name="Debian" %}}\nUse.\n{{% /tab %}}\n{{< tab "Arch" >}}\nGo.',
            "Debian\n\nUse.\n\nArch\n\nGo.",
        ),
        ('{% tabs %}\n{% tab title="x > 11" %}\nUse it.\n{% endtab %}\n{% endtabs %}\nafter', "x > 11\n\nUse it.\n\nafter"),
        ("It is `<Tab>` there.\n\n    <Tab> moves\n", "It is <Tab> there.\n\n```\n<Tab> moves\n```"),
        ("3. On\n4. Off\n   - Wait\n\n- Rest\n\n1.\n\nEnd", "- 3. On\n- 4. Off\n- Wait\n- Rest\n\nEnd"),
        ("Press\n<Tab>\ntwice.\n\n<Tabs>\n\n    <Tab>\n", "Press <Tab> twice.\n\n<Tabs>\n\n```\n<Tab>\n```"),
        ('=== "Debian"\n\n    Use it.\n\n    ```\n    apt\n    ```\n\nafter', "Debian\n\nUse it.\n\n```\napt\n```\n\nafter"),
        ('??? note "More"\n    Folded.', "More\n\nFolded."),
        (
            "::: warning Mind the gap\nIt is deep.\n:::\n\n:::note[Read]\nthis\n:::\n\n::: {.panel}\nx\n:::",
            "Mind the gap\n\nIt is deep.\n\nRead\n\nthis\n\nx",
        ),
    ],
)
def test_the_marks_of_programs_around_markdown_are_left_out(source: str, expected: str) -> None:
    assert body(source) == expected


def test_of_mdx_what_a_reader_of_its_page_sees_is_read() -> None:
    modules = 'import { Icon } from "@x/y";\nimport Tabs from "@theme/Tabs";\n\nexport const one = () => (\n  <b>no</b>\n);\n'
    page = '## <Icon style={{ margin: "1" }}\n  size="2"/> Radio\n\n{/* no */}<Dark>It is on.</Dark> Write `<Port>`.\n'
    code = "```py\nimport serial\n```\n"
    tabs = '<Tabs values={[{a: "b"}]}>\n<TabItem value="CLI">\n\nRun it.\n\n</TabItem>\n</Tabs>\n'
    text = read_markdown("\n".join((modules, page, code, tabs)), "name", is_mdx=True).text
    assert text == "# Radio\n\nIt is on. Write <Port>.\n\n```\nimport serial\n```\n\nCLI\n\nRun it.\n"


def test_a_note_stands_behind_its_paragraph_with_its_mark() -> None:
    assert body("One.[^a] Two.[^b]\n\nThree.\n\n[^a]: Note *one*.\n[^b]: Note two.\n") == (
        "One. Two.\n\n[1] Note one.\n\n[2] Note two.\n\nThree."
    )


def test_a_box_keeps_its_title_and_text() -> None:
    assert body('!!! warning "Ice"\n    Closed below minus 9.\n') == "Ice\n\nClosed below minus 9."


def test_aliases_are_part_of_the_text() -> None:
    text = read_markdown("---\naliases: [WAL, log]\n---\nText.\n", "name").text
    assert text == "# name\n\nAlso known as: WAL, log.\n\nText.\n"
    assert "known" not in read_markdown("---\naliases: [/docs/a.html]\n---\nText.\n", "name").text


@pytest.mark.parametrize(("name", "title"), [("My note", "My note"), ("index", "Part"), ("2024", "Part"), ("Untitled 1", "Part")])
def test_a_note_is_called_by_its_name_unless_that_says_nothing(name: str, title: str) -> None:
    assert read_markdown("Text.\n\n## Part\n\nMore.\n", name).title == title


def test_a_note_that_this_program_made_is_refused() -> None:
    note = "---\ntitle: x\nkind: report\ntags:\n  - research/report\n---\nText.\n"
    with pytest.raises(ReadFailed, match="a note that this program generated"):
        read_markdown(note, "x")
    assert read_markdown(note.replace("kind: report", "kind: book"), "x").text


@pytest.mark.parametrize(
    "bomb",
    ["[" * 9_000, "![](" * 2_000, "a` ``b " * 2_000, "*a " * 4_000, "# " * 9_000, "|-" * 4_000, "\na={" * 4_000, "<A b" * 4_000],
)
def test_hostile_marks_are_read(bomb: str) -> None:
    assert read_markdown(f"{bomb}\n\nThe end.", "name").text.endswith("The end.\n")
    assert read_markdown(f"{bomb}\n\nThe end.", "name", is_mdx=True).text.endswith("The end.\n")


@given(st.text(st.sampled_from("ab \n#-*`|>[]()<!{}:=_~1.\t$%^"), max_size=200))
def test_any_markdown_is_read_or_holds_no_text(source: str) -> None:
    try:
        assert read_markdown(source, "name").title
    except ReadFailed as error:
        assert "no text" in error.message  # noqa: PT017


def test_what_is_done_of_a_list_of_tasks_is_told_from_what_is_not() -> None:
    assert body("- [ ] paint\n- [x] clean\n- [z] sand\n") == "- ☐ paint\n- ☑ clean\n- [z] sand"
