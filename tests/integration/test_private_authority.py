"""A whole run whose model and search are reached through a proxy, behind certificates of a private authority."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import trustme

from pipeline.domain.events import session_events as e
from pipeline.store.file_store import FileStore
from tests.forking import Command
from tests.integration.stage import KEYS, events_of, queue_text
from tests.net.test_proxies import proxy_before
from tests.standin.fixtures import hosted

MODEL, SEARCH = "model.example.org", "search.example.org"


def test_a_run_reaches_its_model_and_its_search_through_the_proxy_and_its_pages_without(tmp_path: Path) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(MODEL, SEARCH).configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    folder = tmp_path / "workspace"
    (folder / "events").mkdir(parents=True)

    async def scenario(port: int) -> set[str]:
        async with proxy_before(context, port=port) as (address, asked):
            proxied = {**KEYS, "HTTPS_PROXY": address}
            distrusted = Command(folder, "run", "pumps", env=proxied)
            assert await asyncio.to_thread(distrusted.ended) != 0
            assert "certificate is not valid (through the proxy" in distrusted.out + distrusted.err
            done = Command(folder, "run", "pumps", env={**proxied, "SSL_CERT_FILE": str(tmp_path / "authority.pem")})
            assert await asyncio.to_thread(done.ended) == 0, done.out + done.err
            return {head.split()[1].partition(":")[0] for head in asked}

    with hosted() as standin:
        queue = queue_text(standin).replace("id: pumps", "id: pumps, mode: fast")
        queue = queue.replace(standin.openrouter_url, f"https://{MODEL}/api/v1")
        (folder / "queries.yaml").write_text(queue.replace(f'brave: "{standin.base_url}"', f'brave: "https://{SEARCH}"'))
        assert asyncio.run(scenario(standin.state.port)) == {MODEL, SEARCH}
    events = events_of(FileStore(folder / "events"))
    assert any(isinstance(event, e.ResearchCompleted) for event in events)
    assert any(isinstance(event, e.PageRead) for event in events)
