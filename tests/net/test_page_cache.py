from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.net import pages as module
from pipeline.net.pages import PageCache
from pipeline.ports import Page
from pipeline.text.redaction import Redaction, Secret

PAGE = Page("https://example.org/ü", "T ü", "# T\n\ntext", "text/html", "A", "2024-01-01")


def test_a_page_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    pages = PageCache(tmp_path / "new" / "folder")
    assert pages.get(PAGE.url) is None
    pages.put(PAGE.url, PAGE, {"etag": '"e"'})
    pages.put(PAGE.url, PAGE, {"etag": '"f"'})
    assert pages.get(PAGE.url) == (PAGE, {"if-none-match": '"f"'})
    assert pages.get("https://example.org/other") is None


def test_a_page_that_holds_a_key_is_kept_without_it(tmp_path: Path) -> None:
    pages = PageCache(tmp_path, Redaction([Secret('canary "1"')]).data)
    pages.put(PAGE.url, replace(PAGE, text='use canary "1" here'), {"etag": "e"})
    assert pages.get(PAGE.url) == (replace(PAGE, text="use [redacted] here"), {"if-none-match": "e"})


@pytest.mark.parametrize("data", [b"", b"not gzip", b"\x1f\x8b\x08\x00cut"])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, data: bytes) -> None:
    pages = PageCache(tmp_path)
    pages.put(PAGE.url, PAGE, {"etag": "e"})
    for file in tmp_path.iterdir():
        file.write_bytes(data)
    assert pages.get(PAGE.url) is None


def test_no_more_than_so_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAGES", 3)
    pages = PageCache(tmp_path)
    for number in range(6):
        pages.put(f"https://example.org/{number}", PAGE, {"etag": "e"})
    assert len(list(tmp_path.iterdir())) == 3
    assert pages.get("https://example.org/5") is not None


@pytest.mark.parametrize(
    ("headers", "conditions"),
    [
        ({}, None),
        ({"etag": '"a"'}, {"if-none-match": '"a"'}),
        ({"etag": 'W/"a"', "last-modified": "x"}, {"if-none-match": 'W/"a"', "if-modified-since": "x"}),
        ({"etag": '"a"', "cache-control": "private, No-Store"}, None),
        ({"etag": "a\r\nx: y"}, None),
        ({"etag": "ü"}, None),
        ({"etag": "a" * 201}, None),
    ],
)
def test_only_what_can_be_asked_with_again_is_kept(
    tmp_path: Path, headers: dict[str, str], conditions: dict[str, str] | None
) -> None:
    pages = PageCache(tmp_path)
    pages.put(PAGE.url, PAGE, headers)
    assert pages.get(PAGE.url) == (conditions and (PAGE, conditions))
