from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pipeline.domain.state import PageDone
from pipeline.vault.cache.catalogue import Catalogue, stored_readings
from pipeline.vault.session_card import Reading
from pipeline.vault.vault_model import SourceNotePlace

URLS = ("corpus:a.md", "corpus:b.md", "corpus:c.md")


def test_a_source_has_a_note_if_the_result_of_one_session_that_read_it_leads_to_it(tmp_path: Path) -> None:
    with closing(Catalogue(tmp_path, "layout")) as catalogue:
        catalogue.put_places({url: SourceNotePlace(f"sources/{url[-4]}", url) for url in URLS})
        for session, shown in (("s-1", URLS[:1]), ("s-2", URLS[1:2])):
            pages = [PageDone(url=url, title="A", digest="", characters=1, at="2026-11-21T02:00:00.000Z") for url in URLS]
            read = [Reading(session, page, 0, 0, "", (), (), page.url in shown) for page in pages]
            catalogue.put_readings(session, stored_readings(read))
        noted = catalogue.noted_sources()
        assert sorted(noted) == ["corpus:a.md", "corpus:b.md"]
        assert noted["corpus:b.md"].path == "sources/b"
        assert noted.get("corpus:c.md") is None
        assert catalogue.place("corpus:c.md") is not None
