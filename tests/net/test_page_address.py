from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ReadFailed
from pipeline.net.pages import redirect_target
from pipeline.text.addresses import requested


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://Example.ORG", "https://example.org/"),
        ("https://example.org/A?b=C#frag", "https://example.org/A?b=C"),
        ("https://bücher.example/ü ß?q=ä", "https://xn--bcher-kva.example/%C3%BC%20%C3%9F?q=%C3%A4"),
        ("https://exаmple.com/", "https://xn--exmple-4nf.com/"),
        ("https://example.org/%7Ea/%zz", "https://example.org/%7Ea/%zz"),
        ("  https://example.org/a\n", "https://example.org/a"),
    ],
)
def test_an_address_is_written_in_one_way(url: str, wanted: str) -> None:
    assert requested(url) == wanted
    assert requested(wanted) == wanted


@pytest.mark.parametrize("url", ["http://[/", "http://" + "ü" * 300 + ".org/"])
def test_what_cannot_be_understood_is_refused(url: str) -> None:
    with pytest.raises(ReadFailed):
        requested(url)
    with pytest.raises(ReadFailed):
        redirect_target("https://example.org/", url)


@given(st.text())
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        found = requested("https://" + text)
    except ReadFailed:
        found = ""
    assert "#" not in found
    assert found.isascii()
