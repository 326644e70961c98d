from __future__ import annotations

import pytest

from pipeline.documents.usage_notices import notices_in_headers, notices_in_html


@pytest.mark.parametrize(
    ("markup", "notices"),
    [
        ('<meta name="robots" content="noai, noimageai">', ("noai", "noimageai")),
        ("<META content=NOAI name=robots>", ("noai",)),
        ('<meta name="tdm-reservation" content="1">', ("tdm-reservation",)),
        ('<meta name="tdm-reservation" content="0">', ()),
        ('<meta name="robots" content="noindex">', ()),
        ('<meta name="description" content="what noai means">', ()),
        ("<p>noai</p>", ()),
    ],
)
def test_notices_are_read_from_the_meta_elements(markup: str, notices: tuple[str, ...]) -> None:
    assert notices_in_html(f"<html><head>{markup}<title>x</title>") == notices


@pytest.mark.parametrize(
    ("headers", "notices"),
    [
        ({"x-robots-tag": "noindex, noai"}, ("noai",)),
        ({"tdm-reservation": "1"}, ("tdm-reservation",)),
        ({"tdm-reservation": "0", "x-robots-tag": "none"}, ()),
        ({}, ()),
    ],
)
def test_notices_are_read_from_the_headers(headers: dict[str, str], notices: tuple[str, ...]) -> None:
    assert notices_in_headers(headers) == notices
