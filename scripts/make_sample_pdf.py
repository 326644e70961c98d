"""Writes the sample corpus's PDF from the text below, object by object, without any library.

The bytes depend on this file alone (no date, no compression, no random id), so the PDF in the corpus can be compared with
what this script makes. Run from anywhere: ``python scripts/make_sample_pdf.py``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TARGET = Path(__file__).resolve().parent.parent / "corpus" / "checksums-and-torn-writes.pdf"
TITLE = "Checksums and torn writes: a survey"
TEXT = """\
# Checksums and torn writes: a survey

## Summary

A checksum shows that a record was damaged, but a checksum cannot show that a record is missing. An append-only log
therefore needs three things to survive a power cut: a flush before each acknowledgement, a checksum in each record, and a
way to tell where the log should end. Operating systems, drives and log formats each contribute a part, and none of them is
sufficient alone.

## What can go wrong in a power cut

A power cut can damage the end of a log in four ways. The last record can be cut short, which is called a torn write. The
file can have its new length while the new bytes are still zeros. Sectors can arrive out of order, so that the end of a
record is on the disk while its middle is not. A complete record that the drive had promised to keep can be missing without
a trace.

A cut record, a zeroed tail and a missing sector leave bytes that contradict each other, and a checksum recognises them. A
missing record leaves a log that looks perfect. A checksum per record does not catch every torn write at the end of a log,
because a log that was cut exactly at a record boundary contains no damaged record at all.

## How strong is a checksum?

A 32-bit CRC detects every burst error of up to 32 bits and misses a random change with a probability of about 1 in 4.3
billion. A cryptographic hash such as SHA-256 makes an undetected change practically impossible, whether it happens by
accident or on purpose. The price of a hash is moderate: a current processor computes SHA-256 at several hundred megabytes
per second, and with special instructions at more than one gigabyte per second. A log record of 500 bytes costs a few
microseconds at most, which is little beside a flush of two milliseconds.

Parsing is not a checksum. A record in JSON whose digit 3 has become a 7 is still valid JSON. Programs that rely on the
parser to find damage accept most of the single-bit changes inside texts and numbers.

## Chains and counters

A hash chain adds the hash of the previous record to each record. Removing, inserting or reordering a record breaks the
chain at that place, and a verifier can name the first bad record. A counter in each record detects a gap with less effort,
but a counter does not prove that the records before the gap are unaltered.

    record n:    number, body, hash(record n-1), hash(this record)
    verify:      every hash matches, and numbers rise by one

Neither a chain nor a counter reveals that the last records are missing, since a shorter chain is also a valid chain. Only a
witness outside the log can reveal the loss: a second copy, a receipt held by the client, or the last hash stored on another
machine.

## What drives do

Drives differ more than their data sheets suggest. In a test of 40 laptops, 9 laptops lost acknowledged records after a
power cut, although the program had waited for each flush. All of the losses occurred on consumer drives without power-loss
protection. A drive with power-loss protection keeps enough energy in capacitors to write its cache to permanent memory.

Sector size matters for torn writes. A drive with physical sectors of 4,096 bytes can tear a record only at multiples of
4,096 bytes, and a drive with sectors of 512 bytes can tear it at eight times as many places. No common standard obliges a
consumer drive to write more than one sector atomically.

## What operating systems do

Linux keeps modified data in memory for about 30 seconds before writing it to the disk, unless a program asks for a flush. A
flush with fdatasync writes the data and the length of the file. After a rename, an fsync of the parent directory is needed
as well, since the name of a file is stored in the directory and not in the file.

A flush can fail. PostgreSQL treats a failed fsync as a fatal error, because a second attempt may report success although
the data was dropped. Other programs that keep a log should do the same: stop, reopen the log, and continue after the last
valid record.

## A comparison of log formats

LevelDB cuts its log into blocks of 32 KB, and a header of 7 bytes precedes each fragment of a record. SQLite gives each
frame of its write-ahead log a header of 24 bytes and lets the checksum run on from frame to frame. Line-based logs in JSON
need no header: the line end marks the end of the record, and a hash at the end of the line covers everything before it.
Line-based logs are larger than binary logs, but a person can read them with any editor.

## Limits and open problems

A checksum that is computed after the data has been damaged in memory protects the damage. Machines without error-correcting
memory are therefore a weak point that no log format can repair. Verification reads the whole log, so large logs are
verified rarely, and slow decay is found late. A log of one million records of 500 bytes has 500 megabytes and can be
verified within a few seconds, which removes the excuse for most systems.

