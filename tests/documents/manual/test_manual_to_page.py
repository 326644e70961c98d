from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.manual.manual_to_page import read_manual
from pipeline.errors import ReadFailed
from pipeline.text.page_format import blocks


def page(source: str) -> str:
    return read_manual(source, "x").text


def body(source: str) -> str:
    """Return the text below the title and the first section's heading."""
    return page(f".TH X 1\n.SH S\n{source}").partition("## S {#s}\n")[2].strip("\n")


def test_the_title_is_the_name_with_its_section_and_what_it_is() -> None:
    document = read_manual('.TH RSYNC 1 "2022-10-20"\n.SH NAME\nrsync \\- a fast, \\fIversatile\\fP tool\n', "rsync")
    assert (document.title, document.published) == ("rsync(1): a fast, versatile tool", "2022-10-20")
    assert document.text.endswith("## NAME {#name}\n\nrsync - a fast, versatile tool\n")


def test_sections_are_headings_also_when_their_text_is_on_the_next_line() -> None:
    assert body('.SS "In short"\na\n.SH\nNotes\nb') == "### In short {#in-short}\n\na\n\n## Notes {#notes}\n\nb"


def test_an_option_is_a_heading_below_its_section_and_its_description_follows() -> None:
    text = page(
        '.TH X 1\n.SH OPTIONS\n.TP\n.BR \\-v ", " \\-\\-verbose\nSay more.\n.IP\nMuch more.\n.IP "\\fB\\-q\\fR" 4\nSay less.\n'
    )
    found = {block.text: block.path for block in blocks(text) if block.kind == "paragraph"}
    assert found["Much more."] == ("x(1)", "OPTIONS", "-v, --verbose")
    assert found["Say less."] == ("x(1)", "OPTIONS", "-q")


@pytest.mark.parametrize("second", [".TQ\n.B \\-\\-all", ".PD 0\n.TP\n.B \\-\\-all\n.PD"])
def test_terms_that_share_a_description_are_one_heading(second: str) -> None:
    assert body(f".TP\n.B \\-a\n{second}\nAll.") == "### -a, --all {#a-all}\n\nAll."


def test_text_after_a_list_of_options_belongs_to_the_section_again() -> None:
    assert body(".TP\n-a\nAll.\n.PP\nAfter.") == "### -a {#a}\n\nAll.\n\n## S {#s-2}\n\nAfter."


def test_terms_inside_a_description_are_one_level_down() -> None:
    assert body(".TP\nouter\na\n.RS\n.TP\ninner\nb\n.RE\n.TP\nnext\nc") == (
        "### outer {#outer}\n\na\n\n#### inner {#inner}\n\nb\n\n### next {#next}\n\nc"
    )


def test_an_emphasised_line_above_an_indented_part_is_a_term() -> None:
    assert body(".PP\n\\fB\\-a\\fR\n.RS 4\nAll.\n.RE\n.PP\nA whole sentence is no term.\n.RS 4\nb\n.RE") == (
        "### -a {#a}\n\nAll.\n\n## S {#s-2}\n\nA whole sentence is no term.\n\nb"
    )


def test_bullets_and_numbers_are_items() -> None:
    assert body(".IP \\(bu 2\none\nmore\n.IP * 2\ntwo\n.IP 3. 2\nthree") == "- one more\n- two\n- 3. three"


def test_a_bullet_that_is_drawn_for_a_terminal_is_an_item() -> None:
    source = ".sp\n.RS 4\n.ie n \\{\\\n\\h'-04'\\(bu\\h'+03'\\c\n.\\}\n.el \\{\\\n.sp -1\n.IP \\(bu 2.3\n.\\}\ntext\n.RE"
    assert body(source) == "- text"


@pytest.mark.parametrize(("begin", "end"), [(".nf", ".fi"), (".EX", ".EE"), (".Vb 2", ".Ve")])
def test_code_keeps_its_lines(begin: str, end: str) -> None:
    assert body(f"a\n{begin}\nx \\e\n  y\n{end}\nb") == "a\n\n```\nx \\\n  y\n```\n\nb"


