"""The fault verbs: ``name:argument+Header=value``, several parted by ``; ``, set for a route, a path or all, by call number.

============================  ==========================================================================================
instead of the reply          ``status:N`` · ``F1`` … ``F11`` · ``html_page[:N]`` · ``empty_body`` · ``204`` ·
                              ``redirect:url`` · ``redirect_loop`` · ``tls_bad`` (a TLS alert where HTTP is due)
the reply, damaged            ``trunc_gzip`` · ``bad_gzip`` · ``double_gzip`` · ``bomb:ratio`` · ``encoding:X`` ·
                              ``wrong_ct[:type]`` · ``charset:X`` · ``bom`` · ``ws_prefix:n`` · ``invalid_utf8`` ·
                              ``dup_json_keys`` · ``nan[:path]`` · ``bigint[:path]`` · ``deep_json:n`` · ``field_null:path`` ·
                              ``field_drop:path`` · ``field_type:path`` · ``field_set:path=JSON``;
                              the JSON verbs also as ``content.…``, on the text that the model wrote
the reply, badly delivered    ``delay:s`` · ``latency_jitter:s`` · ``drip:bytes/s`` · ``hang_before_headers`` ·
                              ``hang_mid_body`` · ``cut_at:byte[,chunked]`` · ``chunked`` · ``length:n`` (a false
                              Content-Length) · ``endless`` · ``header_bomb[:bytes]`` · ``rst``
another model for one call    ``model:name``
nothing                       ``ok``
============================  ==========================================================================================

What replaces the reply is not charged; what is damaged or badly delivered was made, so it is charged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from random import Random
from typing import Any

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


def delivery(verbs: Iterable[Verb], base: Delivery, chance: Random) -> Delivery:
    """Return how the reply is to be delivered."""
    for verb in verbs:
        if verb.name in _DELIVER:
            base = _DELIVER[verb.name](base, verb.argument)
        elif verb.name == "latency_jitter":
            base = replace(base, delay_s=base.delay_s + chance.uniform(0, float(verb.argument or "0.2")))
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


def _empty(argument: str, request: Request) -> Reply:
    return Reply(200, b"", {"Content-Type": "application/json"})


def _no_content(argument: str, request: Request) -> Reply:
    return Reply(204)


def _redirect(argument: str, request: Request) -> Reply:
    return Reply(302, b"", {"Location": argument})


def _redirect_loop(argument: str, request: Request) -> Reply:
    return Reply(302, b"", {"Location": request.target})


_REPLACE: dict[str, Callable[[str, Request], Reply]] = {
    "html_page": _html_page,
    "empty_body": _empty,
    "204": _no_content,
    "redirect": _redirect,
    "redirect_loop": _redirect_loop,
    "tls_bad": _empty,
}


# ---- verbs of delivery -------------------------------------------------------------------------------------------


def _fixed(**changes: Any) -> Callable[[Delivery, str], Delivery]:
    """Return a verb that needs no argument."""

    def changed(base: Delivery, _argument: str) -> Delivery:
        return replace(base, **changes)

    return changed


def _cut(base: Delivery, argument: str) -> Delivery:
    at, _, manner = argument.partition(",")
    return replace(base, cut_at=int(at or "18"), chunked=base.chunked or manner == "chunked")


_DELIVER: dict[str, Callable[[Delivery, str], Delivery]] = {
    "delay": lambda base, argument: replace(base, delay_s=base.delay_s + float(argument or "1")),
    "drip": lambda base, argument: replace(base, drip=float(argument or "10")),
    "hang_before_headers": _fixed(hang="before_headers"),
    "hang_mid_body": _fixed(hang="mid_body"),
    "cut_at": _cut,
    "chunked": _fixed(chunked=True),
    "length": lambda base, argument: replace(base, claimed_length=int(argument)),
    "endless": _fixed(endless=True),
    "header_bomb": lambda base, argument: replace(base, extra_header_bytes=int(argument or "300000")),
    "rst": _fixed(reset=True),
    "tls_bad": _fixed(no_http=True),
}

KNOWN = frozenset({"ok", "status", "model", "latency_jitter"}) | set(BODIES) | set(_REPLACE) | set(damage.VERBS) | set(_DELIVER)

EVERY_KIND = (
    *("status:500", "status:502", "status:503", "status:529", "status:429+Retry-After=0", "F1", "F2", "F3", "F6+Retry-After=0"),
    *("html_page", "html_page:503", "empty_body", "204", "cut_at:18", "cut_at:18,chunked", "trunc_gzip", "bad_gzip", "rst"),
    *("invalid_utf8", "bom", "ws_prefix:200", "wrong_ct", "dup_json_keys", "nan", "bigint", "deep_json:100000", "tls_bad"),
    *("field_null:choices", "field_drop:choices", "field_null:usage", "header_bomb", "redirect_loop", "latency_jitter:0.05"),
)
"""What a mix chooses from when it is not told: nothing here lasts longer than the client makes it last."""
