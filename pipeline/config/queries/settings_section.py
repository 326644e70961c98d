"""Reads the ``settings`` section of ``queries.yaml``, and the values that it shares with single queries."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.config.queries.fields import (
    Reader,
    choice,
    clock,
    duration,
    kind,
    listing,
    machine,
    mapping,
    money,
    price,
    text,
    whole,
)
from pipeline.config.queries.model import (
    FOREVER,
    EmbeddingChoice,
    Enqueueing,
    Keep,
    Limits,
    ModelChoice,
    Price,
    QueryLimits,
    RerankerChoice,
    Settings,
)
from pipeline.config.queries.problems import Problems, shown
from pipeline.config.queries.yaml_nodes import Listing, Mapping, Node, Refused, Scalar
from pipeline.config.store_address import FILES, fault_of
from pipeline.text.times import is_zone

PROVIDERS = ("local", "brave", "tavily", "searxng", "wikipedia", "arxiv", "openalex", "semanticscholar")

ROLES = ("plan", "read", "write", "check")
OLDER_ROLES = {"work": "read"}  # by the name that an earlier version had
MOST = 999_999_999
CONTEXT_TOKENS = (1_000, 1_000_000)

_log = logging.getLogger("pipeline.config")

_WITH_ADDRESS = tuple(name for name in PROVIDERS if name not in ("local", "searxng"))
_KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]{2,60}")
_KEY_WANTED = "write the variable's name, such as MY_SERVER_API_KEY, and set it in the environment or in .env"
_CONTACT = re.compile(r"[!-'*-~]{3,200}")
_ADDRESS = re.compile(r"https?://[^\s/]+\S*")
_SECTION = "indent what belongs to it: `key: value`"


def settings(node: Node, faults: Problems) -> Settings:
    """Read the ``settings`` section; what has a fault keeps its default."""
    return Settings(**_mapping(node, faults, _SETTINGS))


def search(node: Node, faults: Problems) -> object:
    """Read ``auto`` or a list of providers in order of preference."""
    if isinstance(node, Listing) and node.children:
        return _names(node, faults) or None
    if isinstance(node, Scalar) and node.value == "auto":
        return "auto"
    if not isinstance(node, Refused):
        what = "an empty list" if isinstance(node, Listing) else kind(node)
        faults.add(node, f"{what} where a list of search providers belongs", "write search: auto, or [local]")
    return None


def model(node: Node, faults: Problems) -> object:
    """Read the name of a language model."""
    return text(node, faults, "write the model's name")


def _reasoner(node: Node, faults: Problems) -> object:
    if not isinstance(node, Mapping):
        return choice("auto", "extractive")(node, faults)
    values: dict[str, Any] = mapping(node, faults, _MODEL)
    if not any(isinstance(key, Scalar) and key.value == "model" for key, _ in node.pairs):
        faults.add(node, "a reasoner without a model", "write {model: …}, or reasoner: auto")
    return ModelChoice(**values) if "model" in values else None


def _embeddings(node: Node, faults: Problems) -> object:
    wanted = "write embeddings: auto, off, {folder: …} or {model: …, base_url: …}"
    if isinstance(node, Scalar) and node.value in ("auto", "off"):
        return node.value
    if not isinstance(node, Mapping):
        if not isinstance(node, Refused):
            faults.add(node, f"{kind(node)} where a model for embeddings belongs", wanted)
        return None
    values: dict[str, Any] = mapping(node, faults, _EMBEDDINGS)
    named = {key.value for key, _ in node.pairs if isinstance(key, Scalar)} & {"model", "folder"}
    if len(named) != 1:
        faults.add(node, f"embeddings {'with both a server and a folder' if named else 'without a model'}", wanted)
    return EmbeddingChoice(**values) if {"model", "folder"} & values.keys() else None


def _reranker(node: Node, faults: Problems) -> object:
    values: dict[str, Any] = _mapping(node, faults, _RERANKER)
    if isinstance(node, Mapping) and "model" not in {key.value for key, _ in node.pairs if isinstance(key, Scalar)}:
        faults.add(node, "a reranker without a model", "write reranker: {model: …, base_url: …}")
    return RerankerChoice(**values) if "model" in values else None


def _share(node: Node, faults: Problems) -> float | None:
    if isinstance(node, Scalar):
        with suppress(ValueError):
            if 0 <= (found := float(node.value)) <= 1:
                return found
    faults.add(node, f"{kind(node)} where a number from 0 to 1 belongs", "write floor: 0.35")
    return None


def _roles(node: Node, faults: Problems) -> object:
    named = _mapping(node, faults, dict.fromkeys((*ROLES, *OLDER_ROLES), model))
    if older := sorted(named.keys() & OLDER_ROLES):
        _log.warning("queries.yaml: the role %s is called %s now", older[0], OLDER_ROLES[older[0]])
    newest_last = sorted(named.items(), key=lambda pair: pair[0] in ROLES)
    return tuple({OLDER_ROLES.get(name, name): value for name, value in newest_last}.items())


def _prices(node: Node, faults: Problems) -> object:
    names = [key.value for key, _ in node.pairs if isinstance(key, Scalar)] if isinstance(node, Mapping) else []
    return tuple(_mapping(node, faults, dict.fromkeys(names, _price)).items())


def _price(node: Node, faults: Problems) -> Price | None:
    before = len(faults.sorted())
    values: dict[str, Any] = _mapping(node, faults, {"input": price, "cached": price, "output": price})
    if {"input", "output"} <= values.keys():
        return Price(values["input"], values["output"], values.get("cached"))
    if len(faults.sorted()) == before:
        faults.add(node, "a price needs both input and output", "write {input: 0.25, output: 2.00}, in USD for a million tokens")
    return None


def _key_name(node: Node, faults: Problems) -> str | None:
    found = text(node, faults, _KEY_WANTED)
    if found is None or _KEY_NAME.fullmatch(found):
        return found
    faults.add(node, "key takes the name of an environment variable, never a key itself", _KEY_WANTED)  # its text is not shown
    return None


def _folders(node: Node, faults: Problems) -> object:
    """Read a folder, or a list of them."""
    wanted = "write a folder: corpus, or a list of them: [corpus, ../papers]"
    if isinstance(node, Listing):
        found = listing(text, wanted)(node, faults)
        if not node.children:
            faults.add(node, "an empty list where folders belong", wanted)
        return found or None
    folder = text(node, faults)
    return (folder,) if folder else None


def _contact(node: Node, faults: Problems) -> str | None:
    wanted = "write an e-mail address or a page: you@example.org"
    found = text(node, faults, wanted)
    if found is None or _CONTACT.fullmatch(found):
        return found
    faults.add(node, f"{shown(found)} is no address", wanted)
    return None


def _address(node: Node, faults: Problems) -> object:
    address = text(node, faults, "write an address: https://…")
    if address is None or _ADDRESS.fullmatch(address):
        return address
    faults.add(node, f"{shown(address)} is no web address", "start it with https:// or http://")
    return None


def _timezone(node: Node, faults: Problems) -> object:
    name = text(node, faults, "write a time zone: Europe/Berlin")
    if name is None or is_zone(name):
        return name
    faults.add(node, f"{shown(name)} is no time zone that is known here", "write its name, as Europe/Berlin, or UTC or +02:00")
    return None


def _proxy(node: Node, faults: Problems) -> object:
    """Read the address of a proxy. A password in it is refused, and its text is not shown."""
    found = text(node, faults, "write the address of a proxy: http://proxy.example.org:3128")
    if found and "@" in found:
        faults.add(
            node, "a user or password does not belong here", "write http://HOST:PORT here, and the password in HTTPS_PROXY"
        )
        return None
    return found and _address(node, faults)


def _ca_file(node: Node, faults: Problems) -> str | None:
    wanted = "write the whole path of a file with certificates: /etc/ssl/company.pem"
    found = text(node, faults, wanted)
    if found is None or Path(found).expanduser().is_absolute():
        return found and str(Path(found).expanduser())
    faults.add(node, f"{shown(found)} is no whole path", wanted)
    return None


def _store(node: Node, faults: Problems) -> str | None:
    """Read ``files`` or a database's address. A password in it is refused, and its text is not shown."""
    found = text(node, faults, "write files, or postgresql://ROLE@HOST/DATABASE")
    if found is None or found == FILES:
        return found and ""
    fault, wanted = fault_of(found)
    if not fault:
        return found
    faults.add(node, fault, wanted)
    return None


