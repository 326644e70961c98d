"""What to tell in so many words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.reasoners.extractive.telling import Tally, Telling, ranked, weights


def _telling(text: str, *, value: float = 1.0, place: str = "") -> Telling:
    return Telling(frozenset(text.split()), len(text.split()), place or text, value)


def _order(*tellings: Telling) -> list[int]:
    tally = Tally(weights(tellings))
    order = []
    for place in ranked(tellings, tally):
        order.append(place)
        tally.take(tellings[place])
    return order


def test_what_brings_up_something_new_comes_before_what_was_said() -> None:
    assert _order(_telling("seal torn record disk"), _telling("seal torn record key"), _telling("flush cache")) == [0, 2, 1]


def test_what_is_worth_more_comes_first() -> None:
    assert _order(_telling("seal torn", value=0.2), _telling("flush cache", value=0.9)) == [1, 0]


def test_a_crowded_place_waits() -> None:
    crowd = [_telling(f"{name} {name}x", place="one") for name in "abc"]
    other = _telling("d dx", place="two", value=0.95)
    assert _order(*crowd, other).index(3) == 1


def test_a_common_word_weighs_less() -> None:
    weight = weights([_telling("make checksum")])
    assert weight["make"] < weight["checksum"]


WORDS = st.sets(st.sampled_from("abcdefgh"), min_size=1)


@given(st.lists(st.builds(lambda words, value: _telling(" ".join(sorted(words)), value=value), WORDS, st.floats(0.0, 1.0))))
def test_everything_is_ranked_once_and_no_gain_grows(tellings: list[Telling]) -> None:
    tally = Tally(weights(tellings))
    before = [tally.gain(telling) for telling in tellings]
    order = []
    for place in ranked(tellings, tally):
        order.append(place)
        tally.take(tellings[place])
        after = [tally.gain(telling) for telling in tellings]
        assert all(new <= old for new, old in zip(after, before, strict=True))
        before = after
    assert sorted(order) == list(range(len(tellings)))