However, the greatest weakness is not technical. Recovery code runs only after a crash, and few teams crash their systems on
purpose. A recovery that has never been tried should be assumed not to work.
"""

PAGE_WIDTH, PAGE_HEIGHT, MARGIN = 595, 842, 72  # A4 in points
FOOTER_HEIGHT = 40


class Style(NamedTuple):
    """How a kind of block is set. Sizes in points; ``columns`` is the wrapping width in characters."""

    font: str
    size: int
    leading: int
    above: int
    columns: int


BODY = Style("F1", 12, 16, 9, 76)
HEADING = Style("F2", 14, 20, 20, 60)
HEADLINE = Style("F2", 20, 28, 0, 42)
CODE = Style("F3", 10, 14, 9, 80)
FOOTER = Style("F1", 9, 12, 0, 90)
FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Courier"}


class Line(NamedTuple):
    """One line of text, its style, and the distance of its base line from the page's lower edge, in points."""

    text: str
    style: Style
    height: int


def blocks(text: str) -> Iterator[tuple[Style, list[str]]]:
    """Yield each block of ``text`` with its style, wrapped into lines."""
    for block in text.strip().split("\n\n"):
        if block.startswith("    "):
            yield CODE, textwrap.dedent(block).split("\n")
            continue
        style = HEADLINE if block.startswith("# ") else HEADING if block.startswith("## ") else BODY
        plain = " ".join(block.lstrip("# ").split())
        yield style, textwrap.wrap(plain, style.columns, break_long_words=False, break_on_hyphens=False)


def pages(text: str) -> list[list[Line]]:
    """Return the lines of each page. A block is never parted, and a heading stays with the block after it."""
    done: list[list[Line]] = [[]]
    top = PAGE_HEIGHT - MARGIN
    all_blocks = list(blocks(text))
    for number, (style, lines) in enumerate(all_blocks):
        needed = _room(style, lines)
        if style in (HEADING, HEADLINE) and number + 1 < len(all_blocks):
            needed += _room(*all_blocks[number + 1])
        if top - needed < MARGIN:
            done.append([])
            top = PAGE_HEIGHT - MARGIN
        top -= style.above
        done[-1] += [Line(line, style, top - style.leading * (row + 1)) for row, line in enumerate(lines)]
        top -= style.leading * len(lines)
    return done


def _room(style: Style, lines: list[str]) -> int:
    return style.above + style.leading * len(lines)


def _literal(text: str) -> bytes:
    """Return ``text`` as a PDF string literal in the fonts' encoding."""
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return b"(" + escaped.encode("cp1252") + b")"


def _content(lines: Iterable[Line]) -> bytes:
    shown = [
        b"BT /%s %d Tf %d %d Td %s Tj ET" % (line.style.font.encode(), line.style.size, MARGIN, line.height, _literal(line.text))
        for line in lines
    ]
    body = b"\n".join(shown)
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(body), body)


def _page_objects(all_pages: list[list[Line]], first: int) -> Iterator[bytes]:
    """Yield a page object and its content for each page; ``first`` is the number of the first of these objects."""
    resources = b" ".join(b"/%s %d 0 R" % (key.encode(), number) for number, key in enumerate(FONTS, start=4))
    for index, lines in enumerate(all_pages):
        footer = Line(f"Page {index + 1} of {len(all_pages)}", FOOTER, FOOTER_HEIGHT)
        yield b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Resources << /Font << %s >> >> /Contents %d 0 R >>" % (
            PAGE_WIDTH,
            PAGE_HEIGHT,
            resources,
            first + 2 * index + 1,
        )
        yield _content([*lines, footer])


def _objects(title: str, text: str) -> list[bytes]:
    """Return the bodies of all objects in order; the first has the number 1."""
    all_pages = pages(text)
    first = 4 + len(FONTS)
    kids = b" ".join(b"%d 0 R" % (first + 2 * index) for index in range(len(all_pages)))
    fonts = [
        b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>" % name.encode() for name in FONTS.values()
    ]
    return [
        b"<< /Type /Catalog /Pages 2 0 R /Lang (en) >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(all_pages), kids),
        b"<< /Title %s >>" % _literal(title),
        *fonts,
        *_page_objects(all_pages, first),
    ]


def document(title: str = TITLE, text: str = TEXT) -> bytes:
    """Return a PDF 1.4 file of ``text``: ``#`` headings, paragraphs, and code blocks indented by four blanks.

    Raises:
        UnicodeEncodeError: a character is missing from Windows-1252, the fonts' encoding.
    """
    data = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    offsets = []
    bodies = _objects(title, text)
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info 3 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1) + table + trailer


if __name__ == "__main__":
    TARGET.write_bytes(document())
