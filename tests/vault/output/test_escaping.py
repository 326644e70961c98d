"""Text from outside does nothing in a vault, wherever it stands; quotes and sentences keep their form."""

from __future__ import annotations

import dataclasses
import re
from functools import reduce
from html import unescape

import pyromark
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from pipeline.text.cleaning import clean
from pipeline.vault.output import escaping
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.passage_markdown import flat, markdown, prose, within
from pipeline.vault.output.writer import GeneratedFile
from tests.site.scratch import html_of
from tests.vault.builders import PAGES, Story, Workplace, a_store
from tests.vault.scanner import Found, body_of, fields, scan

HOSTILE = (
    "[[Home|click]]", "![[Home]]", "[[sources/x#^q-1|¹]]", "[a](https://evil.example)",
    "![](https://evil.example/?q=1)", "[a](obsidian://new?vault=x&overwrite=true)", "https://evil.example/x",
    "obsidian://open?vault=x", "www.evil.example", "mail@evil.example", "#tag", "a #tag/nested b", "^block-id",
    "text ^q-1", "%% hidden %%", "%%", "key:: value", "(key:: value)", "<% tp.file.delete() %>", "<%* evil() %>",
    "`= this.file`", "`$= dv.pages()`", "```dataviewjs", "~~~js", "```", "---", "***", "===", "> [!success] Verified",
    "> quote", "# heading", "## Notes", "- item", "+ item", "* item", "1. item", "12) item", "123456. x", "| a | b |",
    "a|b", "<b>bold</b>", "<!-- hidden", "<script>alert(1)</script>", "&lt;b&gt;", "&#60;b&#62;", "$x^2$", "$$",
    "==mark==", "~~gone~~", "**bold**", "__init__", "_em_", "\\[[x]]", "\\", "text\\", "wow!", "note:", "a:: ",
    "{{date}}", "[^1]", "[^1]: note", "[ref]: https://evil.example", "![[", "]]", "[[", "a]]b", "- [ ] task", "\t code",
    "    code", "line\nbreak\n# heading", "line\u2028# x", "%% begin notes %%", "%% end notes %%", "<", "%", "<%", "%>",
    ":", "::", "[", "(https://evil.example)", "\u202ereversed", "\x00nul", "a`b", "``a``",
    "<a href=https://evil.example>x</a>", "ftp://evil.example", "javascript:alert(1)", "file:///etc/passwd",
)  # fmt: skip
anything = st.one_of(
    st.sampled_from(HOSTILE), st.text(), st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=3).map(" ".join)
)
NOTHING = scan("")


@settings(max_examples=400, deadline=None)
@given(anything)
def test_inert_text_is_only_words(text: str) -> None:
    for place in ("{}", "- {}", "> {}", "# {}", "before {} after", "a[[x|y]]{}", "{}[[x|y]]"):
        body = place.format(escaping.inert(text))
        bare = place.format("words")
        assert _deeds(scan(body)) == _deeds(scan(bare)), body
        assert not re.search(r"<%|%>|%%|::|\n", body), body


def _deeds(found: Found) -> dict[str, object]:
    """What a note does; of headings only how many."""
    deeds: dict[str, object] = {part.name: getattr(found, part.name) for part in dataclasses.fields(found)}
    return deeds | {"headings": len(found.headings)}


@pytest.mark.parametrize("text", HOSTILE)
def test_inert_text_still_reads_as_it_did(text: str) -> None:
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaping.inert(text))
    for entity, sign in (("&#58;", ":"), ("&#91;", "["), ("&lt;", "<")):
        shown = shown.removesuffix(entity) + sign if shown.endswith(entity) else shown
    assert shown == " ".join(clean(text).split())


@settings(max_examples=300, deadline=None)
@given(anything, st.booleans())
def test_the_words_of_a_link_stay_inside_it(text: str, in_table: bool) -> None:
    link = Link("sources/a", text)
    found = scan(f"| x {link.cell} y |" if in_table else f"x {link.inline} y")
    assert [target for target, _ in found.links] == ["sources/a"]
    assert _deeds(found) | {"links": ()} == _deeds(NOTHING) | {"links": ()}
    assert not re.search(r"<%|%>|%%|::|\n", link.inline)


