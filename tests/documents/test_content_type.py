from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.charset import decoded
from pipeline.documents.content_type import detect
from pipeline.errors import ReadFailed

HTML = b"<!doctype html><title>T</title><p>x"
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"


@pytest.mark.parametrize(
    ("data", "declared", "url", "kind"),
    [
        (HTML, "text/html", "http://e.org/", "html"),
        (HTML, "application/pdf", "http://e.org/a.pdf", "html"),
        (HTML, "", "http://e.org/a.txt", "html"),
        (HTML, "text/plain", "http://e.org/", "html"),
        (HTML, "application/octet-stream", "http://e.org/", "html"),
        (b"\xef\xbb\xbf" + HTML, "", "http://e.org/", "html"),
        (b"\n\n  <!-- x --><html>", "", "http://e.org/", "html"),
        (b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html>', "application/xhtml+xml", "http://e.org/", "html"),
        (b"just words", "text/html; charset=utf-8", "http://e.org/", "html"),
        (PDF, "text/html", "http://e.org/", "pdf"),
        (PDF, "", "http://e.org/", "pdf"),
        (b"\r\n" + PDF, "application/pdf", "http://e.org/", "pdf"),
        (b"# Head\n\ntext", "text/markdown", "http://e.org/", "markdown"),
        (b"# Head\n\ntext", "text/plain", "http://e.org/README.md?raw=1", "markdown"),
        (b"just words", "text/plain", "http://e.org/", "text"),
        (b"just words", "", "http://e.org/", "text"),
        (b'{"a": 1}', "application/json", "http://e.org/", "text"),
        ("words".encode("utf-16"), "text/plain", "http://e.org/", "text"),
    ],
)
def test_what_bytes_are_is_told_by_the_bytes(data: bytes, declared: str, url: str, kind: str) -> None:
    assert detect(data, declared, url).kind == kind


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        (b"", "text/html"),
        (b" \n", "text/html"),
        (b"\x89PNG\r\n\x1a\n", "text/html"),
        (b"GIF89a", "text/plain"),
        (b"PK\x03\x04" + b"x" * 50, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"\x1f\x8b\x08\x00" + b"\x00" * 40, "text/html"),
        (bytes(range(256)) * 20, "text/plain"),
        (b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "b">]><lolz>&a;</lolz>', "text/xml"),
        (b"<rss version='2.0'>", "application/rss+xml"),
        (b"<svg xmlns='x'><script>alert(1)</script></svg>", "image/svg+xml"),
        (b"not a picture", "image/png"),
        ("words".encode("utf-32-le"), "text/plain"),
    ],
)
def test_what_is_no_page_is_refused(data: bytes, declared: str) -> None:
    with pytest.raises(ReadFailed):
        detect(data, declared, "http://e.org/")


WORDS = {
    "utf-8": "Grüße, żółw, 日本",
    "iso-8859-1": "Grüße",
    "windows-1252": "“Grüße”",
    "iso-8859-2": "żółw",
    "windows-1251": "Привет",
    "koi8-r": "Привет",
    "iso-8859-9": "ığşİ",
    "windows-1253": "Γειά",
    "shift_jis": "日本語テキスト",
    "euc-jp": "日本語テキスト",
    "iso-2022-jp": "日本語テキスト",
    "gb18030": "中文文本",
    "big5": "中文文本",
    "euc-kr": "한국어",
}


@pytest.mark.parametrize("charset", sorted(WORDS))
def test_a_page_in_each_usual_charset_is_read_by_its_header_and_by_what_it_says_itself(charset: str) -> None:
    page = f"<html><meta charset={charset}><p>{WORDS[charset]}".encode(charset)
    assert WORDS[charset] in decoded(page, f"text/html; charset={charset}")
    assert WORDS[charset] in decoded(page, f'text/html;charset="{charset.upper()}"')
    assert WORDS[charset] in decoded(page, "text/html")


@pytest.mark.parametrize(
    "charset",
    ["utf-7", "unicode_escape", "raw_unicode_escape", "idna", "punycode", "zlib", "rot13", "hex", "base64", "bz2", "uu", "mbcs",
     "undefined", "utf-32", "x" * 39, "../../etc/passwd"],
)  # fmt: skip
def test_a_charset_that_is_no_charset_is_not_followed(charset: str) -> None:
    page = b"<html><p>+ADw-script+AD4- \\u003cscript\\u003e plain"
    assert decoded(page, f"text/html; charset={charset}") == page.decode("ascii")
    assert decoded(b"<meta charset=" + charset.encode() + b">" + page, "").endswith("plain")


def test_a_mark_wins_over_what_is_declared() -> None:
    assert decoded(b"\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe", "text/html; charset=iso-8859-1") == "Grüße"
    assert decoded("Grüße".encode("utf-16"), "text/html; charset=utf-8") == "Grüße"


def test_undeclared_text_that_is_not_utf8_is_windows_latin() -> None:
    assert decoded("“Grüße”".encode("cp1252"), "") == "“Grüße”"


@given(st.binary(max_size=300), st.text(max_size=60))
def test_any_bytes_under_any_header_are_something_or_refused(data: bytes, content_type: str) -> None:
    try:
        kind: str = detect(data, content_type, "http://e.org/").kind
    except ReadFailed:
        kind = "refused"
    assert kind in ("html", "pdf", "markdown", "text", "refused")
