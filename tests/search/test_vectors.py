from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import StepError
from pipeline.search.vector_cache import VectorCache
from pipeline.search.vectors import ByMeaning, PassageScope, SemanticIndex
from tests.embedding_server import Stage, reply_to

TEXTS = ["The basin is nine fathoms", "A beacon turns at night", "Bread is baked at dawn", "The mill stands still"]


def index(stage: Stage, folder: Path, **server: Any) -> SemanticIndex:
    """An index as a new process has it."""
    client = stage.client(price=1.0, **server)
    return SemanticIndex(client, VectorCache(folder / "embeddings.sqlite", client.server.space))


def scope_of(one: SemanticIndex, texts: Sequence[str] = TEXTS) -> PassageScope:
    return one.scope(enumerate(texts), lambda numbers: [texts[number] for number in numbers])


def nearest_in(found: ByMeaning) -> list[int]:
    return list(found.cosines(())) if found.cosines else []


def ranked(one: SemanticIndex, query: str, texts: Sequence[str] = TEXTS) -> ByMeaning:
    return asyncio.run(one.rank(query, scope_of(one, texts)))


def test_the_passage_nearest_in_meaning_comes_first_though_it_shares_no_word(stage: Stage, tmp_path: Path) -> None:
    found = ranked(index(stage, tmp_path), "How deep?")
    assert nearest_in(found)[0] == 0
    assert sorted(nearest_in(found)) == [0, 1, 2, 3]
    assert found.cost.usd > 0
    assert found.failed == ()


def test_no_text_is_sent_twice_by_any_process(stage: Stage, tmp_path: Path) -> None:
    first = ranked(index(stage, tmp_path), "How deep?")
    sent = list(stage.texts)
    assert len(sent) == len(set(sent)) == len(TEXTS) + 2
    assert nearest_in(ranked(index(stage, tmp_path), "How deep?")) == nearest_in(first)
    assert stage.texts[len(sent) :] == [sent[0]]  # the known text by which another model would be noticed
    ranked(index(stage, tmp_path), "How deep?", [*TEXTS, "A new passage"])
    assert stage.texts[-1] == "A new passage"


def test_equal_texts_are_sent_once(stage: Stage, tmp_path: Path) -> None:
    assert set(nearest_in(ranked(index(stage, tmp_path), "How deep?", [*TEXTS, *TEXTS]))) == {0, 1, 2, 3}
    assert stage.texts.count(TEXTS[0]) == 1


def test_a_run_that_was_killed_goes_on_where_it_was(stage: Stage, tmp_path: Path) -> None:
    texts = [f"passage {number}" for number in range(200)]
    one = index(stage, tmp_path)
    progress = asyncio.run(one.complete(scope_of(one, texts)))  # and then the process is killed
    assert progress is not None
    assert (progress.done, progress.left) == (64, 136)
    assert progress.cost.usd > 0
    ranked(index(stage, tmp_path), "How deep?", texts)
    sent = [text for text in stage.texts if text.startswith("passage")]
    assert len(sent) == len(set(sent)) == 200


def test_replies_that_came_before_a_failure_are_kept(stage: Stage, tmp_path: Path) -> None:
    texts = [f"passage {number}" for number in range(64)]
    stage.answer = lambda asked: (404, {"error": "gone"}) if "passage 40" in asked else None
    one = index(stage, tmp_path, at_once=2)
    with pytest.raises(StepError) as caught:
        asyncio.run(one.complete(scope_of(one, texts)))
    assert caught.value.cost.usd > 0
    assert len(VectorCache(tmp_path / "embeddings.sqlite", "tiny").known()) == 33  # 32 passages and the known text


def test_a_server_that_fails_leaves_the_ranking_by_words_and_is_named_once_in_the_log(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage.answer = lambda _texts: (404, {"error": "no such model"})
    one = index(stage, tmp_path)

    async def twice() -> list[ByMeaning]:
        return [await one.rank("How deep?", scope_of(one)) for _ in range(2)]

    with caplog.at_level(logging.WARNING):
        first, second = asyncio.run(twice())
    assert first.cosines is second.cosines is None
    assert [side.origin for side in first.failed] == ["embeddings"]
    assert "no such model" in first.failed[0].reason
    assert caplog.text.count("by words alone") == 1


def test_another_model_under_the_same_name_gets_all_texts_again(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ranked(index(stage, tmp_path), "How deep?")
    for answer in (lambda texts: reply_to(texts, 48), lambda texts: reply_to([text[::-1] for text in texts], 48)):
        stage.asked.clear()
        stage.answer = answer
        with caplog.at_level(logging.WARNING):
            assert ranked(index(stage, tmp_path), "How deep?").failed == ()
        assert set(TEXTS) <= set(stage.texts)
        assert "gives other vectors than before" in caplog.text
        caplog.clear()


def test_vectors_whose_length_changes_from_reply_to_reply_are_an_error(stage: Stage, tmp_path: Path) -> None:
    stage.answer = lambda texts: reply_to(texts, 48 if TEXTS[0] in texts else 32)
    found = ranked(index(stage, tmp_path), "How deep?")
    assert "its vectors have 48 numbers, and had 32" in found.failed[0].reason
    assert found.cosines is None


def test_searches_side_by_side_ask_for_each_text_once(stage: Stage, tmp_path: Path) -> None:
    one = index(stage, tmp_path)
    scope = scope_of(one)

    async def both() -> list[ByMeaning]:
        return list(await asyncio.gather(one.rank("How deep?", scope), one.rank("Where is the lamp?", scope)))

    deep, lamp = asyncio.run(both())
    assert (nearest_in(deep)[0], nearest_in(lamp)[0]) == (0, 1)
    assert len(stage.texts) == len(set(stage.texts))


def test_a_model_gets_the_words_that_it_wants_before_queries_and_passages(stage: Stage, tmp_path: Path) -> None:
    ranked(index(stage, tmp_path, query_prefix="query: ", passage_prefix="passage: "), "How deep?")
    assert "query: How deep?" in stage.texts
    assert f"passage: {TEXTS[0]}" in stage.texts


def test_a_cache_that_cannot_be_written_is_a_reason_too(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "embeddings.sqlite").mkdir()
    found = ranked(index(stage, tmp_path), "How deep?")
    assert "the cache of vectors" in found.failed[0].reason


def test_a_search_waits_for_vectors_no_longer_than_told_and_the_next_process_goes_on(stage: Stage, tmp_path: Path) -> None:
    texts = [f"passage {number}" for number in range(200)]
    client = stage.client()
    hasty = SemanticIndex(client, VectorCache(tmp_path / "embeddings.sqlite", client.server.space), wait_s=1e-9)
    found = ranked(hasty, "How deep?", texts)
    assert found.cosines is None
    assert found.failed[0].reason == "136 passages have no vector yet; the next run goes on"
    assert len(nearest_in(ranked(index(stage, tmp_path), "How deep?", texts))) == 100
