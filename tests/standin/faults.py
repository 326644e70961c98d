"""The fault verbs: ``name:argument+Header=value``, set for a route by call number; the headers are those of a reply in place.

============================  ==========================================================================================
instead of the reply          ``status:N`` · ``F1`` · ``F3`` · ``F10`` · ``html_page[:N]`` · ``redirect:url``
the reply, damaged            ``bad_gzip`` · ``invalid_utf8`` · ``field_null:path`` · ``field_drop:path`` ·
                              ``field_set:path=JSON``; the last also as ``content.…``, on the text that the model wrote
the reply, badly delivered    ``delay:s`` · ``hang_before_headers`` · ``hang_mid_body`` · ``cut_at:byte`` · ``rst``
another model for one call    ``model:name``
============================  ==========================================================================================

What happens on the wire in every other way, and JSON that is none, is for ``tests/net`` to try.
What replaces the reply is not charged; what is damaged or badly delivered was made, so it is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from random import Random

from tests.standin import damage, refusals
from tests.standin.delivery import Delivery
from tests.standin.wire import Reply, Request


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb as parsed: its argument is "" when none was given."""

    name: str = "ok"
    argument: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Rule:
    """A verb for the hits of a route; ``calls`` counts those hits from 1, None is all of them."""

    route: str
    verb: Verb
    calls: Collection[int] | None = None
    hits: int = 0

    def takes(self, route: str) -> bool:
        """Count a hit that is meant, and say whether it is one of the calls."""
        self.hits += route == self.route
        return route == self.route and (self.calls is None or self.hits in self.calls)


@dataclass(frozen=True, slots=True)
class Mix:
    """A random choice of verbs for a part of the hits; what a request gets depends on the seed, the request and its turn."""

    seed: int
    rate: float
    routes: frozenset[str]
    verbs: tuple[Verb, ...]

    def choose(self, route: str, turn: str) -> Verb:
        """Return the verb for this request."""
        source = Random(f"{self.seed}/{route}/{turn}")
        struck = (not self.routes or route in self.routes) and source.random() < self.rate
        return source.choice(self.verbs) if struck else Verb()


def parse(text: str) -> Verb:
    """Read a verb from its spelling.

    Raises:
        ValueError: there is no such verb.
    """
    first, *more = [text] if text.startswith(("field_set", "content.field_set", "redirect")) else text.split("+")
    name, _, argument = first.partition(":")
    if name not in KNOWN:
        raise ValueError(f"there is no fault verb {name!r}; there are: {', '.join(sorted(KNOWN))}")
    return Verb(name, argument, dict(part.split("=") for part in more))


def replacement(verb: Verb, route: str, request: Request) -> Reply | None:
    """Return what stands in place of the true reply, or None when the verb does not replace it."""
    if verb.name == "status":
        made = refusals.refusal(route, int(verb.argument), request)
    elif verb.name in _REPLACE:
        made = _REPLACE[verb.name](verb.argument, request)
    else:
        return None
    return replace(made, headers={**made.headers, **verb.headers})


def damaged(verb: Verb, reply: Reply) -> Reply:
    """Return the reply after a verb that damages it."""
    return damage.VERBS[verb.name](reply, verb.argument) if verb.name in damage.VERBS else reply


def delivery(verb: Verb, base: Delivery) -> Delivery:
    """Return how the reply is to be delivered."""
    return _DELIVER[verb.name](base, verb.argument) if verb.name in _DELIVER else base


# ---- verbs that replace ------------------------------------------------------------------------------------------


def _html_page(argument: str, request: Request) -> Reply:
    page = refusals.page_refusal(int(argument or "200"), request)
    text = (
        b"<!doctype html><html><head><title>Just a moment...</title></head><body><h1>Checking your browser before accessing "
        b"this site.</h1><p>DDoS protection by a content delivery network. Ray ID: 0000000000000000</p></body></html>"
    )
    return replace(page, body=text)


_REPLACE: dict[str, Callable[[str, Request], Reply]] = {
    "F1": lambda _argument, _request: refusals.error_only(),
    "F3": lambda _argument, _request: refusals.error_in_choice(),
    "F10": lambda _argument, _request: refusals.out_of_quota(),
    "html_page": _html_page,
    "redirect": lambda argument, _request: Reply(302, b"", {"Location": argument}),
}


# ---- verbs of delivery -------------------------------------------------------------------------------------------


_DELIVER: dict[str, Callable[[Delivery, str], Delivery]] = {
    "delay": lambda base, argument: replace(base, delay_s=base.delay_s + float(argument)),
    "hang_before_headers": lambda base, _: replace(base, hang="before_headers"),
    "hang_mid_body": lambda base, _: replace(base, hang="mid_body"),
    "cut_at": lambda base, argument: replace(base, cut_at=int(argument)),
    "rst": lambda base, _: replace(base, reset=True),
}

KNOWN = frozenset({"status", "model"}) | set(_REPLACE) | set(damage.VERBS) | set(_DELIVER)

EVERY_KIND = (
    "status:500", "status:503", "status:529", "status:429+Retry-After=0", "F1", "F3", "html_page", "html_page:503",
    "cut_at:18", "rst", "bad_gzip", "invalid_utf8", "field_null:choices", "field_drop:choices", "field_null:usage",
)  # fmt: skip
"""What a mix chooses from when it is not told: nothing here lasts longer than the client makes it last."""