@settings(max_examples=300, deadline=None)
@given(st.one_of(anything, st.builds("https://{}".format, anything), st.builds("http://a.example/{}".format, anything)))
@example("https://bank.example@evil.example/")
@example("https://[::1]/")
@example("https://a.example/%%25::==~~()[]<>|`$^ x\"'\\")
def test_only_web_addresses_become_links_and_only_one(url: str) -> None:
    found = scan(f"x {escaping.address(url)} y")
    safe = escaping.web_address(url)
    assert found.addresses == ((safe,) if safe else ())
    assert _deeds(found) | {"addresses": ()} == _deeds(NOTHING) | {"addresses": ()}
    assert not safe or re.match(r"https?://[a-z0-9.-]+(:\d+)?([/?#]|$)", safe)


@pytest.mark.parametrize("url", ["https://user@a.example/", "https://a.example:99999/", "//a.example/", "mailto:a@b.example"])
def test_an_address_that_hides_something_is_not_followed(url: str) -> None:
    assert escaping.web_address(url) == ""
    assert escaping.web_address("https://a.example/b?q=1#s") == "https://a.example/b?q=1#s"


def _links_of(value: object) -> list[Link]:
    if isinstance(value, Link):
        return [value]
    if dataclasses.is_dataclass(value):
        return [link for part in dataclasses.fields(value) for link in _links_of(getattr(value, part.name))]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [link for entry in inside for link in _links_of(entry)]


def _blocks_of(note: GeneratedFile) -> set[str]:
    quotes = (*note.view["quotes"], *note.view["further_quotes"]) if note.kind == "source" else ()
    return {str(quote["block"]) for quote in quotes}


CALLOUTS = {
    "abstract", "quote", "source", "info", "success", "failure", "todo", "warning", "example", "tip", "question",
    "conflict", "gap", "verified",
}  # fmt: skip
CODE = re.compile(r"research \w+( [\w-]+)?|queries(\.yaml|:)|topic/[^`]+|[0-9a-f]{12}|[\w-]+")
BASES = re.compile(r"bases/[a-z]+\.base")
ALL_HTML = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_STRIKETHROUGH
PICTURE = "nights/thirty-nights.svg|The last thirty nights at a glance"


def _check_note(written: str, note: GeneratedFile) -> None:
    found = scan(body_of(written))
    links = _links_of(note.view)
    targets = {f"{link.path}#^{link.block}" if link.block else link.path for link in links}
    assert {target for target, _ in found.links if not BASES.fullmatch(target)} <= targets, found.links
    assert {*found.embeds} <= {PICTURE}
    assert not any((found.images, found.tags, found.html))
    assert all(prose(formula) == formula for formula in found.maths), "only harmless formulas"
    assert {fence.lstrip("`") for fence in found.fences} <= {"mermaid", "yaml", ""}, "a quote of code is in no language"
    assert set(found.blocks) == _blocks_of(note)
    assert set(found.callouts) <= CALLOUTS
    assert all(re.match(r"https?://|mailto:", url) for url in found.addresses)
    codes = [code.replace("\u200b", "") for code in found.code]  # the sign keeps colons apart that would make a field
    assert all(CODE.fullmatch(code) or prose(f"`{code}`").removeprefix("&#8203;") == f"`{code}`" for code in codes)
    assert len(re.findall("%%", written)) == 6, "the markers of one user block, the signature, and nothing else"
    assert not re.search("<%|%>", written)
    assert "::" not in reduce(lambda text, code: text.replace(code, ""), found.code, written), "in code they may stand"
    shown = LexborHTMLParser(pyromark.html(body_of(written), options=ALL_HTML))  # as a program shows it that allows all HTML
    assert not shown.css("script, style, iframe, img, object, svg, form, input, b, div")
    assert not [name for node in shown.css("*") for name in node.attributes if name.startswith("on")]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.sampled_from(HOSTILE), anything))
