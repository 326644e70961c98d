from __future__ import annotations

import pytest

from pipeline.documents.extract import MAX_HTML, MAX_MARKDOWN, page_text
from pipeline.errors import ReadFailed
from tests.documents.pdfs import pdf

URL = "https://example.org/notes/the%20page.html?x=1"
BODY = "<p>" + "A sentence of the page that can be quoted. " * 5 + "</p>"


def page(markup: str) -> bytes:
    return f"<!doctype html><html><head><title>Title</title>{markup}</head><body>{BODY}</body></html>".encode()


@pytest.mark.parametrize(
    ("markup", "author", "published"),
    [
        ("", "", ""),
        (
            '<meta name=author content="Ada L."><meta property="article:published_time" content="2024-05-06T07:08:09Z">',
            "Ada L.",
            "2024-05-06",
        ),
        (
            '<script type="application/ld+json">{"@type": "Article", "datePublished": "2023-01-02T00:00:00Z",'
            '"author": {"@type": "Person", "name": "Grace H."}}</script>',
            "Grace H.",
            "2023-01-02",
        ),
        ('<script type="application/ld+json">{"author":[{"@type":"Person","name":"Grace H."}]}</script>', "Grace H.", ""),
        ('<time class=x datetime="2022-03-04T00:00">4 March</time>', "", "2022-03-04"),
        ('<meta name=date content="2021-01-01"><time datetime="2022-03-04">x</time>', "", "2021-01-01"),
    ],
)  # fmt: skip
def test_author_and_date_are_found_where_pages_keep_them(markup: str, author: str, published: str) -> None:
    document = page_text(page(markup), "text/html", URL)
    assert (document.title, document.author, document.published) == ("Title", author, published)


def test_each_kind_of_page_ends_in_the_one_page_text() -> None:
    pages = {
        "html": page_text(page(""), "text/html", URL),
        "markdown": page_text(b"# Head\n\nSome text.", "text/markdown", URL),
        "text": page_text(b"Some text\non two lines.", "text/plain", URL),
        "pdf": page_text(pdf([[(12, 700, "A line of text in a PDF file.")]]), "text/html", URL),
    }
    for document in pages.values():
        assert document.text.startswith(f"# {document.title}\n")
    assert pages["pdf"].media_type == "application/pdf"
    assert "Some text on two lines." in pages["text"].text


def test_a_page_without_a_title_is_named_by_its_address() -> None:
    assert page_text(b"just words", "text/plain", URL).title == "the page.html"
    assert page_text(b"just words", "text/plain", "https://example.org/").title == "example.org"


@pytest.mark.parametrize(
    ("data", "content_type", "why"),
    [
        (b"", "text/html", "empty"),
        (b"<html><body></body></html>", "text/html", "no text"),
        (b"<html><div id=root></div>" + b"<script src=x></script>" * 50, "text/html", "empty shell"),
        (b"<html><title>Just a moment...</title><p>Checking your browser</p>", "text/html", "captcha"),
        (b"<html><p>" + b"x " * MAX_HTML, "text/html", "million"),
        (b"[" * (MAX_MARKDOWN + 1), "text/markdown", "million"),
        (b"<html><p" + b" a=1" * 50_000 + b">x</p>", "text/html", "attributes"),
        (b"<html>" + b"<div>" * 20_000 + b"x", "text/html", "nested"),
        (b"%PDF-1.7\nnothing of the kind", "application/pdf", "."),
        (pdf([[]]), "application/pdf", "text layer"),
    ],
)
def test_what_holds_no_text_says_why(data: bytes, content_type: str, why: str) -> None:
    with pytest.raises(ReadFailed, match=why):
        page_text(data, content_type, URL)
