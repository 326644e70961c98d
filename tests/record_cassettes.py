"""``python -m tests.record_cassettes``: record the cassettes again, from the services themselves.

The keys come from the environment or ``.env`` as the program reads them; a service that is not set up keeps its cassettes.
A few searches and two short answers of a model are paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from pipeline.config.keys import Keys
from pipeline.config.queue_schema import Settings
from pipeline.config.services import search_access
from pipeline.config.workspace_settings import keys_of
from pipeline.errors import StepError, UsageError
from pipeline.text.redaction import Secret
from tests.cassetting import KINDS, MODELS, SERVICES, Exchange, cassette, make


def main() -> None:
    """Record, and say what was recorded."""
    asyncio.run(_live())


async def _live() -> None:
    keys = keys_of(Path())
    for exchange in _set_up(keys):
        await _record(exchange, keys.secrets())


def _set_up(keys: Keys) -> Iterator[Exchange]:
    for service in SERVICES:
        found = _access(service, keys)
        if found is None:
            print(f"{service}: not set up, its cassettes stay as they are")
            continue
        for kind in KINDS if service != "searxng" else KINDS[:1]:  # a server of one's own answers in JSON, or does not
            yield Exchange(service, kind, *found)


def _access(service: str, keys: Keys) -> tuple[str, Secret] | None:
    if service in MODELS:
        key = keys.secret(MODELS[service].key_name)
        return (MODELS[service].url, key) if key else None
    try:
        access = search_access(service, Settings(), keys)
    except UsageError:
        return None
    return (access[0], access[1] or Secret("")) if access else None


async def _record(exchange: Exchange, secrets: tuple[Secret, ...] = ()) -> None:
    exchange.path.unlink(missing_ok=True)
    with cassette(exchange, record=True, secrets=secrets):
        try:
            found = await make(exchange)
        except StepError as error:
            found = f"{type(error).__name__}: {error.message}"
    print(f"{exchange.service}/{exchange.kind}: {found}")


if __name__ == "__main__":
    main()
