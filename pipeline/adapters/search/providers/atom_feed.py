"""Atom feeds from strangers: no document type and no entities, so nothing in them can grow or reach outside."""

from __future__ import annotations

from xml.etree import ElementTree

from pipeline.errors import Malformed

ATOM = "{http://www.w3.org/2005/Atom}"
Element = ElementTree.Element


def feed_in(body: bytes) -> Element:
    """Return the feed in ``body``, UTF-8.

    Raises:
        Malformed: it is none, or one with a document type.
    """
    try:
        text = body.decode("utf-8-sig")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise Malformed("doctype", "the feed declares a document type, which no feed needs")
        feed = ElementTree.fromstring(text.strip())  # noqa: S314 - a document that could declare entities was refused above
    except (UnicodeDecodeError, ElementTree.ParseError, ValueError):
        raise Malformed("xml", "the reply is no XML that can be read") from None
    if feed.tag != f"{ATOM}feed":
        raise Malformed("shape", "the reply is no Atom feed")
    return feed
