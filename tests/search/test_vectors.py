"""Vectors of passages: asked for once, kept, compared."""

from __future__ import annotations

import asyncio
import logging
import math
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import StepError
from pipeline.search.index import Index, Scope, Source
from pipeline.search.vectors import ByMeaning, Meaning, cosine, nearest, packed
from pipeline.text.cleaning import digest_of
from tests.embedding_server import Stage, reply_to

T = TypeVar("T")
TEXTS = ["The basin is nine fathoms", "A beacon turns at night", "Bread is baked at dawn", "The mill stands still"]


class Kept:
    """The index in a folder, as a new process opens it, with texts as pages of one passage each."""

    def __init__(self, folder: Path, texts: Sequence[str] = TEXTS) -> None:
        self.index = Index(folder / "passages.sqlite")
        pages = {digest_of(text.encode()): text for text in texts}
        self.index.put_files((), pages)
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
    assert len(kept.index.vectors_of(kept.scope)) == 32


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
    ranked(stage, tmp_path, "How deep?", query_prefix="query:", passage_prefix="passage:")
    assert "query: How deep?" in stage.texts
    assert f"passage: {TEXTS[0]}" in stage.texts


def test_a_search_waits_for_vectors_no_longer_than_told_and_the_next_process_goes_on(stage: Stage, tmp_path: Path) -> None:
    texts = [f"passage {number}" for number in range(200)]
    kept = Kept(tmp_path, texts)
    found = asyncio.run(Meaning(stage.client(), wait_s=1e-9).rank("How deep?", kept.scope, kept))
    assert found.cosines is None
    assert found.failed[0].reason == "136 passages have no vector yet; the next run goes on"
    assert len(ranked(stage, tmp_path, "How deep?", texts)[1]) == 100


numbers = st.floats(-1e6, 1e6, width=32).filter(lambda value: value == 0 or abs(value) > 1e-3)
vectors = st.lists(numbers, min_size=8, max_size=8).filter(any).map(lambda values: array("f", values))


def exact(one: array[float], other: array[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / length


@given(vectors, vectors)
def test_one_byte_a_number_keeps_the_angle_between_two_vectors(one: array[float], other: array[float]) -> None:
    assert cosine(packed(one), packed(other)) == pytest.approx(exact(one, other), abs=0.03)


def test_the_nearest_are_those_that_comparing_all_finds() -> None:
    draw = Random(7)
    subjects = [[draw.gauss(0, 1) for _ in range(128)] for _ in range(20)]
    kept = {number: packed(array("f", [value + draw.gauss(0, 0.7) for value in subjects[number % 20]])) for number in range(800)}
    shares = []
    for _ in range(4):
        near = draw.choice(list(kept.values()))
        query = packed(array("f", [value + draw.gauss(0, 20) for value in array("b", near)]))
        best = sorted(kept, key=lambda number: (-cosine(query, kept[number]), number))[:20]
        found = list(nearest(query, kept, 20))
        assert found[0] == best[0]
        shares.append(len(set(found) & set(best)) / 20)
    assert sum(shares) / len(shares) > 0.75
