from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.ranking.rank_fusion import fused_ranking, page_origin, with_shares

LENGTHS = st.integers(0, 12)


def own(count: int) -> list[str]:
    return [f"corpus:{at:02d}.md" for at in range(count)]


def web(count: int) -> list[str]:
    return [f"https://e.org/{at:02d}" for at in range(count)]


def both(mine: list[str], theirs: list[str], limit: int) -> tuple[str, ...]:
    return fused_ranking(mine, theirs, limit, lambda url: url)


def test_equal_ranks_take_turns_and_ones_own_comes_first() -> None:
    assert both(own(3), web(3), 5) == ("corpus:00.md", "https://e.org/00", "corpus:01.md", "https://e.org/01", "corpus:02.md")


def test_a_side_without_hits_leaves_all_places_to_the_other() -> None:
    assert both([], web(4), 3) == tuple(web(3))
    assert both(own(4), [], 3) == tuple(own(3))
    assert both([], [], 3) == ()


@given(LENGTHS, LENGTHS, LENGTHS)
def test_each_side_keeps_its_order_and_gets_a_third_of_the_places(mine: int, theirs: int, limit: int) -> None:
    found = both(own(mine), web(theirs), limit)
    assert len(found) == min(limit, mine + theirs)
    assert list(found) == list(dict.fromkeys(found))
    for side in (own(mine), web(theirs)):
        kept = [url for url in found if url in side]
        assert kept == side[: len(kept)]
        assert limit < 2 or len(kept) >= min(len(side), -(-limit // 3))


@given(st.lists(st.sampled_from("ow"), max_size=14), LENGTHS)
def test_shares_keep_the_order_and_take_the_best_of_each_side(sides: list[str], limit: int) -> None:
    urls = [f"{'corpus:' if side == 'o' else 'https://e.org/'}{at:02d}" for at, side in enumerate(sides)]
    chosen = with_shares(urls, limit, page_origin)
    assert len(chosen) == min(limit, len(urls))
    assert list(chosen) == [url for url in urls if url in chosen]
    for origin in ("own", "web"):
        ranked = [url for url in urls if page_origin(url) == origin]
        kept = [url for url in chosen if page_origin(url) == origin]
        assert kept == ranked[: len(kept)]
        assert limit < 2 or len(kept) >= min(len(ranked), -(-limit // 3))
