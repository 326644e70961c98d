"""Minimal PDF files, written by hand."""

from __future__ import annotations

from collections.abc import Sequence

Line = tuple[float, float, str] | tuple[float, float, str, float]
"""Font size, distance from the page's foot, text, and distance from its left edge."""
_TURNS = ("1 0 0 1", "0 1 -1 0", "-1 0 0 -1", "0 -1 1 0")


def pdf(pages: Sequence[Sequence[Line]], info: str = "", turned: int = 0, drawn: str = "") -> bytes:
    """Return a PDF of ``pages`` in Helvetica; ``info`` is the body of its information dictionary, ``drawn`` is on each page.

    The text is ``turned`` by so many quarters to the left.
    """
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * number} 0 R"
        objects.append(f"{page} /Resources << /Font << /F 3 0 R >> >> >>".encode())
        places = ("0 0", "800 0", "600 800", "0 600")
        stream = f"{_TURNS[turned]} {places[turned]} cm\n{drawn}\n".encode() + _stream(lines)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    objects.append(f"<< {info} >>".encode())
    return _file(objects)


def nested_forms(depth: int, times: int = 10) -> bytes:
    """Return a PDF of some 230 bytes a level that draws a text ``times ** depth`` times: a form draws the next one so often."""
    drawn = b"/X Do " * times
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /XObject << /X 6 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for level in range(1, depth + 1):
        last = level == depth
        content = _show(9, 10, "laughs").encode() if last else drawn
        used = b"/Font << /F 5 0 R >>" if last else b"/XObject << /X %d 0 R >>" % (6 + level)
        form = b"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << %s >> /Length %d >>"
        objects.append(form % (used, len(content)) + b"\nstream\n%s\nendstream" % content)
    return _file([*objects, b"<< >>"])


def _stream(lines: Sequence[Line]) -> bytes:
    return "\n".join(_show(*line) for line in lines).encode("latin-1")


def _show(size: float, foot: float, text: str, left: float = 50) -> str:
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT /F {size} Tf {left} {foot} Td ({escaped}) Tj ET"


def _file(objects: Sequence[bytes]) -> bytes:
    data = b"%PDF-1.4\n"
    places: list[int] = []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        len(objects),
        len(data),
    )
    return data + head + table + trailer
