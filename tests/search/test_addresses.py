from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.research_values import Hit
from pipeline.search.providers import distinct
from pipeline.text.addresses import canonical, identity

SPELLINGS = [
    ("HTTPS://Example.ORG", "https://example.org/"),
    ("https://example.org:443/a", "https://example.org/a"),
    ("http://example.org:80/", "http://example.org/"),
    ("http://example.org:8080/", "http://example.org:8080/"),
    ("http://example.org/a", "http://example.org/a"),
    ("https://www.example.org./a/", "https://www.example.org/a/"),
    ("//example.org/a", "https://example.org/a"),
    ("  https://example.org/a\n", "https://example.org/a"),
    ("https://example.org/a#b", "https://example.org/a"),
    ("https://example.org/a?#", "https://example.org/a"),
    ("https://example.org/a/./b/../c", "https://example.org/a/c"),
    ("https://example.org/%2e%2e/a", "https://example.org/a"),
    ("https://example.org/../..", "https://example.org/"),
    ("https://example.org/%7euser/%c3%a9%2F", "https://example.org/~user/%C3%A9%2F"),
    ("https://example.org/é b", "https://example.org/%C3%A9%20b"),
    ("https://example.org/100%", "https://example.org/100%25"),
    ("https://exаmple.com/", "https://xn--exmple-4nf.com/"),
    ("https://Bücher.example/", "https://xn--bcher-kva.example/"),
    ("https://[2001:DB8::1]:443/", "https://[2001:db8::1]/"),
    ("https://example.org/?utm_source=a&id=7&fbclid=x&b=", "https://example.org/?id=7&b="),
    ("https://example.org/?UTM_Medium=a", "https://example.org/"),
    ("https://example.org/?q=a+b&&q=c", "https://example.org/?q=a+b&q=c"),
    ("https://example.org/?spam=1&paid=2", "https://example.org/?spam=1&paid=2"),
    ("https://arxiv.org/abs/2310.01234v2", "https://arxiv.org/abs/2310.01234"),
    ("https://arxiv.org/pdf/2310.01234v2.pdf", "https://arxiv.org/abs/2310.01234"),
    ("http://www.arxiv.org/pdf/2310.01234", "http://arxiv.org/abs/2310.01234"),
    ("https://export.arxiv.org/html/2310.01234v1", "https://arxiv.org/abs/2310.01234"),
    ("https://arxiv.org/abs/hep-ex/0307015v1", "https://arxiv.org/abs/hep-ex/0307015"),
    ("https://arxiv.org/pdf/math.GT/0309136", "https://arxiv.org/abs/math.GT/0309136"),
    ("https://arxiv.org/list/cs.IR/new", "https://arxiv.org/list/cs.IR/new"),
]


@pytest.mark.parametrize(("url", "wanted"), SPELLINGS)
def test_an_address_has_one_spelling(url: str, wanted: str) -> None:
    assert canonical(url) == wanted


NONE = [
    "",
    "/a",
    "example.org/a",
    "ftp://example.org/",
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "obsidian://open?vault=x",
    "https://",
    "https:///a",
    "https://user@example.org/",
    "https://good.com\\@127.0.0.1/",
    "https://exa mple.org/",
    "https://example.org:99999/",
    "https://example.org:a/",
    "https://[::1",
    "https://[fe80::1%25eth0]/",
    "https://a..b/",
    f"https://{'ü' * 300}.org/",
    f"https://example.org/{'a' * 3000}",
]


@pytest.mark.parametrize("url", NONE)
def test_what_is_no_web_address_has_no_spelling(url: str) -> None:
    assert canonical(url) == ""


@given(st.one_of(st.text(), st.text("aA%2eé./?&=#:+~[]@ \\", max_size=30).map("https://example.org".__add__)))
def test_the_spelling_of_a_spelling_is_itself(url: str) -> None:
    found = canonical(url)
    assert canonical(found) == found
    assert found.isascii()


def test_scheme_slash_and_order_of_parameters_do_not_make_another_page() -> None:
    same = ["http://a.org/b/", "https://a.org/b", "https://a.org/b#c", "HTTPS://A.org:443/b/?utm_id=1"]
    assert identity("https://a.org/?b=1&a=2") == identity("https://a.org?a=2&b=1")
    other = ["https://www.a.org/b", "https://a.org/B", "https://a.org/b?c=1", "https://a.org:8443/b", "https://a.org/"]
    assert len({identity(url) for url in [*same, *other]}) == 6


def test_of_two_spellings_the_better_hit_stays_and_unsound_addresses_go() -> None:
    urls = ["https://a.org/b?utm_source=x", "javascript:x", "http://a.org/b/", "https://c.org"]
    hits = distinct(Hit(url=url, title=str(place)) for place, url in enumerate(urls))
    assert [(hit.url, hit.title) for hit in hits] == [("https://a.org/b", "0"), ("https://c.org/", "3")]
