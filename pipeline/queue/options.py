"""The ``settings`` section, and the values that it shares with single queries."""

from __future__ import annotations

import re
from typing import Any

from pipeline.queue.available import refuse_model, refuse_providers
from pipeline.queue.faults import Faults, shown
from pipeline.queue.fields import Reader, choice, clock, kind, listing, mapping, money, text, whole
from pipeline.queue.model import Limits, ModelChoice, Settings
from pipeline.queue.source import Listing, Mapping, Node, Refused, Scalar

PROVIDERS = ("local", "brave", "tavily", "searxng", "wikipedia", "arxiv", "openalex", "semanticscholar")

_ADDRESS = re.compile(r"https?://[^\s/]+\S*")
_SECTION = "indent what belongs to it: `key: value`"


def settings(node: Node, faults: Faults) -> Settings:
    """Read the ``settings`` section; what has a fault keeps its default."""
    return Settings(**_mapping(node, faults, _SETTINGS))


def search(node: Node, faults: Faults) -> object:
    """Read ``auto`` or a list of providers in order of preference."""
    if isinstance(node, Listing) and node.children:
        return _names(node, faults) or None
    if isinstance(node, Scalar) and node.value == "auto":
        return "auto"
    if not isinstance(node, Refused):
        what = "an empty list" if isinstance(node, Listing) else kind(node)
        faults.add(node, f"{what} where a list of search providers belongs", "write search: auto, or [local]")
    return None


def _provider(node: Node, faults: Faults) -> object:
    name = choice(*PROVIDERS)(node, faults)
    refuse_providers(node, [name] if isinstance(name, str) else [], faults)
    return name


def model(node: Node, faults: Faults) -> object:
    """Read the name of a language model."""
    name = text(node, faults, "write the model's name")
    if name is not None:
        refuse_model(node, faults)
    return name


def _reasoner(node: Node, faults: Faults) -> object:
    if not isinstance(node, Mapping):
        return choice("auto", "extractive")(node, faults)
    values: dict[str, Any] = mapping(node, faults, _MODEL)
    refuse_model(node, faults)
    if not any(isinstance(key, Scalar) and key.value == "model" for key, _ in node.pairs):
        faults.add(node, "a reasoner without a model", "write {model: …}, or reasoner: auto")
    return ModelChoice(**values) if "model" in values else None


def _roles(node: Node, faults: Faults) -> object:
    if not isinstance(node, Mapping):
        return _mapping(node, faults, {}).get("")
    names = [key.value for key, _ in node.pairs if isinstance(key, Scalar)]
    return tuple(mapping(node, faults, dict.fromkeys(names, text)).items())


def _address(node: Node, faults: Faults) -> object:
    address = text(node, faults, "write an address: https://…")
    if address is None or _ADDRESS.fullmatch(address):
        return address
    faults.add(node, f"{shown(address)} is no web address", "start it with https:// or http://")
    return None


def _limits(node: Node, faults: Faults) -> Limits:
    return Limits(**_mapping(node, faults, _LIMITS))


def _mapping(node: Node, faults: Faults, fields: dict[str, Reader]) -> dict[str, Any]:
    if isinstance(node, Mapping):
        return mapping(node, faults, fields)
    if not isinstance(node, Refused):
        faults.add(node, f"{kind(node)} where a mapping belongs", _SECTION)
    return {}


_names = listing(_provider, "write a list: [local]")

_MODEL: dict[str, Reader] = {
    "model": text,
    "base_url": _address,
    "fallback": listing(text, "write a list of models: [a, b]"),
    "roles": _roles,
}
_LIMITS: dict[str, Reader] = {
    "cost_usd": money,
    "deadline": clock,
    "concurrency": whole(1, 100),
    "max_failures": whole(1, 10_000),
}
_SETTINGS: dict[str, Reader] = {
    "reasoner": _reasoner,
    "search": search,
    "corpus": text,
    "limits": _limits,
    "snapshot_every": whole(1, 100_000),
}
