from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.page_writer import MAX_BLOCKS
from pipeline.documents.read_document import MAX_BYTES, MAX_PDF_BYTES, decoded, parse, refuse_by_name_and_size
from pipeline.errors import ReadFailed


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("é".encode(), "é"),
        (b"\xef\xbb\xbf" + "é".encode(), "é"),
        ("é".encode("utf-16"), "é"),
        (b"\xfe\xff" + "é".encode("utf-16-be"), "é"),
        ("é – “x”".encode("cp1252"), "é – “x”"),
        (b"<meta charset=windows-1251>" + "слово".encode("cp1251"), "<meta charset=windows-1251>слово"),
        (b'<?xml version="1.0" encoding="ISO-8859-15"?>\xa4', '<?xml version="1.0" encoding="ISO-8859-15"?>€'),
        (b"<meta charset=utf-8>" + b"ok \xff ok", "<meta charset=utf-8>ok � ok"),
        (b"<meta charset=utf-7>+ADw-\xe9", "<meta charset=utf-7>+ADw-é"),
        (b"<meta charset=unicode_escape>\\u003c\xe9", "<meta charset=unicode_escape>\\u003cé"),
    ],
)
def test_text_is_decoded_by_its_mark_as_utf8_by_declaration_or_as_latin(data: bytes, expected: str) -> None:
    assert decoded(data) == expected


def test_nul_bytes_are_binary() -> None:
    with pytest.raises(ReadFailed, match="binary"):
        decoded(b"text \0 text")


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    try:
        assert isinstance(decoded(data), str)
    except ReadFailed:
        assert b"\0" in data


@pytest.mark.parametrize("name", ["a.md", "a.MARKDOWN", "a.html", "a.htm", "a.xhtml", "a.txt", "a.text", "a.rst"])
def test_the_suffix_says_what_a_file_is(name: str) -> None:
    assert "Some words." in parse(b"Some words.\n", Path(name)).text


@pytest.mark.parametrize("name", ["a.png", "a.docx", "a.tar.gz", "a.0", "a.conf", "archive.zip"])
def test_other_suffixes_are_refused(name: str) -> None:
    with pytest.raises(ReadFailed, match="unsupported file type"):
        parse(b"Some words.\n", Path(name))


@pytest.mark.parametrize(
    "name", ["README", "INSTALL", "changelog", "anything", "README.Debian", "coreutils-NEWS", "NEWS.Debian", "x.1"]
)
def test_files_that_are_known_by_a_word_and_files_without_suffix_are_text(name: str) -> None:
    assert "Some words." in parse(b"Some words.\n", Path(name)).text
    with pytest.raises(ReadFailed, match="binary"):
        parse(b"\x7fELF\0\0", Path(name))


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
    assert parse(text.encode(), Path("README")).media_type == media_type


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.md.gz", "text/markdown"), ("NEWS.md.gz", "text/markdown"), ("a.html.gz", "text/html"), ("NEWS.gz", "text/plain"),
     ("NEWS.Debian.gz", "text/plain"), ("a.1.gz", "text/troff"), ("a.1ssl.gz", "text/troff")],
)  # fmt: skip
def test_packed_files_are_read_as_what_they_hold(name: str, media_type: str) -> None:
    source = ".TH A 1\n.SH NAME\na \\- b\n" if media_type == "text/troff" else "Some words.\n"
    assert parse(gzip.compress(source.encode()), Path(name)).media_type == media_type


def test_a_packed_file_that_holds_too_much_is_refused_without_unpacking_it_whole() -> None:
    with pytest.raises(ReadFailed, match="larger than the limit of 10 MB"):
        parse(gzip.compress(b"0" * (MAX_BYTES + 1)), Path("a.txt.gz"))


@pytest.mark.parametrize("data", [b"no gzip", gzip.compress(b"word " * 100, mtime=0)[:-20], b"\x1f\x8b\x08\x00" + b"x" * 40])
def test_a_damaged_packed_file_is_refused(data: bytes) -> None:
    with pytest.raises(ReadFailed, match="damaged"):
        parse(data, Path("a.txt.gz"))


@pytest.mark.parametrize(
    ("path", "title"),
    [("coreutils/NEWS.gz", "coreutils NEWS"), ("x/coreutils-NEWS.gz", "coreutils NEWS"), ("bash/copyright", "bash copyright"),
     ("x/tar-README.Debian.gz", "tar README.Debian"), ("bash/README.txt", "bash README"), ("x/notes.txt", "notes")],
)  # fmt: skip
def test_a_file_without_title_is_called_by_its_word_and_what_it_is_about(path: str, title: str) -> None:
    data = b"some words\nand more.\n"
    assert parse(gzip.compress(data) if path.endswith(".gz") else data, Path(path)).title == title


@pytest.mark.parametrize("data", [b"", b" \n\t", b"---\ntitle: x\n---\n", b"<!-- x -->"])
def test_a_file_without_text_is_refused(data: bytes) -> None:
    with pytest.raises(ReadFailed, match=r"empty|no text"):
        parse(data, Path("a.md"))


def test_files_over_the_limit_are_refused_before_they_are_opened() -> None:
    refuse_by_name_and_size(Path("a.md"), MAX_BYTES)
    refuse_by_name_and_size(Path("a.pdf"), MAX_PDF_BYTES)
    with pytest.raises(ReadFailed, match="50 MB"):
        refuse_by_name_and_size(Path("a.md"), 50_000_000)
    with pytest.raises(ReadFailed, match="30 MB"):
        refuse_by_name_and_size(Path("a.pdf"), MAX_PDF_BYTES + 1)


def test_line_ends_of_all_systems_are_the_same() -> None:
    texts = {parse(f"# A{end}{end}b{end}c{end}".encode(), Path("x.md")).text for end in ("\n", "\r\n", "\r")}
    assert texts == {"# A\n\nb c\n"}


def test_control_and_direction_marks_do_not_reach_the_page() -> None:
    assert parse("a\u202eb\u200bc\x07d".encode(), Path("x.txt")).text == "# x\n\nabcd\n"


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.html"])
def test_a_file_of_countless_paragraphs_is_refused(name: str) -> None:
    with pytest.raises(ReadFailed, match="paragraphs"):
        parse(b"<p>a\n\n" * (MAX_BLOCKS + 1), Path(name))
