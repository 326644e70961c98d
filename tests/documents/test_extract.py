"""What kind of file bytes are, by name, header and content; their limits; what is said of files that cannot be read."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.extract import MAX_BYTES, MAX_PDF_BYTES, MAX_TEXT, accepted_kind, extract
from pipeline.errors import ReadFailed
from pipeline.ports import Page
from tests.documents.pdfs import pdf

URL = "https://example.org/notes/the%20page.html?x=1"
BODY = "<p>" + "A sentence of the page that can be quoted. " * 5 + "</p>"
HTML = b"<!doctype html><title>T</title><p>" + b"A sentence of this page can be quoted here. " * 5
PDF = pdf([[(12, 700, "A line of text in a PDF file.")]])


def page(markup: str) -> bytes:
    return f"<!doctype html><html><head><title>Title</title>{markup}</head><body>{BODY}</body></html>".encode()


def sent(data: bytes, content_type: str = "text/html", url: str = URL) -> Page:
    return extract(data, content_type=content_type, url=url)


def file(data: bytes, name: str) -> Page:
    return extract(data, path=name)


@pytest.mark.parametrize(
    ("markup", "author", "published"),
    [
        ("", "", ""),
        (
            '<meta name=author content="Ada L."><meta property="article:published_time" content="2024-05-06T07:08:09Z">',
            "Ada L.",
            "2024-05-06",
        ),
        ('<time class=x datetime="2022-03-04T00:00">4 March</time>', "", "2022-03-04"),
        ('<meta name=date content="2021-01-01"><time datetime="2022-03-04">x</time>', "", "2021-01-01"),
    ],
)
def test_author_and_date_are_found_where_pages_keep_them(markup: str, author: str, published: str) -> None:
    document = sent(page(markup))
    assert (document.title, document.author, document.published) == ("Title", author, published)


@pytest.mark.parametrize(
    ("markup", "notices"),
    [
        ('<meta name="robots" content="noindex, noai">', ("noai",)),
        ("<meta name=ROBOTS content='NOAI, noimageai'>", ("noai", "noimageai")),
        ('<meta name="night-research" content="noai">', ("noai",)),
        ('<meta name="tdm-reservation" content="1">', ("tdm-reservation",)),
        ('<meta name="tdm-reservation" content="0"><meta name=description content=noai>', ()),
    ],
)
def test_what_a_page_asks_of_programs_is_kept(markup: str, notices: tuple[str, ...]) -> None:
    assert sent(page(markup)).notices == notices


@pytest.mark.parametrize(
    ("data", "declared", "url", "media_type"),
    [
        (HTML, "text/html", "http://e.org/", "text/html"),
        (HTML, "application/pdf", "http://e.org/a.pdf", "text/html"),
        (HTML, "", "http://e.org/a.txt", "text/html"),
        (HTML, "text/plain", "http://e.org/", "text/html"),
        (b"\xef\xbb\xbf" + HTML, "", "http://e.org/", "text/html"),
        (b"\n\n  <!-- x --><html>" + HTML, "", "http://e.org/", "text/html"),
        (b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html>' + HTML, "application/xhtml+xml", "http://e.org/", "text/html"),
        (b"just words", "text/html; charset=utf-8", "http://e.org/", "text/html"),
        (PDF, "text/html", "http://e.org/", "application/pdf"),
        (b"\r\n" + PDF, "application/pdf", "http://e.org/", "application/pdf"),
        (b"# Head\n\ntext", "text/markdown", "http://e.org/", "text/markdown"),
        (b"# Head\n\ntext", "text/plain", "http://e.org/README.md?raw=1", "text/markdown"),
        (b"just words", "", "http://e.org/", "text/plain"),
        (b"%PDF is how a PDF file begins, as in %PDF-1.7", "text/plain", "http://e.org/", "text/plain"),
        (b'{"a": 1}', "application/json", "http://e.org/", "text/plain"),
        ("words".encode("utf-16"), "text/plain", "http://e.org/", "text/plain"),
    ],
)
def test_what_a_page_is_is_told_by_its_bytes(data: bytes, declared: str, url: str, media_type: str) -> None:
    document = sent(data, declared, url)
    assert document.media_type == media_type
    assert document.text.startswith(f"# {document.title}\n")


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        (b"", "text/html"),
        (b" \n", "text/html"),
        (b"\x89PNG\r\n\x1a\n", "text/html"),
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
        sent(data, declared, "http://e.org/")


@pytest.mark.parametrize(
    ("data", "content_type", "why"),
    [
        (b"<html><body></body></html>", "text/html", "no text"),
        (b"<html><div id=root></div>" + b"<script src=x></script>" * 50, "text/html", "empty shell"),
        (b"<html><p>" + b"x " * MAX_TEXT, "text/html", "million"),
        (b"%PDF-1.7\nnothing of the kind", "application/pdf", "."),
        (pdf([[]]), "application/pdf", "text layer"),
    ],
)
def test_what_holds_no_text_says_why(data: bytes, content_type: str, why: str) -> None:
    with pytest.raises(ReadFailed, match=why):
        sent(data, content_type)


def test_pictures_that_are_written_into_a_page_do_not_make_it_too_large() -> None:
    picture = b"<img src='data:image/png;base64," + b"A" * 3_600_000 + b"'>"
    assert "can be quoted here" in sent(HTML + picture).text


@pytest.mark.parametrize(
    "name", ["a.md", "a.MARKDOWN", "a.html", "a.htm", "a.xhtml", "a.txt", "a.text", "a.rst", "README", "x.1"]
)
def test_the_name_says_what_a_file_is(name: str) -> None:
    assert "Some words." in file(b"Some words.\n", name).text
    with pytest.raises(ReadFailed, match="binary"):
        file(b"\x7fELF\0\0", name)


@pytest.mark.parametrize(
    ("text", "media_type"),
    [
        ("<!DOCTYPE html><p>x", "text/html"),
        ("# Title\n\n## Part\n\nSee [this](https://x.org).\n", "text/markdown"),
        ("#!/bin/sh\n# a script\n\necho\n", "text/plain"),
        ("Title\n=====\n\ntext\n", "text/plain"),
    ],
)
def test_a_file_without_suffix_is_what_it_begins_like(text: str, media_type: str) -> None:
    assert file(text.encode(), "README").media_type == media_type


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.md.gz", "text/markdown"), ("NEWS.md.gz", "text/markdown"), ("a.html.gz", "text/html"), ("NEWS.gz", "text/plain")],
)
def test_packed_files_are_read_as_what_they_hold(name: str, media_type: str) -> None:
    assert file(gzip.compress(b"Some words.\n"), name).media_type == media_type


def test_a_packed_file_that_holds_too_much_is_refused_without_unpacking_it_whole() -> None:
    with pytest.raises(ReadFailed, match="larger than the limit of 10 MB"):
        file(gzip.compress(b"0" * (MAX_BYTES + 1)), "a.txt.gz")


@pytest.mark.parametrize("data", [b"no gzip", gzip.compress(b"word " * 100, mtime=0)[:-20], b"\x1f\x8b\x08\x00" + b"x" * 40])
def test_a_damaged_packed_file_is_refused(data: bytes) -> None:
    with pytest.raises(ReadFailed, match="damaged"):
        file(data, "a.txt.gz")


@pytest.mark.parametrize(
    ("path", "title"),
    [("coreutils/NEWS.gz", "coreutils NEWS"), ("x/coreutils-NEWS.gz", "coreutils NEWS"), ("bash/copyright", "bash copyright"),
     ("x/tar-README.Debian.gz", "tar README.Debian"), ("bash/README.txt", "bash README"), ("x/notes.txt", "notes")],
)  # fmt: skip
def test_a_file_without_title_is_called_by_its_word_and_what_it_is_about(path: str, title: str) -> None:
    data = b"some words\nand more.\n"
    assert file(gzip.compress(data) if path.endswith(".gz") else data, path).title == title


def test_files_over_the_limit_are_refused_before_they_are_opened() -> None:
    accepted_kind(Path("a.md"), MAX_BYTES)
    accepted_kind(Path("a.pdf"), MAX_PDF_BYTES)
    with pytest.raises(ReadFailed, match="50 MB"):
        accepted_kind(Path("a.md"), 50_000_000)
    with pytest.raises(ReadFailed, match="30 MB"):
        accepted_kind(Path("a.pdf"), MAX_PDF_BYTES + 1)


def test_control_and_direction_marks_do_not_reach_the_page() -> None:
    assert file("a\u202eb\u200bc\x07d".encode(), "x.txt").text == "# x\n\nabcd\n"


@pytest.mark.parametrize("name", ["a.txt", "a.html"])
def test_a_file_of_countless_paragraphs_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.documents.page_writer.MAX_BLOCKS", 1_000)
    with pytest.raises(ReadFailed, match="more than 1,000 paragraphs"):
        file(b"<p>a\n\n" * 1_001, name)


@given(st.binary(max_size=300), st.text(max_size=60))
def test_any_bytes_under_any_header_are_something_or_refused(data: bytes, content_type: str) -> None:
    with suppress(ReadFailed):
        assert sent(data, content_type, "http://e.org/").text