def _search_urls(node: Node, faults: Problems) -> object:
    return tuple(_mapping(node, faults, dict.fromkeys(_WITH_ADDRESS, _address)).items())


def _limits(node: Node, faults: Problems) -> Limits:
    return Limits(**_mapping(node, faults, _LIMITS))


def _query_limits(node: Node, faults: Problems) -> QueryLimits:
    return QueryLimits(**_mapping(node, faults, {**_QUERY_LIMITS, "context_tokens": whole(*CONTEXT_TOKENS)}))


def _keep(node: Node, faults: Problems) -> Keep:
    return Keep(**_mapping(node, faults, dict.fromkeys(("exchanges", "pages", "sessions", "originals"), _age)))


def _age(node: Node, faults: Problems) -> object:
    """Read ``forever`` or a length of time."""
    return FOREVER if isinstance(node, Scalar) and node.value == "forever" else duration(node, faults)


def _enqueueing(node: Node, faults: Problems) -> Enqueueing:
    fields = {"enqueue": choice("true", "false"), "questions": whole(1, 1_000), "each_usd": money, "cost_usd": money}
    values = _mapping(node, faults, fields)
    return Enqueueing(**{**values, "enqueue": values.get("enqueue") == "true"})


def _mapping(node: Node, faults: Problems, fields: dict[str, Reader]) -> dict[str, Any]:
    if isinstance(node, Mapping):
        return mapping(node, faults, fields)
    if not isinstance(node, Refused):
        faults.add(node, f"{kind(node)} where a mapping belongs", _SECTION)
    return {}