def test_tables_become_rows() -> None:
    source = ".TS\ntab(;) allbox;\nl l\nl lx.\n\\fBName\\fP;Size\n_\na;T{\none\n.B two\nT}\n.TE\nafter"
    assert body(source) == "| Name | Size |\n| a | one two |\n\nafter"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("\\fBbold\\fP \\f(CWcode\\fR \\f[I]it\\f[] \\s-1SMALL\\s0", "bold code it SMALL"),
        ("\\-a \\(aqb\\(aq \\[dq]c\\[dq] \\*(lqd\\*(rq \\e \\(bu \\(em", "-a 'b' \"c\" “d” \\ • —"),
        ("a\\&.b \\%c\\:d e\\~f\\ g \\[u20AC] \\('e \\N'65' \\(*a", "a.b cd e f g € é A α"),
        ("joined\\c\n.I here", "joinedhere"),
        ('kept \\" not this', "kept"),
        ("one \\\ntwo", "one two"),
        ('.BR rsync "(1), " ssh (1)', "rsync(1), ssh(1)"),
        (".B a b", "a b"),
        (".UR http://x.org\nthe site\n.UE .", "the site <http://x.org>."),
    ],
)
def test_escapes_and_fonts_are_resolved(source: str, expected: str) -> None:
    assert body(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (".if n yes\n.if t no", "yes"),
        (".ie t no\n.el yes", "yes"),
        (".ie t \\{ no\nno\n.\\}\n.el \\{\\\nyes\n.\\}\nend", "yes end"),
        (".ie \\n(.g .ds A yes\n.el .ds A no\n\\*A", "yes"),
        (".nr x 3\n.if (\\nx>2):(1=2) yes", "yes"),
        (".if '\\*(.T'utf8' yes\n.if !'a'a' no", "yes"),
        (".de Hi\nhello \\\\$1\n..\n.Hi you", "hello you"),
        (".ig\nno\n..\nyes", "yes"),
        (".de TP\nno\n..\n.TP\nterm\nyes", "### term {#term}\n\nyes"),
    ],
)
def test_conditions_take_the_branch_of_a_terminal_and_macros_are_called(source: str, expected: str) -> None:
    assert body(source) == expected


MDOC = """.Dd $Mdocdate: March 3 2023 $
.Dt SSH_CONFIG 5
.Os
.Sh NAME
.Nm ssh_config
.Nd client file
.Sh SYNOPSIS
.Nm
.Op Fl a Ar file
.Oo Fl b Oc
.Sh OPTIONS
.Bl -tag -width Ds
.It Cm Host
Restricts
.Pq see Xr ssh 1 ,
and
.Dq quoted
.Ns s .
.It Fl L Xo
.Sm off
.Ar host : port
.Sm on
.Xc
Forwards.
.Bl -bullet
.It
one
.It
two
.El
.El
.Pp
After
.Pq Sq !\\& .
.Bd -literal -offset indent
code here
.Ed
.Bl -column "a" "b"
.It Sy Name Ta Sy Size
.It x Ta 1
.El
"""


def test_pages_in_mdoc_are_read_alike() -> None:
    document = read_manual(MDOC, "ssh_config")
    assert (document.title, document.published) == ("ssh_config(5): client file", "2023-03-03")
    assert document.text.partition("## SYNOPSIS {#synopsis}\n\n")[2] == (
        "ssh_config [-a file] [-b]\n\n## OPTIONS {#options}\n\n"
        "### Host {#host}\n\nRestricts (see ssh(1)), and “quoted”s.\n\n### -L host:port {#l-host-port}\n\n"
        "Forwards.\n\n- one\n- two\n\n"
        "## OPTIONS {#options-2}\n\nAfter (‘!’).\n\n```\ncode here\n```\n\n| Name | Size |\n| x | 1 |\n"
    )


def test_a_page_that_only_sends_elsewhere_is_refused_with_the_place() -> None:
    with pytest.raises(ReadFailed, match=r"man1/bash\.1"):
        read_manual('.\\" comment\n.so man1/bash.1\n', "sh")


def test_a_page_without_text_is_refused() -> None:
    with pytest.raises(ReadFailed, match="no text"):
        read_manual(".TH X 1\n.SH NAME\n", "x")


PIECES = [
    ".TP\n", ".RS\n", ".RE\n", ".IP a 4\n", ".if n \\{", ".el ", "\\}\n", ".de X\n", "..\n", ".X a\n", ".TS\n", "T{\n", "l.\n",
    ".TE\n", "\\h'", "\\[", "\\*[", "\\fB", "a b ", "\n", ".Bl -tag\n", ".It ", "Fl ", "Op ", ".El\n", ".Dd x\n", ".nf\n",
    ".fi\n", ".SH\n", '"', ".so x\n", "\\", ".ds a \\*a\\*a\n", "\\*a", ".Xo ", ".Sm off\n", ".if (",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60), st.sampled_from([".TH X 1\n", ".Dd x\n.Dt X 1\n", ""]))
def test_any_source_is_read_or_refused(pieces: list[str], head: str) -> None:
    with contextlib.suppress(ReadFailed):
        assert read_manual(head + "".join(pieces), "x").text.startswith("# ")


@pytest.mark.parametrize(
    "bomb",
    [
        ".if n \\{ " * 20_000, ".ie n \\{\\\n" * 20_000, ".de X\n.X\n.X\n..\n.X\n", ".ds a \\*a\\*a\n\\*a\n" * 5_000,
        "\\h'" * 20_000, ".TP\nx\n.RS\n" * 20_000, ".Dd x\n" + ".Bl -tag\n.It x\n" * 20_000, ".Dd x\n.Op " + "Op " * 20_000,
        ".TS\n" + "T{\n" * 20_000, "\\w'" * 20_000, ".if " + "(" * 20_000, "a\\\n" * 20_000, '.B "' * 20_000,
    ],
)  # fmt: skip
def test_hostile_pages_are_read_or_refused(bomb: str) -> None:
    with contextlib.suppress(ReadFailed):
        assert read_manual(f"{bomb}\n", "x").text
