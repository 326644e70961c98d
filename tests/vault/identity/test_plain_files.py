"""The signature of drawings and canvases: an edit shows, and the file stays what it is."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from pipeline.vault.identity import plain_files

LINES = st.lists(st.text(alphabet="abc 123", max_size=12), min_size=1, max_size=60)


@given(LINES)
def test_a_signed_drawing_is_valid_xml_and_known_as_untouched(lines: list[str]) -> None:
    drawing = "<svg>\n" + "\n".join(f"<text>{line}</text>" for line in lines) + "\n</svg>\n"
    signed = plain_files.signed("a.svg", drawing.encode())
    assert ElementTree.fromstring(signed).tag == "svg"  # noqa: S314
    assert plain_files.is_untouched("a.svg", signed)
    assert plain_files.bare_of("a.svg", signed) == drawing.encode()
    assert not plain_files.is_untouched("a.svg", signed.replace(b"<svg>", b"<svg id='mine'>"))


def test_a_drawing_signed_by_an_earlier_version_is_untouched_though_its_signature_has_hyphens() -> None:
    lines = (f"<text>{number}</text>" for number in range(10_000))
    drawing = next(data for line in lines if b"--" in _hyphened(data := f"<svg>\n{line}\n</svg>\n".encode()))
    assert plain_files.is_untouched("a.svg", _hyphened(drawing))


def _hyphened(drawing: bytes) -> bytes:
    head, mark, rest = plain_files.signed("a.svg", drawing).partition(b"<!-- generated: ")
    letters, end, _nothing = rest.partition(b" -->")
    return head + mark + letters.replace(b".", b"-") + end + b"\n"
