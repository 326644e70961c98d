"""The values of the HTTP client: a request, its reply, the judgement of it, the charges of a paid one; and strict JSON.

In strict JSON, duplicate keys, NaN, infinities and huge numbers are refused, because parsers disagree on them. A byte order mark
and leading white space (which servers send to keep a connection alive) are accepted. The body of a reply is read leniently: a
fault in a part that nobody uses must not cost an answer that was paid for.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import urlencode, urlsplit

from pipeline.domain.budget import CombinedBudget, Reservation
from pipeline.domain.research_values import Cost
from pipeline.errors import Malformed, ProviderRefused, ServiceFailed, ServiceUnavailable


def loop_time() -> float:
    """Return the running event loop's time in seconds, as ``asyncio.sleep`` and ``asyncio.timeout`` use it."""
    return asyncio.get_running_loop().time()


MAX_DEPTH = 100
MAX_DIGITS = 40

_WEB_PAGE = ("<!doctype", "<?xml", "<!--", "<html", "<head", "<body", "<title", "<meta", "<script", "<h1", "<p>", "<center")
# The nesting is counted before it is parsed, because the parser would recurse. Possessive, so that one long string is matched
# without backtracking.
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


def parse_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object in the UTF-8 bytes ``data``, the body of a reply, read leniently.

    Of a key that occurs twice the last value counts, and a number that is none of JSON's, or too large, is null.

    Raises:
        Malformed: ``data`` is no JSON object; ``kind`` is the reason.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed("encoding", f"the body is not UTF-8 (byte {error.start})") from None
    value = parse(text, _LENIENT)
    if not isinstance(value, dict):
        name = {list: "a list", str: "a string", type(None): "null"}.get(type(value), "a bare value")
        raise Malformed("not an object", f"a JSON object was expected, not {name}")
    return value


