from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
import yaml
from vcr.errors import CannotOverwriteExistingCassetteException

from pipeline.errors import ProviderRefused, SearchFailed
from pipeline.text.redaction import Secret
from tests.cassetting import FOLDER, SERVICES, Exchange, cassette, make, public_url

KEY = Secret("played-back-with-any-key")
# The beginnings of keys as services give them out, and headers that carry any.
KEY_LIKE = re.compile(
    r"sk-[A-Za-z0-9_-]{8,}|tvly-[A-Za-z0-9_-]{8,}|BSA[A-Za-z0-9_-]{20,}|Bearer\s+\S+|api_key=[^&\s]+|AIza[A-Za-z0-9_-]{20,}|"
    r"(?i:authorization|x-subscription-token|x-api-key|set-cookie|cookie):|accepted-by-the-stand-in|wrong-on-purpose"
)


def played(service: str, kind: str) -> str:
    exchange = Exchange(service, kind, public_url(service), KEY)
    with cassette(exchange) as tape:
        try:
            return asyncio.run(make(exchange))
        finally:
            assert tape.play_count == 1


@pytest.mark.parametrize("service", SERVICES)
def test_a_good_exchange_is_understood(service: str) -> None:
    assert played(service, "good")[0] in "123456789"


@pytest.mark.parametrize("service", SERVICES)
def test_a_bad_exchange_is_a_typed_error(service: str) -> None:
    with pytest.raises(SearchFailed if service == "arxiv" else ProviderRefused, match=service):
        played(service, "bad")


def test_what_is_not_on_the_cassette_is_not_sent() -> None:
    recorded, other = (Exchange(service, "good", public_url(service), KEY) for service in ("brave", "tavily"))
    with cassette(recorded), pytest.raises(CannotOverwriteExistingCassetteException):
        asyncio.run(make(other))


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.yaml")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_cassette_holds_anything_like_a_key(path: Path) -> None:
    text = path.read_text("utf-8")
    assert KEY_LIKE.search(text) is None
    assert "127.0.0.1" not in text
    for entry in yaml.safe_load(text)["interactions"]:
        assert set(entry["request"]["headers"]) <= {
            "accept",
            "accept-encoding",
            "content-type",
            "Content-Length",
            "content-length",
        }
