"""The fault verbs: ``name:argument+Header=value``, several parted by ``; ``, set for a route, a path or all, by call number.

============================  ==========================================================================================
instead of the reply          ``status:N`` · ``F1`` · ``F3`` · ``F10`` · ``html_page[:N]`` · ``redirect:url``
the reply, damaged            ``bad_gzip`` · ``invalid_utf8`` · ``field_null:path`` · ``field_drop:path`` ·
                              ``field_set:path=JSON``; the last three also as ``content.…``, on the text that the model wrote
the reply, badly delivered    ``delay:s`` · ``hang_before_headers`` · ``hang_mid_body`` · ``cut_at:byte`` · ``rst``
another model for one call    ``model:name``
============================  ==========================================================================================

What happens on the wire in every other way, and JSON that is none, is for ``tests/net`` to try.
What replaces the reply is not charged; what is damaged or badly delivered was made, so it is charged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from random import Random

from tests.standin import damage
from tests.standin.bodies import BODIES
from tests.standin.delivery import Delivery
from tests.standin.options import MODEL_KINDS
from tests.standin.refusals import page_refusal, refusal
from tests.standin.wire import Reply, Request


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb as parsed: its argument is "" when none was given."""

    name: str
    argument: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Rule:
    """Verbs for the hits of a route, path pattern or ``*``; ``calls`` counts those hits from 1, None is all of them."""

    where: str
    verbs: tuple[Verb, ...]
    calls: Collection[int] | None = None
    hits: int = 0

    def takes(self, route: str, path: str) -> bool:
        """Count a hit that is meant, and say whether it is one of the calls."""
        meant = fnmatchcase(path, self.where) if self.where.startswith("/") else self.where in ("*", route)
        self.hits += meant
        return meant and (self.calls is None or self.hits in self.calls)


@dataclass(slots=True)
class Mix:
    """A random choice of verbs for a part of the hits; what a request gets depends on the seed and on the request alone."""

    seed: int
    rate: float
    routes: frozenset[str]
    verbs: tuple[tuple[Verb, ...], ...]
    turns: dict[str, int] = field(default_factory=dict)

    def choose(self, route: str, fingerprint: str) -> tuple[Verb, ...]:
        """Return the verbs for this request; the same request again is another turn."""
        if self.routes and route not in self.routes:
            return ()
        turn = self.turns[fingerprint] = self.turns.get(fingerprint, 0) + 1
        source = Random(f"{self.seed}/{route}/{fingerprint}/{turn}")
        return source.choice(self.verbs) if source.random() < self.rate else ()


def parse(text: str) -> tuple[Verb, ...]:
    """Read verbs from their spelling.

    Raises:
        ValueError: there is no such verb or model.
    """
    verbs = tuple(_parse_one(part) for part in text.split("; ") if part)
    for verb in verbs:
        if verb.name == "model" and verb.argument not in MODEL_KINDS:
            raise ValueError(f"there is no model {verb.argument!r}; there are: {', '.join(MODEL_KINDS)}")
        if verb.name not in KNOWN:
            raise ValueError(f"there is no fault verb {verb.name!r}; there are: {', '.join(sorted(KNOWN))}")
    return verbs


def _parse_one(text: str) -> Verb:
    name, _, rest = text.strip().partition(":")
    if name.startswith(("field_set", "content.field_set", "redirect")):
        return Verb(name, rest)
    first, *more = (text.strip()).split("+")
    name, _, argument = first.partition(":")
    pairs = (part.partition("=") for part in more)
    return Verb(name, argument, tuple((key.strip(), value.strip()) for key, _, value in pairs))


def replacement(verbs: Iterable[Verb], route: str, request: Request) -> Reply | None:
    """Return what stands in place of the true reply, or None when no verb replaces it."""
    for verb in verbs:
        if made := _replaced(verb, route, request):
            return replace(made, headers={**made.headers, **dict(verb.headers)})
    return None


def _replaced(verb: Verb, route: str, request: Request) -> Reply | None:
    if verb.name in BODIES:
        return BODIES[verb.name](request)
    if verb.name == "status":
        return refusal(route, int(verb.argument), request)
    return _REPLACE[verb.name](verb.argument, request) if verb.name in _REPLACE else None


def damaged(verbs: Iterable[Verb], reply: Reply) -> Reply:
    """Return the reply after all verbs that damage it, in order."""
    for verb in verbs:
        if verb.name in damage.VERBS:
            reply = damage.VERBS[verb.name](reply, verb.argument)
            reply = replace(reply, headers={**reply.headers, **dict(verb.headers)})
    return reply


def delivery(verbs: Iterable[Verb], base: Delivery) -> Delivery:
    """Return how the reply is to be delivered."""
    for verb in verbs:
        if verb.name in _DELIVER:
            base = _DELIVER[verb.name](base, verb.argument)
    return base


def model_named(verbs: Sequence[Verb]) -> str:
    """Return the model that a verb asks for, or ""."""
    return next((verb.argument for verb in verbs if verb.name == "model"), "")


def spelling(verbs: Iterable[Verb]) -> str:
    """Return verbs as they would be written."""
    written = (f"{verb.name}:{verb.argument}" if verb.argument else verb.name for verb in verbs)
    return "; ".join(written) or "ok"


def fingerprint(request: Request, forget: Iterable[str]) -> str:
    """Return a digest of what is asked, without what differs from one run to the next (``forget``)."""
    text = f"{request.method} {request.target}\n{request.body.decode('utf-8', 'replace')}"
    for part in forget:
        text = text.replace(part, "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# ---- verbs that replace ------------------------------------------------------------------------------------------


def _html_page(argument: str, request: Request) -> Reply:
    page = page_refusal(int(argument or "200"), request)
    text = (
        b"<!doctype html><html><head><title>Just a moment...</title></head><body><h1>Checking your browser before accessing "
        b"this site.</h1><p>DDoS protection by a content delivery network. Ray ID: 0000000000000000</p></body></html>"
    )
    return replace(page, body=text)


def _redirect(argument: str, request: Request) -> Reply:
    return Reply(302, b"", {"Location": argument})


_REPLACE: dict[str, Callable[[str, Request], Reply]] = {
    "html_page": _html_page,
    "redirect": _redirect,
}


# ---- verbs of delivery -------------------------------------------------------------------------------------------


_DELIVER: dict[str, Callable[[Delivery, str], Delivery]] = {
    "delay": lambda base, argument: replace(base, delay_s=base.delay_s + float(argument)),
    "hang_before_headers": lambda base, _: replace(base, hang="before_headers"),
    "hang_mid_body": lambda base, _: replace(base, hang="mid_body"),
    "cut_at": lambda base, argument: replace(base, cut_at=int(argument)),
    "rst": lambda base, _: replace(base, reset=True),
}

KNOWN = frozenset({"status", "model"}) | set(BODIES) | set(_REPLACE) | set(damage.VERBS) | set(_DELIVER)

EVERY_KIND = (
    "status:500", "status:503", "status:529", "status:429+Retry-After=0", "F1", "F3", "html_page", "html_page:503",
    "cut_at:18", "rst", "bad_gzip", "invalid_utf8", "field_null:choices", "field_drop:choices", "field_null:usage",
)  # fmt: skip
"""What a mix chooses from when it is not told: nothing here lasts longer than the client makes it last."""
