"""The model in this process, as the extra ``meaning`` installs it, and a session that searches with it."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from unittest import mock

import pytest

from pipeline.config.keys import Keys
from pipeline.config.workspace_settings import load_workspace
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.errors import ServiceFailed, UsageError
from pipeline.net.client import SERVICES, HttpClient
from pipeline.search import local_embedder
from pipeline.search.local_embedder import LocalEmbedder, files_of, minilm
from pipeline.search.vectors import VectorModel, cosine, packed
from pipeline.store.file_store import FileStore
from pipeline.wiring.session_adapters import meaning_of
from tests.commanding import said, workspace_in

pytest.importorskip("onnxruntime", reason="no wheels for this platform")
numpy = pytest.importorskip("numpy")

QUERY = "  - {query: How do I wipe old copies of my data?, id: wipe}\n"
TEXTS = ["Use the prune command to delete archives that are no longer needed.", "Bread is baked at dawn.", "A cat sleeps."]


def test_a_text_in_other_words_of_the_same_meaning_is_nearer_than_others() -> None:
    question, *texts = asyncio.run(LocalEmbedder(minilm()).embed(["wipe my backups", *TEXTS, ""])).vectors
    near = [cosine(packed(question), packed(text)) for text in texts]
    assert near[0] == max(near) > local_embedder.MINILM_FLOOR > near[1]
    assert len(question) == 384


def test_a_vector_does_not_depend_on_the_texts_beside_it() -> None:
    model = LocalEmbedder(minilm())
    alone, together = (asyncio.run(model.embed(texts)).vectors[0] for texts in (TEXTS[:1], [TEXTS[0], "word " * 300, *TEXTS]))
    assert cosine(packed(alone), packed(together)) > 0.98


@pytest.mark.parametrize("number", [0.0, math.nan])
def test_a_vector_that_has_no_direction_is_one_clear_error(number: float, monkeypatch: pytest.MonkeyPatch) -> None:
    session, *others = local_embedder._loaded(minilm())
    blind = mock.Mock(get_inputs=session.get_inputs, run=lambda *_asked: [numpy.full((1, 384), number)])
    monkeypatch.setattr(local_embedder, "_loaded", lambda _model: (blind, *others))
    with pytest.raises(ServiceFailed, match="all zeros, or not finite"):
        asyncio.run(LocalEmbedder(minilm()).embed(["a"]))


def test_other_weights_than_those_that_were_measured_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_embedder, "_SHA256", "0" * 64)
    with pytest.raises(ServiceFailed, match="SHA-256 is another"):
        asyncio.run(LocalEmbedder(minilm()).embed(["a"]))


def test_a_model_in_a_folder_is_used_and_an_empty_folder_is_one_clear_error(tmp_path: Path) -> None:
    from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

    weights, words = files_of(minilm())
    folder = tmp_path / "models" / "mine"
    with pytest.raises(UsageError, match="holds no model of vectors"):
        files_of(VectorModel("mine", folder=str(folder)))
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model_quantized.onnx").symlink_to(weights)
    BertWordPieceTokenizer(str(words), lowercase=True).save(str(folder / "tokenizer.json"))
    found = asyncio.run(LocalEmbedder(VectorModel("mine", folder=str(folder))).embed(TEXTS)).vectors
    usual = asyncio.run(LocalEmbedder(minilm()).embed(TEXTS)).vectors
    assert cosine(packed(found[0]), packed(usual[0])) > 0.98


def test_a_passage_that_shares_no_word_with_the_question_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workspace_in(tmp_path / "w", QUERY)
    (folder / "corpus" / "prune.md").write_text(f"# Archives\n\n{TEXTS[0]} It frees the space that backups take.\n")
    monkeypatch.setenv("RESEARCH_EMBEDDINGS", "auto")
    first = said(folder, "run")
    assert first.code == 0, first.err
    assert "more passages can be found by meaning (all-MiniLM-L6-v2)" in first.err
    (report,) = (folder / "vault" / "reports").rglob("*.md")
    assert "Use the prune command to delete archives" in report.read_text()
    store = FileStore(folder / "events")
    (survey,) = [
        event
        for name in store.ids("session")
        for event in decode_all(record.data for record in store.load(name))
        if isinstance(event, e.TopicSurveyed)
    ]
    assert survey.statistics.nearest == local_embedder.MINILM_FLOOR
    assert survey.hits[0].cosine is not None
    assert said(folder, "verify").code == 0
    (turn,) = json.loads(said(folder, "--json", "ask", "--all", "how can I get rid of old saves?").out)["turns"]
    assert turn["without_meaning"] == []
    doctor = said(folder, "doctor")
    assert "all-MiniLM-L6-v2 in this process" in doctor.out + doctor.err


def test_a_question_on_another_subject_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workspace_in(tmp_path / "w", "  - {query: Who painted the Sistine Chapel ceiling at night?, id: chapel}\n")
    monkeypatch.setenv("RESEARCH_EMBEDDINGS", "auto")
    result = said(folder, "run")
    assert (result.code, "nothing in your 2 documents is near enough to the question" in result.out + result.err) == (5, True)


def test_without_the_packages_words_alone_count_and_doctor_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workspace_in(tmp_path / "w", "  - {query: How deep is the harbour?, id: deep}\n")
    monkeypatch.setenv("RESEARCH_EMBEDDINGS", "auto")
    monkeypatch.setattr(local_embedder, "_PACKAGES", ("a_package_of_no_name", "tokenizers"))
    result = said(folder, "run")
    assert (result.code, "by meaning" in result.err) == (0, False)
    doctor = said(folder, "doctor")
    assert "searched by words only: a-package-of-no-name is not installed" in doctor.out + doctor.err
    (folder / "queries.yaml").write_text("settings: {embeddings: {folder: mine}}\nqueries: [a question]\n")
    with pytest.raises(UsageError, match="a-package-of-no-name is not installed"):
        meaning_of(load_workspace(folder).queue.settings, Keys(folder, {}), HttpClient(SERVICES), folder, 1.0)
