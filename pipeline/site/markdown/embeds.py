"""``EmbedRenderer``: embedded files as HTML: a base as a table, a note or a part of it as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from markupsafe import Markup

from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.cache.note_record import Face, body_of, values_of
from pipeline.site.labels import PLURALS, shown_number
from pipeline.site.markdown import bases, table_order_update
from pipeline.site.markdown.html_render_rules import TABLE, href_of
from pipeline.site.markdown.note_draft import Draft
from pipeline.site.markdown.note_to_html import Reader
from pipeline.site.paths import BROWSE, Places, list_page, page_of, root_of, stem_of


class EmbedRenderer:
    """Renders embedded files. ``read`` returns the bytes of a file of the vault, None if there is none."""

    def __init__(self, read: Callable[[str], bytes | None], reader: Reader, places: Places, catalogue: Catalogue) -> None:
        self._read = read
        self._reader = reader
        self._places = places
        self._catalogue = catalogue

    def __call__(self, face: Face, slot: Sequence[str]) -> Markup:
        """Return the HTML of what the note shows: a table's text behind ``base``, or (path, place, words)."""
        root = root_of(page_of(face.path))
        if slot[0] == "base":
            return self._table(face, slot[1], "", root)
        path, place, _words = slot
        data = self._read(path) or b""
        if path.endswith(".base"):
            return self._table(face, data.decode("utf-8", "replace"), place, root)
        return self._note(path, data, place, root)

    def _note(self, path: str, data: bytes, place: str, root: str) -> Markup:
        shown = self._catalogue.face(path)
        draft = Draft(path, root, self._places, nested=True)
        body = self._reader.read_part(body_of(data), place, draft)
        href = href_of(root, path, place)
        title = (
            f'<p class="embed-title"><a class="internal" href="{escape(href)}">{escape(shown.title if shown else path)}</a></p>'
        )
        return _safe(f'<div class="embed note">\n{title}\n<div class="embed-body">\n{body}</div>\n</div>\n')

    def _table(self, face: Face, text: str, name: str, root: str) -> Markup:
        try:
            view = bases.view_of(text, name)
        except bases.BaseUnsupported:
            lists = escape(root + f"{BROWSE}/tags.html")
            return _safe(f'<p class="embed base">A table that only Obsidian shows. <a href="{lists}">All lists</a></p>\n')
        kept = self._catalogue.orders.first(table_order_update.mark_of((text, name)), view.limit)
        if kept:
            faces = filter(None, map(self._catalogue.face, kept[0]))
            return self._drawn(
                view, [table_order_update.row_of(self._catalogue, found) for found in faces], kept[1] - len(kept[0]), root
            )
        here = "" if view.anywhere else face.path
        rows, more = bases.rows_of(
            view, [table_order_update.row_of(self._catalogue, found, here) for found in self._candidates(face, view)]
        )
        return self._drawn(view, rows, more, root)

    def _candidates(self, face: Face, view: bases.View) -> list[Face]:
        """The notes that a view may show: as few as its filter allows to find without reading them."""
        if view.here:
            return [found for found in self._catalogue.linkers(face.path) if found.kind in PLURALS]
        return table_order_update.candidates(self._catalogue, view)

    def _drawn(self, view: bases.View, rows: Sequence[bases.Row], more: int, root: str) -> Markup:
        if not rows:
            return _safe('<p class="embed base empty">Nothing yet.</p>\n')
        columns = [column for column in view.columns if column.links or any(row.value(column.name) for row in rows)]
        head = "".join(f'<th scope="col">{escape(column.title)}</th>' for column in columns)
        body = "\n".join(f"<tr>{''.join(self._cell(column, row, root) for column in columns)}</tr>" for row in rows)
        table = f"{TABLE}\n<table>\n<thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
        title = f'<p class="embed-title">{escape(view.title)}</p>\n' if view.title else ""
        return _safe(f'<div class="embed base">\n{title}{table}\n{self._others(rows, more, root)}</div>\n')

    def _cell(self, column: bases.Column, row: bases.Row, root: str) -> str:
        if column.links:
            words = row.value(column.name) or stem_of(row.path)
            return f'<td><a class="internal" href="{escape(href_of(root, row.path))}">{escape(words)}</a></td>'
        values = ", ".join(
            self._value(column, words, target, root) for words, target in values_of(row.properties.get(column.name, ()))
        )
        numeric = ' class="align-right"' if values.replace(",", "").replace(".", "").strip("$").isdecimal() else ""
        return f"<td{numeric}>{values}</td>"

    def _value(self, column: bases.Column, words: str, target: str, root: str) -> str:
        path = self._places.find(target) if target else ""
        if path:
            return f'<a class="internal" href="{escape(href_of(root, path))}">{escape(words)}</a>'
        text = bases.cell(column, words)
        if column.name == "created":
            text = text[:10]
        return escape(shown_number(column.name, text) if text == words else text)

    def _others(self, rows: Sequence[bases.Row], more: int, root: str) -> str:
        if not more:
            return ""
        kind = rows[0].value("kind")
        list_of_all = escape(root + list_page(PLURALS.get(kind, "Notes").lower()))
        return f'<p><a href="{list_of_all}">{more:,} more</a></p>\n'


def watched(slot: Sequence[str], read: Callable[[str], bytes | None]) -> frozenset[str]:
    """Return the tags whose notes a table may show: "" for any note; none for a table that only shows notes linked to its own."""
    path, place = slot[0], slot[1]
    try:
        if path == "base":
            view = bases.view_of(place)
        elif path.endswith(".base"):
            view = bases.view_of((read(path) or b"").decode("utf-8", "replace"), place)
        else:
            return frozenset()
    except bases.BaseUnsupported:
        return frozenset()
    return frozenset() if view.here else view.tags or frozenset({""})


def _safe(html: str) -> Markup:
    return Markup(html)  # noqa: S704 - every text in it was escaped on the way
