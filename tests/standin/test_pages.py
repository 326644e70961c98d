"""The small web: articles in every form, walls, traps, conditional requests, poison."""

from __future__ import annotations

import re

import pypdfium2
import pytest

from tests.standin.fixtures import standin
from tests.standin.poison import FALSEHOOD, POISONED, mark
from tests.standin.rawclient import get, talk
from tests.standin.server import Standin
from tests.standin.world import FIXED, document, find

__all__ = ["standin"]


def _pdf_text(data: bytes) -> str:
    return "".join(page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(data))


@pytest.mark.parametrize("number", [1, FIXED])
def test_a_document_is_the_same_as_html_text_and_pdf(standin: Standin, number: int) -> None:
    found = document(number)
    assert found is not None
    html, text = (get(standin, target).body.decode() for target in (f"/pages/{number}", f"/text/{number}.txt"))
    pdf = _pdf_text(get(standin, f"/pdf/{number}.pdf").body)
    assert [one for one in found.sentences if not (one in html and one in text and one in pdf)] == []


def test_a_page_has_what_is_no_text_around_its_text(standin: Standin) -> None:
    html = get(standin, "/pages/1").body.decode()
    assert all(part in html for part in ("<nav>", "id='comments'", "<footer>", "<script>", '<h2 id="measurements">'))


@pytest.mark.parametrize("path", ["/pages/0", "/pages/25", "/pages/x", "/poison/21", "/nowhere", "/about/x", "/text/99.txt"])
def test_what_is_not_there_is_404(standin: Standin, path: str) -> None:
    assert get(standin, path).status == 404


def test_etag_and_date_answer_for_an_unchanged_page(standin: Standin) -> None:
    first = get(standin, "/pages/3")
    same = get(standin, "/pages/3", {"If-None-Match": first.headers["etag"]})
    old = get(standin, "/pages/3", {"If-Modified-Since": first.headers["last-modified"]})
    assert [(seen.status, seen.body) for seen in (same, old)] == [(304, b"")] * 2


def test_a_changed_page_has_a_new_tag_date_and_text(standin: Standin) -> None:
    first = get(standin, "/pages/3")
    standin.change_page("/pages/3")
    again = get(standin, "/pages/3", {"If-None-Match": first.headers["etag"]})
    assert again.status == 200
    assert b"Revision 1 of this page" in again.body
    assert again.headers["last-modified"] != first.headers["last-modified"]


def test_head_gives_the_head_alone(standin: Standin) -> None:
    seen = talk(standin, b"HEAD /pages/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert (seen.status, seen.body) == (200, b"")
    assert int(seen.headers["content-length"]) > 500


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/login/article", b"password"),
        ("/captcha/1", b"recaptcha"),
        ("/shell/1", b"enable JavaScript"),
        ("/robots.txt", b"Disallow: /private/"),
    ],
)
def test_walls_say_200(standin: Standin, path: str, word: bytes) -> None:
    seen = get(standin, path)
    assert (seen.status, word in seen.body) == (200, True)


def test_traps_are_as_deep_and_as_wide_as_asked_for(standin: Standin) -> None:
    assert get(standin, "/nest/5000").body.count(b"<div>") == 5_000
    assert get(standin, "/attributes/3000").body.count(b"='1'") == 3_000


@pytest.mark.parametrize("number", range(1, POISONED + 1))
def test_every_poisoned_page_holds_its_instruction_and_its_honest_text(standin: Standin, number: int) -> None:
    body = get(standin, f"/poison/{number}").body
    text = _pdf_text(body) if number in (10, 11) else body.decode()
    shown = "".join(chr(ord(sign) - 0xE0000) if 0xE0000 <= ord(sign) < 0xE0080 else sign for sign in text).replace("\u200b", "")
    everywhere = shown + body.decode("latin-1")
    assert mark(number) in everywhere
    assert FALSEHOOD in everywhere.replace("&quot;", '"')
    assert re.search(r"keep losses\s+low", shown)


def test_the_canary_is_a_route_of_its_own(standin: Standin) -> None:
    get(standin, "/canary/7?leak=x")
    assert [hit.path for hit in standin.log.of("canary")] == ["/canary/7"]


def test_four_hosts_tell_of_a_subject_and_the_last_disputes_a_number() -> None:
    told = [next(one for one in found.sentences if "trials" in one) for found in find("heat pumps cold", 4)]
    numbers = [tuple(re.findall(r"\d+", one)) for one in told]
    assert numbers[0] == numbers[1] == numbers[2] != numbers[3]


def test_a_subject_nobody_thought_of_has_documents_too() -> None:
    assert {found.subject for found in find("Why do zebras whistle?", 10)} == {"whistle and zebras"}
