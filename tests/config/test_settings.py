"""From a workspace to the limits of its sessions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config.keys import Keys
from pipeline.config.queue_schema import EmbeddingChoice, ModelChoice, Query, QueryLimits, RerankerChoice, Settings
from pipeline.config.services import (
    Documents,
    config_for,
    embedding_server,
    own_servers,
    reasoner_for,
    requests_at_once,
    search_access,
    searches_for,
    secrets_of,
)
from pipeline.config.workspace_settings import load_workspace
from pipeline.errors import QueueInvalid, UsageError

ROOT = Path(__file__).parents[2]


def test_the_sample_queue_is_valid_and_needs_no_network() -> None:
    workspace = load_workspace(ROOT)
    assert len(workspace.queue.queries) == 5
    assert [query.mode for query in workspace.queue.queries].count("fast") == 1
    assert workspace.corpora[0] == ROOT / "corpus"
    for query in workspace.queue.queries:
        config = config_for(query, workspace.queue.settings)
        assert (config.reasoner, config.search) == ("extractive", ("local",))


def test_fast_is_one_perspective_and_one_iteration_with_a_round_for_gaps_where_a_model_says_what_is_open() -> None:
    query = Query(text="a", id="a", line=1, mode="fast")
    for settings, gap_rounds in ((Settings(), 0), (Settings(reasoner=ModelChoice("qwen3", "http://localhost:11434/v1")), 1)):
        config = config_for(query, settings)
        assert (config.mode, config.perspectives, config.iterations, config.gap_rounds) == ("fast", 1, 1, gap_rounds)


def test_the_numbers_of_a_query_win_over_its_mode() -> None:
    query = Query(text="a", id="a", line=1, mode="fast", iterations=2, gap_rounds=1, budget_usd=0.5)
    config = config_for(query, Settings(reasoner=ModelChoice("qwen3", "http://localhost:11434/v1")))
    assert (config.perspectives, config.iterations, config.gap_rounds) == (1, 2, 1)
    assert config.budget_usd == 0.5
    plain = config_for(query, Settings())
    assert (plain.perspectives, plain.iterations, plain.gap_rounds, plain.budget_usd) == (1, 1, 0, 0.5)  # without a model


def test_caps_of_all_queries_hold_where_a_query_names_none() -> None:
    settings = Settings(query_limits=QueryLimits(0.5, timedelta(minutes=5)))
    config = config_for(Query(text="a", id="a", line=1), settings)
    assert (config.budget_usd, config.timeout_s) == (0.5, 300)
    own = Query(text="a", id="a", line=1, budget_usd=2, timeout=timedelta(seconds=7))
    config = config_for(own, settings)
    assert (config.budget_usd, config.timeout_s) == (2, 7)


def test_a_session_records_who_answers_and_who_searches() -> None:
    keys = Keys(env={"OPENAI_API_KEY": "sk-canary-1", "TAVILY_API_KEY": "tvly-canary"})
    config = config_for(Query(text="a", id="a", line=1), Settings(), keys)
    assert (config.reasoner, config.search) == ("gpt-5-mini", ("tavily",))
    config = config_for(Query(text="a", id="a", line=1, model="big", search=("arxiv", "local")), Settings(), keys)
    assert (config.reasoner, config.search) == ("big", ("arxiv", "local"))
    assert "canary" not in config.model_dump_json()


def test_paths_may_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    said = "settings: {corpus: [~/papers, notes], embeddings: {folder: ~/model}, ca_file: ~/company.pem}"
    (tmp_path / "queries.yaml").write_text(f"{said}\nqueries: [a]\n")
    settings = load_workspace(tmp_path).queue.settings
    assert settings.corpus == ("/home/me/papers", "notes")
    assert isinstance(settings.embeddings, EmbeddingChoice)
    assert (settings.embeddings.folder, settings.ca_file) == ("/home/me/model", "/home/me/company.pem")


def test_the_corpus_may_be_several_folders(tmp_path: Path) -> None:
    (tmp_path / "queries.yaml").write_text("settings: {corpus: [docs, ../papers]}\nqueries: [a]\n")
    workspace = load_workspace(tmp_path)
    assert workspace.corpora == (tmp_path / "docs", tmp_path / "../papers")
    assert workspace.document_name("a.md") == "docs/a.md"
    assert workspace.document_name("@papers/a.md") == "@papers/a.md"


def test_allowed_sources_of_a_query_replace_those_of_the_settings_and_denied_ones_add_up(tmp_path: Path) -> None:
    (tmp_path / "queries.yaml").write_text(
        "settings: {sources: {allow: [example.org], deny: [spam.example]}, beyond: true}\n"
        "queries:\n  - a\n  - {query: b, beyond: false, sources: {allow: [notes/], deny: [my drafts/]}}\n"
    )
    queue = load_workspace(tmp_path).queue
    first, second = (config_for(query, queue.settings) for query in queue.queries)
    assert (first.allow, first.deny, first.beyond) == (("example.org",), ("spam.example",), True)
    assert (second.allow, second.deny, second.beyond) == (("notes/",), ("spam.example", "my drafts/"), False)
    for wrong in ("https://spam.example/", "spam. example", "*.spam.example"):
        (tmp_path / "queries.yaml").write_text(f"settings: {{sources: {{deny: ['{wrong}']}}}}\nqueries: [a]\n")
        with pytest.raises(QueueInvalid, match="no host and no folder"):
            load_workspace(tmp_path)


# ---- the services in use ----


ROUTER = {"OPENROUTER_API_KEY": "router-canary"}
OPENAI = {"OPENAI_API_KEY": "openai-canary"}
LOCAL = ModelChoice("qwen3", "http://localhost:11434/v1")


def server_of(settings: Settings, env: dict[str, str], model: str | None = None) -> tuple[str, str, str, str]:
    server = reasoner_for(settings, Keys(env=env), model).server
    if server is None:
        return ("extractive", "", "", "")
    return (server.name, server.base_url, server.key.reveal() if server.key else "", server.model)


def test_auto_takes_the_first_server_whose_key_is_set_else_the_extractive_engine() -> None:
    router = ("openrouter", "https://openrouter.ai/api/v1", "router-canary", "openai/gpt-5-mini")
    assert server_of(Settings(), ROUTER | OPENAI) == router
    assert server_of(Settings(), OPENAI) == ("openai", "https://api.openai.com/v1", "openai-canary", "gpt-5-mini")
    assert server_of(Settings(), {}) == ("extractive", "", "", "")
    assert server_of(Settings(reasoner="extractive"), ROUTER) == ("extractive", "", "", "")
    assert "neither OPENROUTER_API_KEY nor OPENAI_API_KEY" in reasoner_for(Settings(), Keys()).why
    assert reasoner_for(Settings(reasoner="extractive"), Keys(), "extractive").server is None


def test_a_named_model_goes_to_the_server_whose_key_is_set() -> None:
    assert server_of(Settings(reasoner=ModelChoice("big")), OPENAI)[::3] == ("openai", "big")
    assert server_of(Settings(), ROUTER, "big")[::3] == ("openrouter", "big")
    assert server_of(Settings(reasoner="extractive"), ROUTER, "big")[::3] == ("openrouter", "big")
    for settings, model in ((Settings(reasoner=ModelChoice("big")), None), (Settings(), "big")):
        with pytest.raises(UsageError, match="the model big, but no server"):
            reasoner_for(settings, Keys(), model)


def test_a_query_with_a_model_of_its_own_keeps_the_server() -> None:
    assert server_of(Settings(reasoner=LOCAL), ROUTER, "big") == ("localhost:11434", "http://localhost:11434/v1", "", "big")


def test_a_public_services_key_goes_to_no_other_server() -> None:
    assert server_of(Settings(reasoner=LOCAL), ROUTER | OPENAI)[2] == ""
    for url in ("http://api.openai.com/v1", "https://api.openai.com.evil.example/v1", "https://openrouter.ai:8443/api/v1"):
        assert server_of(Settings(reasoner=ModelChoice("a", url)), ROUTER | OPENAI)[2] == ""
    assert server_of(Settings(reasoner=ModelChoice("a", "https://openrouter.ai/api/v1/")), ROUTER)[2] == "router-canary"


def test_a_server_of_ones_own_gets_the_key_that_is_named_for_it() -> None:
    choice = ModelChoice("a", "https://models.example/v1", "MY_API_KEY")
    assert server_of(Settings(reasoner=choice), ROUTER | {"MY_API_KEY": "my-canary"})[2] == "my-canary"
    with pytest.raises(UsageError, match="MY_API_KEY is not set"):
        reasoner_for(Settings(reasoner=choice), Keys(env=ROUTER))


def test_auto_searches_with_all_that_is_set_up_in_order_else_in_the_folder() -> None:
    env = {"TAVILY_API_KEY": "t", "SEARXNG_URL": "http://localhost:8888"}
    assert searches_for("auto", Settings(), Keys(env=env)).names == ("tavily", "searxng")
    assert searches_for("auto", Settings(), Keys(env={**env, "BRAVE_API_KEY": "b"})).names == ("brave", "tavily", "searxng")
    for own in (Settings(searxng_url="http://a"), Settings(search_urls=(("searxng", "http://a"),))):  # the first in older files
        assert searches_for("auto", own, Keys()).names == ("searxng",)
    assert searches_for("auto", Settings(), Keys()).names == ("local",)


def test_auto_searches_ones_own_documents_beside_the_web_and_says_why() -> None:
    keys = Keys(env={"BRAVE_API_KEY": "b", "TAVILY_API_KEY": "t"})
    own = searches_for("auto", Settings(), keys, "own")
    assert (own.names, own.words) == (("local", "brave", "tavily"), "local and brave, then tavily")
    assert "your documents in corpus" in own.why
    cases: tuple[tuple[Documents, str], ...] = (("samples", "only the sample documents"), ("none", "no documents in corpus"))
    for documents, why in cases:
        found = searches_for("auto", Settings(), keys, documents)
        assert found.names == ("brave", "tavily")
        assert why in found.why
    assert searches_for("auto", Settings(), Keys(), "samples").names == ("local",)


def test_who_is_named_searches_alone_whatever_else_there_is() -> None:
    keys = Keys(env={"BRAVE_API_KEY": "b"})
    assert searches_for(("local",), Settings(), keys, "own").names == ("local",)
    assert searches_for(("brave",), Settings(), keys, "own").names == ("brave",)


@pytest.mark.parametrize(("name", "missing"), [("brave", "BRAVE_API_KEY"), ("tavily", "TAVILY_API_KEY"), ("searxng", "address")])
def test_a_named_provider_without_what_it_needs_is_refused_before_anything_is_sent(name: str, missing: str) -> None:
    with pytest.raises(UsageError, match=missing) as caught:
        searches_for(("local", name), Settings(), Keys())
    assert caught.value.hint


def test_a_provider_is_asked_where_the_settings_say() -> None:
    settings = Settings(search_urls=(("wikipedia", "https://de.wikipedia.org/"),))
    assert search_access("wikipedia", settings, Keys()) == ("https://de.wikipedia.org", None)
    keyed = search_access("openalex", settings, Keys(env={"OPENALEX_API_KEY": "o"}))
    assert keyed is not None
    assert keyed[1] is not None
    assert search_access("local", settings, Keys()) is None


def test_only_addresses_that_the_user_named_may_be_private() -> None:
    settings = Settings(reasoner=LOCAL, search_urls=(("brave", "http://127.0.0.1:1"),))
    assert own_servers(settings, Keys(env={"SEARXNG_URL": "http://localhost:8888"})) == (
        "http://localhost:11434/v1",
        "http://localhost:8888",
        "http://127.0.0.1:1",
    )
    assert own_servers(Settings(), Keys(env=ROUTER)) == ()


def test_the_key_that_a_reasoner_names_is_a_secret_whatever_it_is_called() -> None:
    keys = Keys(env={"MINE": "my-canary", **ROUTER})
    settings = Settings(reasoner=ModelChoice("a", "https://models.example/v1", "MINE"))
    assert {secret.reveal() for secret in secrets_of(settings, keys)} == {"my-canary", "router-canary"}
    assert {secret.reveal() for secret in secrets_of(Settings(), keys)} == {"router-canary"}


@pytest.mark.parametrize(
    ("address", "most"),
    [("http://localhost:8080/v1", 1), ("http://10.1.2.3:8000/v1", 1), ("http://[fd00::1]/v1", 1), ("https://a.example/v1", None)],
)
def test_a_server_of_ones_own_gets_one_request_at_a_time_unless_the_settings_say_more(address: str, most: int | None) -> None:
    for concurrency, wanted in ((None, most), (4, 4)):
        choice = reasoner_for(Settings(reasoner=ModelChoice("tiny", address, concurrency=concurrency)), Keys(env={}))
        assert choice.server is not None
        assert choice.server.at_once == wanted


def test_embeddings_are_asked_for_where_the_settings_say_on_a_circuit_of_their_own() -> None:
    settings = Settings(embeddings=EmbeddingChoice("tiny", "http://localhost:11434/v1", "MINE"))
    keys = Keys(env={"MINE": "my-canary"})
    server = embedding_server(settings, keys)
    assert server is not None
    assert (server.name, server.model, server.at_once) == ("embeddings at localhost:11434", "tiny", 1)
    assert own_servers(settings, keys) == ("http://localhost:11434/v1",)
    both = replace(settings, reranker=RerankerChoice("order", "http://127.0.0.1:8080/v1"))
    assert requests_at_once(both, keys) == {server.name: 1, "reranker at 127.0.0.1:8080": 1}
    assert {secret.reveal() for secret in secrets_of(settings, keys)} == {"my-canary"}
    assert embedding_server(Settings(), keys) is None


def test_embeddings_without_an_address_need_a_key_and_the_message_names_them() -> None:
    settings = Settings(embeddings=EmbeddingChoice("tiny"))
    server = embedding_server(settings, Keys(env=ROUTER))
    assert server is not None
    assert server.base_url == "https://openrouter.ai/api/v1"
    with pytest.raises(UsageError) as caught:
        embedding_server(settings, Keys(env={}))
    assert "embeddings: {model: …, base_url: …}" in caught.value.hint
    with pytest.raises(UsageError, match="MINE is not set, which embeddings: in queries"):
        embedding_server(Settings(embeddings=EmbeddingChoice("tiny", "http://a.example/v1", "MINE")), Keys(env={}))