_names = listing(choice(*PROVIDERS), "write a list: [local]")

_MODEL: dict[str, Reader] = {
    "model": text,
    "base_url": _address,
    "key": _key_name,
    "fallback": listing(text, "write a list of models: [a, b]"),
    "roles": _roles,
    "timeout": duration,
    "max_tokens": whole(500, 1_000_000),
    "context": whole(2_000, 20_000_000),
    "effort": choice("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "concurrency": whole(1, 100),
}
_EMBEDDINGS: dict[str, Reader] = {
    "model": text,
    "base_url": _address,
    "key": _key_name,
    "dimensions": whole(8, 16_384),
    "query_prefix": text,
    "passage_prefix": text,
    "concurrency": whole(1, 100),
    "folder": text,
    "floor": _share,
}
_RERANKER: dict[str, Reader] = {"model": text, "base_url": _address, "key": _key_name, "floor": _share}
_QUERY_LIMITS: dict[str, Reader] = {
    "cost_usd": money,
    "tokens": whole(1, MOST),
    "calls": whole(1, MOST),
    "timeout": duration,
}
_LIMITS: dict[str, Reader] = {
    **_QUERY_LIMITS,
    "deadline": clock,
    "concurrency": whole(1, 100),
    "max_failures": whole(1, 10_000),
}
_SETTINGS: dict[str, Reader] = {
    "reasoner": _reasoner,
    "search": search,
    "corpus": _folders,
    "embeddings": _embeddings,
    "reranker": _reranker,
    "limits": _limits,
    "query_limits": _query_limits,
    "prices": _prices,
    "searxng_url": _address,
    "search_urls": _search_urls,
    "page_hosts": listing(_address, "write a list of addresses: [http://wiki.intranet]"),
    "contact": _contact,
    "site_url": _address,
    "proxy": _proxy,
    "ca_file": _ca_file,
    "memory": choice("on", "off", "model"),
    "keep": _keep,
    "machine": machine,
    "timezone": _timezone,
    "store": _store,
    "workers": choice("notes", "folded"),
    "vault_queue": choice("read", "ignore"),
    "snapshot_every": whole(1, 100_000),
    "mcp": _enqueueing,
}
