from __future__ import annotations

import asyncio

import pytest

from pipeline.config.service_selection import SEARCHES
from pipeline.config.values import PROVIDERS
from pipeline.net.client import HttpClient, Policy
from pipeline.search.providers import NAMES, web_search
from pipeline.text.redaction import Secret
from tests.search.replies import Script, reply


def test_every_provider_of_the_settings_can_be_made_and_knows_where_it_is_asked() -> None:
    assert {"local", *NAMES} == set(PROVIDERS) == {"local", *SEARCHES}


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_is_asked_at_the_given_address_under_its_own_circuit(name: str) -> None:
    script = Script(reply("", 404))
    search = web_search(
        name, "https://mirror.example.org", Secret("canary-key"), HttpClient(Policy(), transport=script), {"user-agent": "me"}
    )
    with pytest.raises(Exception, match=f"{name}: "):
        asyncio.run(search.search("a", 3))
    assert search.name == name
    assert script.requests[0].url.host == "mirror.example.org"
    assert script.requests[0].headers["user-agent"] == "me"