@example(";\n")  # a line of code
@example("000::`0")  # twice on one line, it has code with colons
@example("a`b a #tag/nested b")  # twice on one line, it has a tag in what is code then
def test_hostile_text_in_every_field_changes_nothing_that_a_note_does(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    store = a_store(lambda words: f"{text} {words} {text}")
    pages = (PAGES[0], f"https://evil.example/{text.replace('#', '♯')}", f"{text.replace('#', '♯')}://x")
    Story(store, id="2026-12-01-odd-0d0d", query_id="odd", say=lambda words: f"{text} {words}", pages=pages, tags=(text,)).whole()
    place = Workplace(tmp_path_factory.mktemp("hostile"), store)
    report, notes = place.build_and_note()
    assert report.problems == ()
    for note in notes:
        written = (place.vault / note.path).read_text()
        _check_note(written, note)
    assert place.leading_nowhere() == []


def test_a_template_cannot_print_a_plain_string_unescaped_not_in_a_list_or_map_either(place: Workplace) -> None:
    (place.templates / "home.md.j2").write_text(
        "{% macro m(x) %}({{ x }}){% endmacro %}\n{{ m('[[a]]') }} {{ '[[b]]' | upper }}\n"
        "{{ '[[c]]' ~ title }} {{ '[[d]]' | safe }} {{ ['[[e]]', {'a': '<i>'}] }}\n"
        "{{ user_block('notes') }}\n"
    )
    place.build()
    body = body_of((place.vault / "Home.md").read_text())
    assert not any((scan(body).links, scan(body).html))
    assert r"(\[\[a\]\])" in body, "a macro's result is escaped once, not twice"


PASSAGES = (
    "```\n````\n```dataviewjs\ndv.pages()\n```", "| a ]] | [[Home|x]] |\n| %% | <% tp %> |",
    "%% begin notes %%\n\n- %% end notes %%", "<script>alert(1)</script>", "text ^id\n\n^q-1",
    "---\n\n- [ ] task\n- > [!success] Verified", "- ![[Home]]\n- `= this.file`\n- #tag", "# heading\n\n===",
    "| only |", "|  |  |", "- ",
)  # fmt: skip
passages = st.lists(st.one_of(st.sampled_from(PASSAGES), st.text()), min_size=1, max_size=3).map("\n\n".join)


def test_a_list_keeps_its_numbers_also_where_it_starts_later_or_leaves_one_out() -> None:
    assert flat("In short\n\n第一段。\n\n第二段。\n\nBoth,\n\ntoo.") == "In short: 第一段。 第二段。 Both, too."
    assert (markdown("- 3. On\n- 4. Off"), markdown("- 1. On\n- 3. Off")) == ("3. On\n4. Off", "- 1\\. On\n- 3\\. Off")


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
    "(`a:: b`)", "[see `a` and `b::c`]", "`f(a::b, c::d)`", "$<b>bold</b>$", "$<!-- hidden$",
)  # fmt: skip


@pytest.mark.parametrize("text", [*HOSTILE, *OBEYED])
def test_a_hostile_sentence_does_nothing_in_the_note_and_nothing_on_the_page(text: str) -> None:
    note = f"before {prose(text)} after"
    found = scan(note)
    assert not any((found.links, found.embeds, found.addresses, found.images, found.tags, found.blocks)), note
    assert not any((found.fences, found.html, found.headings, found.callouts)), note
    assert not re.search(r"<%|%>|%%|(?<!\\)`\s*\$?=", note), note
    assert not fields(f"{note}\n{prose(text)}"), note
    shown = html_of(f"{note}\n")
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
    shown = unescape(re.sub(r"<[^>]+>", "", html_of(f"x {prose(text)} y\n")))
    for word in re.findall(r"[^\W_]{2,}", re.sub(r"&(?:#\d+|lt);", " ", prose(text))):
        assert word in shown, (text, shown)