def parse(text: str, decoder: json.JSONDecoder) -> Any:
    """Return the JSON value in ``text``, which white space may surround.

    Raises:
        Malformed: ``text`` is no JSON value, or an ambiguous one; ``kind`` is the reason.
    """
    stripped = text.strip()
    if not stripped:
        raise Malformed("empty", "the body is empty")
    if stripped[:10].lower().startswith(_WEB_PAGE):
        raise Malformed("html", "the body is a web page, not JSON")
    depth = 0
    for found in _BRACKETS.finditer(stripped):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > MAX_DEPTH:
            raise Malformed("too deep", f"the JSON nests more than {MAX_DEPTH} deep")
    try:
        return decoder.decode(stripped)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(stripped) or "Unterminated" in error.msg
        raise Malformed("cut" if cut else "syntax", f"the JSON {'is cut off' if cut else 'is faulty'} at {error.pos}") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Malformed("duplicate key", "an object holds the same key twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Malformed("huge number", f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Malformed("huge number", "a number is too large")
    return value


def _constant(name: str) -> NoReturn:
    raise Malformed("not a number", f"{name} is not JSON")


_LENIENT = json.JSONDecoder(
    parse_int=lambda digits: int(digits) if len(digits) <= MAX_DIGITS else None,
    parse_float=lambda digits: value if math.isfinite(value := float(digits)) else None,
    parse_constant=lambda _name: None,
)
# It takes line breaks inside strings, which models write.
STRICT = json.JSONDecoder(
    strict=False, object_pairs_hook=_without_duplicates, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


@dataclass(frozen=True, slots=True)
class Call:
    """One request of an adapter.

    ``service`` names the circuit that the call runs on (``openrouter``, ``brave``, a page's host). ``params`` are added to the
    query of ``url``; ``json`` becomes the body. ``max_bytes`` caps the body twice: as it comes over the wire, and decoded.
    ``deadline_s`` is the wall-clock time in seconds that one exchange may take, from connecting to the body's last byte.
    ``total_s`` is the time for all attempts and the waits between them; None is the policy's.
    ``gap_s`` is the least wait in seconds before it is sent again after a failure.
    ``pace`` is for a reply that is sent in pieces; it makes, for each exchange, what is called with every piece and returns the
    seconds within which the next one must come, in place of ``deadline_s``; 0 ends the reply there.
    Headers, parameters and body are left out of ``repr``, because they hold keys.
    """

    service: str
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict, repr=False)
    json: Any = field(default=None, repr=False)
    max_bytes: int = 5_000_000
    deadline_s: float = 60.0
    total_s: float | None = None
    gap_s: float = 0.0
    pace: Callable[[], Callable[[bytes], float]] | None = field(default=None, repr=False)

    @property
    def target(self) -> str:
        """The address with its parameters."""
        if not self.params:
            return self.url
        return f"{self.url}{'&' if '?' in self.url else '?'}{urlencode(self.params)}"

    @property
    def place(self) -> str:
        """Host and path, for messages: without user, parameters and fragment."""
        try:
            parts = urlsplit(self.url)
            return f"{parts.hostname or '?'}{parts.path}"[:200]
        except ValueError:
            return self.service


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's complete, decoded reply.

    ``url`` is the call's, without its parameters. Header names are in lower case; values of a repeated header are joined by
    ``, ``. ``lost`` counts earlier attempts of the same call that were sent but whose
    reply never came whole: they may have been billed. ``stopped``: the call's pace ended it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    lost: int = 0
    stopped: bool = False

    def json_object(self) -> dict[str, Any]:
        """Return the body as a JSON object, whatever type the server declares.

        Raises:
            Malformed: the body is no JSON object; ``kind`` is the reason.
        """
        return parse_object(self.body)


@dataclass(frozen=True, slots=True)
class Good:
    """The reply can be used."""


@dataclass(frozen=True, slots=True)
class Again:
    """The same call may pass later. ``after_s`` is a wait in seconds from the body; the client reads Retry-After itself.

    ``down``: the service is down or overloaded, so that no other call would pass now either; a status of ``DOWN`` says so itself.
    """

    why: str
    after_s: float | None = None
    down: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Key, quota or credit is missing or used up: no call will pass tonight. ``hint`` says what to do about it.

    ``verb`` is what the service does, for the message.
    """

    why: str
    hint: str
    verb: str = "refuses us"


@dataclass(frozen=True, slots=True)
class Failed:
    """This call will never pass; other calls may."""

    why: str


Verdict = Good | Again | Refused | Failed
Judge = Callable[[Reply], Verdict]
# Not 500, 504 and 524: these can also be due to one prompt, which is too hard or takes too long.
DOWN = frozenset({429, 502, 503, 520, 521, 522, 523, 529})
BUSY = frozenset({429, 529})  # it is there, and has too much to do


def judged_by_status(reply: Reply) -> Verdict:
    """Return the verdict on a reply by its status alone: 2xx is good; 408, 409, 425, 429 and 5xx may pass later."""
    if 200 <= reply.status < 300:
        return Good()
    if reply.status in (401, 402, 403):
        return Refused(f"it answered with status {reply.status}", "check the key and the account's credit")
    if reply.status in (408, 409, 425, 429) or reply.status >= 500:
        return Again(f"it answered with status {reply.status}")
    return Failed(f"it answered with status {reply.status}")


class AttemptCharges:
    """The reservations of one paid call's attempts; each lasts until the reply is charged or the attempt has ended without one.

    ``before`` goes with the call to the client, whose judge says what has ``replied``. ``costs`` gets what was charged; ``calls``
    as in a budget. ``lost``: the attempts that were charged without a reply. A call that is free leaves no event of its own.
    """

    def __init__(self, budget: CombinedBudget, worst: Cost, costs: list[Cost], *, calls: int = 1) -> None:
        self._budget, self._worst, self._costs, self._calls = budget, worst, costs, calls
        self._open: list[tuple[Reservation, ...]] = []
        self.lost = 0

    async def before(self) -> None:
        """Reserve the worst case of the next attempt.

        Raises:
            BudgetSpent: it would exceed a cap.
        """
        announced = bool(self._calls or self._worst.usd)
        self._open.append(await self._budget.reserve(self._worst, calls=self._calls, announced=announced))

    def replied(self, cost: Cost) -> None:
        """Charge ``cost`` for the latest attempt."""
        self._budget.settle(self._open.pop(), cost)
        self._costs.append(cost)

    async def charged(self, sending: Awaitable[Reply]) -> Reply:
        """Return the reply that ``sending`` gets; charge the worst case of the attempts that were lost, release the others.

        Where nobody says how many were lost, as when it is cancelled, all without a reply were. Raises as ``sending``.
        """
        lost = None
        try:
            reply = await sending
            lost = reply.lost
        except (ServiceUnavailable, ServiceFailed, ProviderRefused) as error:
            lost = error.lost
            raise
        finally:
            for number, reservations in enumerate(self._open):
                if lost is None or number < lost:
                    self._budget.settle(reservations, self._worst)
                    self._costs.append(self._worst)
                else:
                    self._budget.settle(reservations, None)
            self._open.clear()
            self.lost = lost or 0
        return reply
