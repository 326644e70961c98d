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


def with_two_hyphens() -> bytes:
    """A drawing whose letters have two hyphens in a row."""
    lines = (f"<text>{number}</text>" for number in range(10_000))
    return next(data for line in lines if b"--" in _letters(_hyphened(data := f"<svg>\n{line}\n</svg>\n".encode())))


def test_two_hyphens_in_the_letters_do_not_make_a_drawing_invalid() -> None:
    assert ElementTree.fromstring(plain_files.signed("a.svg", with_two_hyphens())).tag == "svg"  # noqa: S314


def test_a_drawing_signed_by_an_earlier_version_is_untouched_though_its_signature_has_hyphens() -> None:
    assert plain_files.is_untouched("a.svg", _hyphened(with_two_hyphens()))


def _letters(drawing: bytes) -> bytes:
    return drawing.partition(b"generated: ")[2].removesuffix(b" -->\n")


def _hyphened(drawing: bytes) -> bytes:
    head, mark, rest = plain_files.signed("a.svg", drawing).partition(b"<!-- generated: ")
    letters, end, _nothing = rest.partition(b" -->")
    return head + mark + letters.replace(b".", b"-") + end + b"\n"
