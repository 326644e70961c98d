"""Each verb that replaces or damages a reply."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from tests.standin.bodies import BODIES
from tests.standin.faults import EVERY_KIND, KNOWN, parse, spelling
from tests.standin.fixtures import standin
from tests.standin.rawclient import Seen, ask, get
from tests.standin.server import Standin

__all__ = ["standin"]

SEARCH = "/search?q=heat+pumps&format=json"


def _search(standin: Standin, verbs: str) -> Seen:
    standin.fault("searxng", verbs)
    return get(standin, SEARCH)


def _true(standin: Standin) -> bytes:
    return get(standin, SEARCH).body


# ---- coding ----------------------------------------------------------------------------------------------------


def test_a_client_that_accepts_gzip_gets_gzip(standin: Standin) -> None:
    seen = get(standin, SEARCH, {"Accept-Encoding": "gzip"})
    assert seen.headers["content-encoding"] == "gzip"
    assert gzip.decompress(seen.body) == _true(standin)


def test_trunc_gzip_cannot_be_unpacked_to_its_end(standin: Standin) -> None:
    seen = _search(standin, "trunc_gzip")
    assert len(seen.body) == int(seen.headers["content-length"])
    with pytest.raises(EOFError):
        gzip.decompress(seen.body)


def test_bad_gzip_looks_like_gzip_and_is_none(standin: Standin) -> None:
    seen = _search(standin, "bad_gzip")
    assert seen.body.startswith(b"\x1f\x8b")
    with pytest.raises((OSError, zlib.error, EOFError)):
        gzip.decompress(seen.body)


def test_double_gzip_unpacks_twice(standin: Standin) -> None:
    seen = _search(standin, "double_gzip")
    assert seen.headers["content-encoding"] == "gzip, gzip"
    assert json.loads(gzip.decompress(gzip.decompress(seen.body)))["query"] == "heat pumps"


@pytest.mark.parametrize(("ratio", "layers"), [(200, 1), (1_500, 2)])
def test_a_bomb_unpacks_to_its_ratio(standin: Standin, ratio: int, layers: int) -> None:
    standin.fault("searxng", f"bomb:{ratio}")
    data = get(standin, SEARCH, patience_s=60.0).body
    assert len(data) < 200_000
    for _ in range(layers):
        data = gzip.decompress(data)
    assert len(data) == ratio * 100_000


def test_encoding_announces_what_is_not_so(standin: Standin) -> None:
    seen = _search(standin, "encoding:br")
    assert seen.headers["content-encoding"] == "br"
    assert seen.json()["query"] == "heat pumps"


# ---- type and characters ---------------------------------------------------------------------------------------


def test_wrong_ct_calls_json_html(standin: Standin) -> None:
    assert _search(standin, "wrong_ct").headers["content-type"] == "text/html"


def test_charset_encodes_what_can_be_encoded(standin: Standin) -> None:
    seen = _search(standin, "charset:utf-16")
    assert seen.headers["content-type"] == "application/json; charset=utf-16"
    assert json.loads(seen.body.decode("utf-16"))["query"] == "heat pumps"


@pytest.mark.parametrize("codec", ["rot13", "zlib", "no-such-codec"])
def test_charset_only_names_what_is_no_text_codec(standin: Standin, codec: str) -> None:
    true = _true(standin)
    seen = _search(standin, f"charset:{codec}")
    assert (seen.headers["content-type"].rpartition("=")[2], seen.body) == (codec, true)


def test_bom_and_white_space_stand_in_front(standin: Standin) -> None:
    true = _true(standin)
    assert _search(standin, "ws_prefix:7; bom").body == b"\xef\xbb\xbf" + b"\n" * 7 + true


def test_invalid_utf8_cannot_be_decoded(standin: Standin) -> None:
    with pytest.raises(UnicodeDecodeError):
        _search(standin, "invalid_utf8").body.decode()


# ---- JSON ------------------------------------------------------------------------------------------------------


def test_dup_json_keys_repeats_the_first_key(standin: Standin) -> None:
    pairs = json.loads(_search(standin, "dup_json_keys").body, object_pairs_hook=list)
    names = [name for name, _ in pairs]
    assert names[0] == names[-1] == "query"


def test_nan_stands_where_a_number_stood(standin: Standin) -> None:
    found = _search(standin, "nan:results.0.score").json()
    assert found["results"][0]["score"] != found["results"][0]["score"]


def test_nan_without_a_path_takes_the_first_number(standin: Standin) -> None:
    assert b":NaN" in _search(standin, "nan").body.replace(b" ", b"") or b"[NaN" in _search(standin, "nan").body


def test_bigint_has_more_digits_than_python_reads(standin: Standin) -> None:
    with pytest.raises(ValueError, match="digits"):
        _search(standin, "bigint").json()


def test_deep_json_is_deeper_than_the_parser_goes(standin: Standin) -> None:
    with pytest.raises(RecursionError):
        _search(standin, "deep_json:100000").json()


@pytest.mark.parametrize(
    ("verb", "wanted"),
    [
        ("field_null:results.0.url", None),
        ("field_type:results.0.url", list),
        ("field_type:results.0.score", str),
        ("huge_field:results.0.url", 2_000_000),
        ('field_set:results.0.url={"a": [1]}', {"a": [1]}),
    ],
)
def test_field_verbs_change_the_field_at_the_path(standin: Standin, verb: str, wanted: Any) -> None:
    url = _search(standin, verb).json()["results"][0]["score" if "score" in verb else "url"]
    found: Any = type(url) if isinstance(wanted, type) else len(url) if isinstance(wanted, int) else url
    assert found == wanted


def test_field_drop_takes_the_field_away(standin: Standin) -> None:
    assert "url" not in _search(standin, "field_drop:results.0.url").json()["results"][0]


def test_a_path_that_leads_nowhere_leaves_the_reply_as_it_is(standin: Standin) -> None:
    true = _true(standin)
    assert _search(standin, "field_drop:results.999.url").body == true


def test_json_verbs_reach_into_what_the_model_wrote(standin: Standin) -> None:
    schema = {"type": "object", "properties": {"reasoning": {"type": "string"}, "queries": {"type": "array"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "thought", "schema": schema}}
    standin.fault("chat", "content.dup_json_keys")
    content = ask(standin, response_format=wanted).json()["choices"][0]["message"]["content"]
    assert [name for name, _ in json.loads(content, object_pairs_hook=list)] == ["reasoning", "queries", "reasoning"]


def test_json_verbs_leave_a_page_alone(standin: Standin) -> None:
    true = get(standin, "/pages/1").body
    standin.fault("pages", "nan; deep_json:5; field_null:choices; dup_json_keys")
    assert get(standin, "/pages/1").body == true


# ---- in place of the reply -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "status"),
    [("html_page", 200), ("html_page:503", 503), ("empty_body", 200), ("204", 204), ("status:418", 418), ("status:529", 529)],
)
def test_what_replaces_a_reply_has_its_status(standin: Standin, verb: str, status: int) -> None:
    seen = _search(standin, verb)
    assert (seen.status, b"heat pumps" in seen.body) == (status, False)


def test_a_status_takes_headers_along(standin: Standin) -> None:
    seen = _search(standin, "status:429+Retry-After=Wed, 21 Oct 2026 07:28:00 GMT+X-Other=1")
    assert (seen.headers["retry-after"], seen.headers["x-other"]) == ("Wed, 21 Oct 2026 07:28:00 GMT", "1")


def test_a_redirect_leads_over_its_hops_to_the_address(standin: Standin) -> None:
    standin.fault("/pages/1", "redirect:/pages/2,2")
    place, hops = "/pages/1", []
    while (seen := get(standin, place)).status == 302:
        place = seen.headers["location"]
        hops.append(place)
    assert len(hops) == 3
    assert place == "/pages/2"


def test_a_redirect_loop_leads_to_itself(standin: Standin) -> None:
    assert _search(standin, "redirect_loop").headers["location"] == SEARCH


@pytest.mark.parametrize("name", sorted(BODIES))
def test_the_bodies_of_a_failing_model_service_carry_an_error(standin: Standin, name: str) -> None:
    standin.fault("chat", name)
    seen = ask(standin)
    found = seen.json()
    choice = found["choices"][0] if found.get("choices") else {}
    assert "error" in found or "error" in choice or choice["finish_reason"] == "length"
    assert seen.status == {"F5": 402, "F6": 429, "F7": 429, "F8": 400, "F9": 403, "F10": 429, "F11": 529}.get(name, 200)


def test_a_service_says_429_in_its_own_words(standin: Standin) -> None:
    standin.fault("*", "status:429")
    words = {
        "/res/v1/web/search?q=x": b'"RATE_LIMITED"',
        "/api/query?search_query=x": b"Rate exceeded.",
        "/works?search=x": b'"dailyRemainingUsd":0',
        "/graph/v1/paper/search?query=x": b'"code":"429"',
        SEARCH: b"Too Many Requests",
    }
    assert [target for target, word in words.items() if word not in get(standin, target).body] == []


# ---- spelling --------------------------------------------------------------------------------------------------


def test_an_unknown_verb_is_refused_with_the_known_ones(standin: Standin) -> None:
    with pytest.raises(ValueError, match=r"'fly'.*hang_mid_body"):
        standin.fault("chat", "fly:high")


def test_an_unknown_route_is_refused_with_the_known_ones(standin: Standin) -> None:
    with pytest.raises(ValueError, match=r"'chatt'.*chat"):
        standin.fault("chatt", "ok")


def test_verbs_are_written_as_they_were_read() -> None:
    text = "status:503; delay:0.5; cut_at:18,chunked"
    assert spelling(parse(text)) == text


def test_everything_a_mix_may_choose_is_known() -> None:
    assert {verb.name for text in EVERY_KIND for verb in parse(text)} <= KNOWN
