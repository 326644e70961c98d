"""``embedded``: a note that another shows, or a part of it, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from pipeline.site.markdown.html_render_rules import href_of
from pipeline.site.markdown.note_draft import Draft
from pipeline.site.markdown.note_to_html import Reader
from pipeline.site.note_record import Face, body_of
from pipeline.site.paths import Places, page_of, root_of


def embedded(reader: Reader, places: Places, face: Face, slot: Sequence[str], shown: Face | None, data: bytes) -> Markup:
    """Return what the note ``face`` shows in a slot (path, place, words); ``data`` are the bytes of the file there."""
    path, place, _words = slot
    root = root_of(page_of(face.path))
    body = reader.read_part(body_of(data), place, Draft(path, root, places, nested=True))
    link = f'<a class="internal" href="{escape(href_of(root, path, place))}">{escape(shown.title if shown else path)}</a>'
    html = f'<div class="embed note">\n<p class="embed-title">{link}</p>\n<div class="embed-body">\n{body}</div>\n</div>\n'
    return Markup(html)  # noqa: S704 - every text in it was escaped on the way
