"""The server: connections, routes, faults, the record."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from tests.standin import chat, damage, faults, pages, searches
from tests.standin.delivery import Delivery, deliver
from tests.standin.log import Hit, Log
from tests.standin.options import LOOPBACK, Options, State
from tests.standin.prompt import MARKED
from tests.standin.wire import LARGEST_HEAD, Reply, Request, read_request

Handler = Callable[[Request, State], Reply]

ROUTES: dict[tuple[str, str], tuple[str, Handler]] = {
    ("POST", "/api/v1/chat/completions"): ("chat", chat.complete),
    ("POST", "/v1/chat/completions"): ("chat", chat.complete),
    ("GET", "/api/v1/models"): ("models", chat.models),
    ("GET", "/v1/models"): ("models", chat.models),
    ("GET", "/res/v1/web/search"): ("brave", searches.brave),
    ("GET", "/w/api.php"): ("wikipedia", searches.wikipedia),
    ("GET", "/robots.txt"): ("robots", pages.page),
}
ROUTE_NAMES = frozenset({name for name, _ in ROUTES.values()} | {"pages", "canary"})


class Standin:
    """One server on loopback, on as many addresses as it has hosts; ``log`` holds all it saw."""

    def __init__(self, options: Options | None = None) -> None:
        self.state = State(options or Options())
        self._rules: list[faults.Rule] = []
        self._mix: faults.Mix | None = None
        self._servers: list[asyncio.Server] = []
        self._open: set[asyncio.Task[None]] = set()
        self._slots: asyncio.Semaphore | None = None
        self._turns: dict[str, int] = {}
        self._start = 0.0

    # ---- what tests say and ask --------------------------------------------------------------------------------

    @property
    def log(self) -> Log:
        """Every hit so far, and what was charged."""
        return self.state.log

    @property
    def base_url(self) -> str:
        """``http://127.0.0.1:<port>``: what stands in for a search provider's scheme and host."""
        return f"http://127.0.0.1:{self.state.port}"

    @property
    def addresses(self) -> tuple[str, ...]:
        """The base URLs of all hosts: what a client that guards its connections must be allowed."""
        return tuple(map(self.state.base, range(len(LOOPBACK))))

    @property
    def openrouter_url(self) -> str:
        """The base URL of the OpenRouter flavour."""
        return f"{self.base_url}/api/v1"

    def fault(self, route: str, verb: str, calls: Collection[int] | None = None) -> None:
        """Set a verb for a route; ``calls`` counts from 1, from now on.

        Raises:
            ValueError: there is no such route or verb.
        """
        if route not in ROUTE_NAMES:
            raise ValueError(f"there is no route {route!r}; there are: {', '.join(sorted(ROUTE_NAMES))}")
        self._rules.append(faults.Rule(route, faults.parse(verb), calls))

    def mix(self, seed: int, rate: float, routes: Iterable[str] = (), verbs: Sequence[str] = faults.EVERY_KIND) -> None:
        """Let a part of the hits (``rate``, 0 to 1) go wrong by chance; a request's fate depends on seed and request alone."""
        self._mix = faults.Mix(seed, rate, frozenset(routes), tuple(map(faults.parse, verbs)))

    def clear(self) -> None:
        """Forget all faults and the mix; the log stays."""
        self._rules, self._mix = [], None

    def reset(self, **options: Any) -> None:
        """Begin anew on the same port: no faults, an empty log, pages as at first, and the options as given."""
        self.clear()
        self._turns.clear()
        self._slots = None
        self.state = State(Options(**options), port=self.state.port)

    def change_page(self, path: str) -> None:
        """Give a page new text, and so a new ETag and Last-Modified."""
        self.state.revisions[path] = self.state.revisions.get(path, 0) + 1

    # ---- life --------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen on the same free port of every loopback host."""
        self._start = time.monotonic()
        for _ in range(20):
            try:
                await self._listen()
                break
            except OSError as error:
                await self._close_servers()
                if error.errno != errno.EADDRINUSE:
                    raise

    async def _listen(self) -> None:
        self.state.port = 0
        for host in LOOPBACK:
            server = await asyncio.start_server(self._accept, host, self.state.port, limit=LARGEST_HEAD)
            self._servers.append(server)
            self.state.port = server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and end every connection."""
        await self._close_servers()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _close_servers(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
        await asyncio.sleep(0)

    # ---- connections -------------------------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError, TimeoutError):
                await self._serve(reader, writer)
        finally:
            self._open.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stays = True
        while stays:
            request = await read_request(reader)
            stays = await self._answer(request, reader, writer)
            stays = stays and request.header("Connection").lower() != "close"

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        route, handler = self._route(request)
        hit = self.log.enter(route, request, self._now())
        try:
            reply, how = self._decide(hit, handler)
            if route == "chat" and self.state.options.slots:
                await self._worked_on()
            return await deliver(reader, writer, self._coded(reply, request), how)
        finally:
            hit.ended = self._now()

    async def _worked_on(self) -> None:
        """Wait for a slot of the model, and for its work."""
        self._slots = self._slots or asyncio.Semaphore(self.state.options.slots)
        async with self._slots:
            await asyncio.sleep(self.state.options.slot_s)

    def _now(self) -> float:
        return time.monotonic() - self._start

    # ---- decisions ---------------------------------------------------------------------------------------------

    def _route(self, request: Request) -> tuple[str, Handler]:
        name = "canary" if request.path.startswith("/canary") else "pages"
        return ROUTES.get((request.method, request.path), (name, pages.page))

    def _decide(self, hit: Hit, handler: Handler) -> tuple[Reply, Delivery]:
        """Choose a verb, make the reply, damage it; what the service charges is in the record before anything is sent."""
        request, route = hit.request, hit.route
        print_ = self._fingerprint(request)
        number = self._turns[print_] = self._turns.get(print_, 0) + 1
        turn = f"{print_}/{number}"
        verb = self._verb(route, turn)
        hit.fault = verb.name
        reply = faults.replacement(verb, route, request)
        if reply is None and handler is chat.complete:
            reply = chat.complete(request, self.state, verb.argument if verb.name == "model" else "honest", turn)
        reply = reply or handler(request, self.state)
        hit.charge = reply.charge
        reply = faults.damaged(verb, reply)
        hit.status = reply.status
        base = Delivery(delay_s=max(0.0, hit.at + self.state.options.latency_s - self._now()))
        return reply, faults.delivery(verb, base)

    def _verb(self, route: str, turn: str) -> faults.Verb:
        taken = [rule.verb for rule in self._rules if rule.takes(route)]
        if taken:
            return taken[0]
        return self._mix.choose(route, turn) if self._mix else faults.Verb()

    def _fingerprint(self, request: Request) -> str:
        """Return a digest of what is asked, without what differs from one run to the next."""
        text = f"{request.method} {request.target}\n{request.body.decode('utf-8', 'replace')}"
        for part in (f":{self.state.port}", *sorted(set(MARKED.findall(text)))):
            text = text.replace(part, "")
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _coded(self, reply: Reply, request: Request) -> Reply:
        wanted = "gzip" in request.header("Accept-Encoding")
        small = len(reply.body) < 200 or reply.status != 200
        return reply if not wanted or small or reply.encoded else damage.gzipped(reply)
