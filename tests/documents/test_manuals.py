from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.documents import text_and_manual_reader
from pipeline.documents.extractor import Extractor
from pipeline.documents.text_and_manual_reader import read_manual
from pipeline.errors import ReadFailed

PAGE = """.TH RSYNC 1 "2022-10-20"
.SH NAME
rsync \\- a fast, \\fIversatile\\fP tool
.SH OPTIONS
.TP
.BR \\-v ", " \\-\\-verbose
Say more of what is done.
.TP
.B \\-q
Say less.
"""
with_mandoc = pytest.mark.skipif(not text_and_manual_reader.mandoc(), reason="mandoc is not installed")


@with_mandoc
def test_a_manual_page_is_read_by_mandoc() -> None:
    document = read_manual(PAGE, "rsync")
    assert (document.title, document.media_type) == ("rsync(1): a fast, versatile tool", "text/troff")
    assert document.text.startswith("# rsync(1): a fast, versatile tool\n\n## NAME {#NAME}\n")
    assert "-v, --verbose" in document.text
    assert "Say more of what is done." in document.text


def test_without_mandoc_its_words_are_read_as_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_and_manual_reader, "mandoc", lambda: "")
    text = read_manual(PAGE, "rsync").text
    assert "rsync - a fast, versatile tool" in text
    assert "-v , --verbose" in text.replace('"', "").replace("  ", " ") or "--verbose" in text
    assert "Say more of what is done." in text


def test_a_page_that_only_names_another_is_refused() -> None:
    with pytest.raises(ReadFailed, match="reference to another manual page"):
        read_manual(".so man1/other.1\n", "x")


@pytest.mark.parametrize(
    "include",
    [
        ".so {}",
        "'so {}",
        ".  so {}",
        ".mso {}",
        ".ds x so\n.\\*x {}",
        ".de zz\n.so {}\n..\n.zz",
        ".als zz so\n.zz {}",
        ".PSPIC {}",
    ],
)
@pytest.mark.parametrize("relative", [True, False])
def test_no_other_file_is_shown_whatever_a_page_asks_for(include: str, relative: bool, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("CANARY of the other file.\n")
    name = "pyproject.toml" if relative else str(secret)
    source = f".TH X 1\n.SH NAME\nx \\- some tool\n.SH DESCRIPTION\nBefore it.\n{include.format(name)}\nAfter it.\n"
    extractor = Extractor()
    try:
        text = extractor.file(source.encode(), Path("x.1")).text
    finally:
        extractor.close()
    assert "CANARY" not in text
    assert "[build-system]" not in text
    assert "Before it." in text
