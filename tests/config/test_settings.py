"""From a workspace to the limits of its sessions."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config.keys import Keys
from pipeline.config.queue_values import EmbeddingChoice, ModelChoice, Query, QueryLimits, Settings
from pipeline.config.services import config_for
from pipeline.config.settings import load_workspace
from pipeline.errors import QueueInvalid

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
    assert workspace.corpora[0] == tmp_path / "docs"
    assert workspace.document_name("a.md") == "docs/a.md"
    assert workspace.document_name("@papers/a.md") == "@papers/a.md"


def test_allowed_sources_of_a_query_replace_those_of_the_settings_and_denied_ones_add_up(tmp_path: Path) -> None:
    (tmp_path / "queries.yaml").write_text(
        "settings: {sources: {allow: [example.org], deny: [spam.example]}, beyond: true}\n"
        "queries:\n  - a\n  - {query: b, beyond: false, sources: {allow: [notes/], deny: [drafts/]}}\n"
    )
    queue = load_workspace(tmp_path).queue
    first, second = (config_for(query, queue.settings) for query in queue.queries)
    assert (first.allow, first.deny, first.beyond) == (("example.org",), ("spam.example",), True)
    assert (second.allow, second.deny, second.beyond) == (("notes/",), ("spam.example", "drafts/"), False)
    (tmp_path / "queries.yaml").write_text("settings: {sources: {deny: [https://spam.example/]}}\nqueries: [a]\n")
    with pytest.raises(QueueInvalid, match="no host and no folder"):
        load_workspace(tmp_path)
