from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pipeline.errors import StepError
from pipeline.search.index import Index, Scope, Source
from pipeline.search.vectors import ByMeaning, Meaning
from pipeline.text.normalise import digest_of
from tests.embedding_server import Stage, reply_to

T = TypeVar("T")
TEXTS = ["The basin is nine fathoms", "A beacon turns at night", "Bread is baked at dawn", "The mill stands still"]


class Kept:
    """The index in a folder, as a new process opens it, with texts as pages of one passage each."""

    def __init__(self, folder: Path, texts: Sequence[str] = TEXTS) -> None:
        self.index = Index(folder / "passages.sqlite")
        pages = {digest_of(text.encode()): text for text in texts}
        self.index.put_pages(pages)
        self.scope = Scope({digest: Source(text) for digest, text in pages.items()})

    async def __call__(self, action: Callable[[Index], T]) -> T:
        return action(self.index)

    def nearest_in(self, found: ByMeaning) -> list[str]:
        return self.index.texts_of(found.cosines(())) if found.cosines else []


def model(stage: Stage, **server: Any) -> Meaning:
    """The model as a new process has it."""
    return Meaning(stage.client(price=1.0, **server))


def ranked(stage: Stage, folder: Path, query: str, texts: Sequence[str] = TEXTS, **server: Any) -> tuple[ByMeaning, list[str]]:
    kept = Kept(folder, texts)
    found = asyncio.run(model(stage, **server).rank(query, kept.scope, kept))
    return found, kept.nearest_in(found)


def test_the_passage_nearest_in_meaning_comes_first_though_it_shares_no_word(stage: Stage, tmp_path: Path) -> None:
    found, near = ranked(stage, tmp_path, "How deep?")
    assert near[0] == TEXTS[0]
    assert sorted(near) == sorted(TEXTS)
    assert found.cost.usd > 0
    assert found.failed == ()


def test_no_text_is_sent_twice_by_any_process(stage: Stage, tmp_path: Path) -> None:
    _, first = ranked(stage, tmp_path, "How deep?")
    sent = list(stage.texts)
    assert len(sent) == len(set(sent)) == len(TEXTS) + 2
    assert ranked(stage, tmp_path, "How deep?")[1] == first
    assert stage.texts[len(sent) :] == [sent[0]]  # the known text by which another model would be noticed
    ranked(stage, tmp_path, "How deep?", [*TEXTS, "A new passage"])
    assert stage.texts[-1] == "A new passage"


def test_equal_texts_are_sent_once(stage: Stage, tmp_path: Path) -> None:
    again = f"{TEXTS[0]}\n\n## Elsewhere\n\nThe mill stands.\n\n"
    ranked(stage, tmp_path, "How deep?", [*TEXTS, again])
    assert stage.texts.count(TEXTS[0]) == 1


def test_a_run_that_was_killed_goes_on_where_it_was(stage: Stage, tmp_path: Path) -> None:
    texts = [f"passage {number}" for number in range(200)]
    kept = Kept(tmp_path, texts)
    progress = asyncio.run(model(stage).complete(kept.scope, kept))  # and then the process is killed
    assert progress is not None
    assert (progress.done, progress.left) == (64, 136)
    assert progress.cost.usd > 0
    ranked(stage, tmp_path, "How deep?", texts)
    sent = [text for text in stage.texts if text.startswith("passage")]
    assert len(sent) == len(set(sent)) == 200


def test_replies_that_came_before_a_failure_are_kept(stage: Stage, tmp_path: Path) -> None:
    kept = Kept(tmp_path, [f"passage {number}" for number in range(64)])
    stage.answer = lambda asked: (404, {"error": "gone"}) if "passage 40" in asked else None
    with pytest.raises(StepError) as caught:
        asyncio.run(model(stage, at_once=2).complete(kept.scope, kept))
    assert caught.value.cost.usd > 0
    assert len(kept.index.vectors()) == 32


def test_a_server_that_fails_leaves_the_ranking_by_words_and_is_named_once_in_the_log(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage.answer = lambda _texts: (404, {"error": "no such model"})
    one, kept = model(stage), Kept(tmp_path)

    async def twice() -> list[ByMeaning]:
        return [await one.rank("How deep?", kept.scope, kept) for _ in range(2)]

    with caplog.at_level(logging.WARNING):
        first, second = asyncio.run(twice())
    assert first.cosines is second.cosines is None
    assert [side.origin for side in first.failed] == ["embeddings"]
    assert "no such model" in first.failed[0].reason
    assert caplog.text.count("by words alone") == 1


def test_another_model_under_the_same_name_gets_all_texts_again(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ranked(stage, tmp_path, "How deep?")
    for answer in (lambda texts: reply_to(texts, 48), lambda texts: reply_to([text[::-1] for text in texts], 48)):
        stage.asked.clear()
        stage.answer = answer
        with caplog.at_level(logging.WARNING):
            assert ranked(stage, tmp_path, "How deep?")[0].failed == ()
        assert set(TEXTS) <= set(stage.texts)
        assert "gives other vectors than before" in caplog.text
        caplog.clear()


def test_a_model_of_another_name_gets_all_texts_again(stage: Stage, tmp_path: Path) -> None:
    ranked(stage, tmp_path, "How deep?")
    stage.asked.clear()
    ranked(stage, tmp_path, "How deep?", dimensions=32)
    assert set(TEXTS) <= set(stage.texts)


def test_vectors_whose_length_changes_from_reply_to_reply_are_an_error(stage: Stage, tmp_path: Path) -> None:
    stage.answer = lambda texts: reply_to(texts, 48 if TEXTS[0] in texts else 32)
    found, _ = ranked(stage, tmp_path, "How deep?")
    assert "its vectors have 48 numbers, and had 32" in found.failed[0].reason
    assert found.cosines is None


def test_searches_side_by_side_ask_for_each_text_once(stage: Stage, tmp_path: Path) -> None:
    one, kept = model(stage), Kept(tmp_path)

    async def both() -> list[ByMeaning]:
        asked = ("How deep?", "Where is the lamp?")
        return list(await asyncio.gather(*(one.rank(query, kept.scope, kept) for query in asked)))

    deep, lamp = asyncio.run(both())
    assert (kept.nearest_in(deep)[0], kept.nearest_in(lamp)[0]) == (TEXTS[0], TEXTS[1])
    assert len(stage.texts) == len(set(stage.texts))


def test_a_model_gets_the_words_that_it_wants_before_queries_and_passages(stage: Stage, tmp_path: Path) -> None:
    ranked(stage, tmp_path, "How deep?", query_prefix="query: ", passage_prefix="passage: ")
    assert "query: How deep?" in stage.texts
    assert f"passage: {TEXTS[0]}" in stage.texts


def test_a_search_waits_for_vectors_no_longer_than_told_and_the_next_process_goes_on(stage: Stage, tmp_path: Path) -> None:
    texts = [f"passage {number}" for number in range(200)]
    kept = Kept(tmp_path, texts)
    found = asyncio.run(Meaning(stage.client(), wait_s=1e-9).rank("How deep?", kept.scope, kept))
    assert found.cosines is None
    assert found.failed[0].reason == "136 passages have no vector yet; the next run goes on"
    assert len(ranked(stage, tmp_path, "How deep?", texts)[1]) == 100


def test_an_index_that_cannot_be_used_is_a_reason_too(stage: Stage, tmp_path: Path) -> None:
    kept = Kept(tmp_path)

    kept.index.close()
    found = asyncio.run(model(stage).rank("How deep?", kept.scope, kept))
    assert "the index of passages: Cannot operate on a closed database" in found.failed[0].reason
