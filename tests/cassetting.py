"""One good and one bad exchange with each service: how they are made, recorded without secrets, and played back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import vcr
from vcr.request import Request

from pipeline.config.keys import SEARCHES
from pipeline.config.services import OPENAI, OPENROUTER, USUAL_MODELS, ModelServer
from pipeline.errors import ServiceFailed
from pipeline.net.calls_and_replies import Again, Call, Good, Refused, Reply, Verdict
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.reasoners.model.calls import call_of
from pipeline.reasoners.model.completion_replies import Content, meaning_of
from pipeline.search.providers import PROVIDER_BY_NAME, Arxiv, WebSearch
from pipeline.text.redaction import Redaction, Secret

FOLDER = Path(__file__).parent / "cassettes"
MODELS = {service.name: service for service in (OPENROUTER, OPENAI)}
SERVICES = (*MODELS, *PROVIDER_BY_NAME)
KINDS = ("good", "bad")
QUERY = "soil moisture sensors"
SEARXNG = "https://searxng.example.org"
WRONG_KEY = Secret("wrong-on-purpose", "WRONG_KEY")
_KEPT_HEADERS = ("content-type", "retry-after", "x-generation-id")
_STANDIN = re.compile(rb"(http://)?127\.0\.0\.(\d+)(?::\d+)?")


@dataclass(frozen=True)
class Exchange:
    """A service, whether the exchange is to go well, and where and with which key it is made."""

    service: str
    kind: str
    url: str
    key: Secret

    @property
    def path(self) -> Path:
        """The cassette's file."""
        return FOLDER / self.service / f"{self.kind}.yaml"


def public_url(service: str) -> str:
    """Return the address under which a service stands in its cassettes."""
    if service == "searxng":
        return SEARXNG
    return (MODELS.get(service) or SEARCHES[service]).url


class _WrongNumber(Arxiv):
    """Asks for a paper by a number that is none."""

    def call(self, query: str, limit: int) -> Call:
        call = super().call(query, limit)
        return replace(call, params={**call.params, "id_list": "1234.12345x"})


async def make(exchange: Exchange) -> str:
    """Make the exchange; return what it brought in a few words.

    Raises:
        StepError: what the service's refusal means.
    """
    http = HttpClient(Policy(attempts=1), guard=AddressGuard([exchange.url]))
    try:
        if exchange.service in MODELS:
            return await _asked(http, exchange)
        result = await _search(http, exchange).search(QUERY, 3)
        return f"{len(result.hits)} hits"
    finally:
        await http.aclose()


def _search(http: HttpClient, exchange: Exchange) -> WebSearch:
    agent = "night-research/cassettes (+https://example.org/contact)"
    if exchange.kind == "bad" and exchange.service == "arxiv":
        return WebSearch(_WrongNumber(exchange.url), http, headers={"user-agent": agent})
    if exchange.kind == "bad" and exchange.service == "wikipedia":
        agent = "python-httpx/0.28.1"
    key = WRONG_KEY if exchange.kind == "bad" else exchange.key
    return WebSearch(PROVIDER_BY_NAME[exchange.service](exchange.url, key), http, {"user-agent": agent})


async def _asked(http: HttpClient, exchange: Exchange) -> str:
    key = WRONG_KEY if exchange.kind == "bad" else exchange.key
    body = {
        "model": USUAL_MODELS[exchange.service],
        "max_tokens": 2_000,
        "messages": [{"role": "user", "content": "Say in one short sentence what a heat pump does."}],
    }
    reply = await http.send(call_of(ModelServer(exchange.service, exchange.url, key), body), _judged)
    found = meaning_of(reply)
    if not isinstance(found, Content) or not found.text.strip():
        raise ServiceFailed(f"no text came back: {found}")
    return f"{len(found.text)} characters, usage {reply.json_object().get('usage')}"


def _judged(reply: Reply) -> Verdict:
    found = meaning_of(reply)
    return found if isinstance(found, Again | Refused) else Good()


def cassette(exchange: Exchange, *, record: bool = False, secrets: Iterable[Secret] = ()) -> AbstractContextManager[Any]:
    """Return the cassette of an exchange: played back, and nothing sent; or recorded again, without secrets."""
    redaction = Redaction([*secrets, exchange.key])
    recorder = vcr.VCR(
        record_mode="all" if record else "none",
        match_on=["method", "scheme", "host", "port", "path", "query", "body"],
        filter_headers=["authorization", "x-subscription-token", "x-api-key", "user-agent", "host", "connection"],
        filter_query_parameters=["api_key"],
        decode_compressed_response=True,
        before_record_request=lambda request: _under_public_address(request, exchange),
        before_record_response=lambda response: _presentable(response, redaction),
    )
    context: AbstractContextManager[Any] = recorder.use_cassette(str(exchange.path))
    return context


def _under_public_address(request: Request, exchange: Exchange) -> Request:
    base, public = urlsplit(exchange.url), urlsplit(public_url(exchange.service))
    request.uri = request.uri.replace(f"{base.scheme}://{base.netloc}", f"{public.scheme}://{public.netloc}", 1)
    return request


def _presentable(response: dict[str, Any], redaction: Redaction) -> dict[str, Any]:
    """Keep the headers that say something, and take out keys and this machine's addresses."""
    kept = {
        name: values
        for name, values in response["headers"].items()
        if name.lower() in _KEPT_HEADERS or name.lower().startswith("x-ratelimit-")
    }
    body = _STANDIN.sub(_site, redaction.data(response["body"]["string"]))
    return {**response, "headers": kept, "body": {"string": body}}


def _site(found: re.Match[bytes]) -> bytes:
    return (b"https://" if found[1] else b"") + b"site-" + found[2] + b".example.org"
