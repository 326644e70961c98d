"""A session's drawings: well-formed, the same every time, readable for three seconds and for three hours, never empty."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.domain.events import session_events as e
from pipeline.domain.values import Cost
from pipeline.text.times import timestamp
from pipeline.vault.charts.cost_chart import curves_of
from pipeline.vault.charts.lanes import lanes_of
from pipeline.vault.charts.session_charts import charts_of
from pipeline.vault.charts.time_axis import TimeAxis, axis_of, merged, seconds_of
from pipeline.vault.vault_model import LoadedSession
from tests.fakes import MemoryStore
from tests.vault.builders import Story, a_store, sessions
from tests.vault.output.test_escaping import HOSTILE, anything

SVG = "{http://www.w3.org/2000/svg}"
KINDS = ("timeline", "cost")


def _whole() -> LoadedSession:
    store = MemoryStore()
    Story(store).whole()
    return sessions(store)[0]


def _drawings(loaded: LoadedSession) -> dict[str, ElementTree.Element]:
    return {plain.path.rpartition("-")[2].removesuffix(".svg"): ElementTree.fromstring(plain.text) for plain in charts_of(loaded)}  # noqa: S314


def _timed(kinds: list[tuple[str, float]]) -> list[e.EventBase]:
    """Events of a stream at so many seconds after its start: a run that starts, or anything else."""
    start = datetime(2026, 11, 21, 2, 15, tzinfo=UTC)
    made: list[e.EventBase] = []
    for kind, second in kinds:
        at = timestamp(start + timedelta(seconds=second))
        made.append(
            e.RunStarted(at=at) if kind == "run" else e.PageRead(at=at, url=f"u{second}", title="", digest="", characters=1)
        )
    return made


def _axis(history: list[e.EventBase]) -> TimeAxis:
    return axis_of(history, seconds_of(history), 0, 100)


def test_each_session_has_both_charts_beside_each_other() -> None:
    for loaded in sessions(a_store()):
        stem = loaded.card.session_path.rpartition("/")[2]
        assert [plain.path for plain in charts_of(loaded)] == [f"charts/{stem}-{kind}.svg" for kind in KINDS]


def test_a_chart_says_what_it_is_to_those_who_do_not_see_it() -> None:
    for loaded in sessions(a_store()):
        for drawing in _drawings(loaded).values():
            assert drawing.get("role") == "img"
            title, description = drawing.find(f"{SVG}title"), drawing.find(f"{SVG}desc")
            assert title is not None
            assert description is not None
            assert loaded.card.query in (title.text or "")
            assert drawing.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
            assert len(description.text or "") > 20


def test_a_chart_is_never_empty() -> None:
    for loaded in sessions(a_store()):
        drawings = _drawings(loaded)
        assert drawings["cost"].findall(f".//{SVG}path[@class='line']")
        assert drawings["timeline"].findall(f".//{SVG}text")


def test_a_session_that_has_only_begun_says_so_in_its_timeline() -> None:
    store = MemoryStore()
    Story(store).begin()
    (loaded,) = sessions(store)
    drawing = _drawings(LoadedSession(loaded.card, loaded.state, loaded.events[:2]))["timeline"]
    assert "Nothing was asked or read" in {element.text for element in drawing.iter(f"{SVG}text")}


def test_a_chart_follows_the_scheme_of_its_surroundings_and_asks_for_nothing_from_outside() -> None:
    for plain in charts_of(_whole()):
        assert "@media (prefers-color-scheme: dark)" in plain.text
        assert "system-ui" in plain.text
        assert re.findall(r"(?:href=\"(?!#)|src=|url\(|@import)", plain.text) == []
        assert set(re.findall(r"https?://[^\"]+", plain.text)) == {"http://www.w3.org/2000/svg"}


def test_every_colour_of_the_light_scheme_has_its_counterpart_in_the_dark_one() -> None:
    light, _, dark = next(iter(charts_of(_whole()))).text.partition("@media (prefers-color-scheme: dark)")
    coloured = set(re.findall(r"(?m)^\.(\w+) \{[^}]*#", light))
    assert coloured == set(re.findall(r"\.(\w+)", " ".join(re.findall(r"(?m)^  ([^{]+) \{", dark.partition("</style>")[0]))))


def test_the_lanes_are_those_of_the_plan_with_what_each_found() -> None:
    loaded = _whole()
    lanes = lanes_of(loaded, seconds_of(loaded.events), lambda worker: worker.id)
    assert [lane.name for lane in lanes] == ["Survey and plan", "search_0", "search_1", "Cross-checking", "Writing"]
    assert [lane.result for lane in lanes] == ["", "3 facts", "2 facts", "", ""]
    assert set(lanes[1].marks) == {"thought", "search", "failed", "page", "fact"}


def test_what_costs_money_is_drawn_in_dollars_and_tokens_what_does_not_in_finds() -> None:
    loaded = _whole()
    assert [(curve.name, round(curve.total, 6)) for curve in curves_of(loaded.events, seconds_of(loaded.events))] == [
        ("Cost", 0.03),
        ("Tokens", 90),
    ]
    free = [event.model_copy(update={"cost": Cost()}) if isinstance(event, e.Answered) else event for event in loaded.events]
    assert [(curve.name, curve.total) for curve in curves_of(free, seconds_of(free))] == [("Facts found", 5), ("Pages read", 3)]
    assert [curve.name for curve in curves_of(free[:3], seconds_of(free[:3]))] == ["Events recorded"]


def test_a_call_whose_process_died_is_not_on_the_curve_of_what_was_charged() -> None:
    history = [
        e.RunStarted(at="2026-11-21T02:15:00.000Z"),
        e.CallSent(at="2026-11-21T02:15:01.000Z", step="Survey", worst=Cost(usd=0.5)),
        e.RunStarted(at="2026-11-21T02:16:00.000Z"),
        e.CallSent(at="2026-11-21T02:16:01.000Z", step="Survey", worst=Cost(usd=0.5)),
        e.TopicSurveyed(at="2026-11-21T02:16:02.000Z", step="Survey", cost=Cost(usd=0.1), provider="", hits=()),
    ]
    (curve,) = curves_of(history, seconds_of(history))
    assert [round(total, 6) for _, total in curve.points] == [0.1]


def test_a_pause_of_days_is_as_narrow_as_one_of_minutes() -> None:
    history = _timed([("run", 0), ("page", 60), ("run", 660), ("page", 720), ("run", 300_000), ("page", 300_060)])
    axis = axis_of(history, seconds_of(history), 0, 1_000)
    widths = [right - left for left, right, _ in axis.pauses()]
    assert [round(length) for *_, length in axis.pauses()] == [600, 299_280]
    assert widths[0] == pytest.approx(widths[1])
    assert [run.right - run.left for run in axis.runs] == pytest.approx([(1_000 - sum(widths)) / 3] * 3)


def test_a_run_taken_up_at_once_leaves_no_pause() -> None:
    assert len(_axis(_timed([("run", 0), ("page", 60), ("run", 62), ("page", 70)])).runs) == 1


@pytest.mark.parametrize(
    ("seconds", "first", "last"), [(3, "0", "3 s"), (0.02, "0", "20 ms"), (10_800, "0", "3 h"), (0, "0", "0")]
)
def test_the_scale_is_in_round_amounts_whatever_the_length(seconds: float, first: str, last: str) -> None:
    words = [words for _, words in _axis(_timed([("run", 0), ("page", seconds)])).ticks()]
    assert (words[0], words[-1]) == (first, last)
    assert len(words) <= 7


moments = st.lists(st.tuples(st.sampled_from(["run", "page"]), st.floats(0, 1e7).map(lambda s: round(s, 3))), max_size=30)


@settings(max_examples=150, deadline=None)
@given(moments)
def test_moments_keep_their_order_and_stay_inside_the_axis(kinds: list[tuple[str, float]]) -> None:
    history = _timed([("run", 0.0), *kinds])  # clocks may step back
    axis = axis_of(history, seconds_of(history), 10, 500)
    seconds = sorted(second for _, second in kinds)
    places = [axis.place(second) for second in seconds]
    assert all(one <= other + 1e-6 for one, other in pairwise(places))
    assert all(10 - 1e-6 <= place <= 500 + 1e-6 for place in places)
    ticks = [place for place, _ in axis.ticks()]
    assert len(ticks) <= 7
    assert all(one <= other + 1e-6 for one, other in pairwise(ticks))


@settings(deadline=None)
@given(st.lists(st.floats(0, 1_000)), st.floats(1, 50))
def test_marks_that_would_cover_each_other_are_one_and_none_is_lost(places: list[float], width: float) -> None:
    found = list(merged(places, width))
    assert sum(count for _, count in found) == len(places)
    assert all(other - one >= width for (one, _), (other, _) in pairwise(found))


def test_a_long_session_does_not_make_a_large_drawing() -> None:
    loaded = _whole()
    page = next(event for event in loaded.events if isinstance(event, e.PageRead))
    many = (
        *loaded.events,
        *(page.model_copy(update={"at": f"2026-11-21T05:{n // 60 % 60:02d}:{n % 60:02d}.000Z"}) for n in range(3_000)),
    )
    for plain in charts_of(LoadedSession(loaded.card, loaded.state, many)):
        assert len(plain.text) < 60_000


@settings(max_examples=40, deadline=None)
@given(st.one_of(st.sampled_from(HOSTILE), anything))
def test_hostile_text_stays_text(text: str) -> None:
    store = MemoryStore()
    Story(store, say=lambda words: f"{text} {words}").whole()
    plain = MemoryStore()
    Story(plain).whole()
    for hostile, harmless in zip(_drawings(sessions(store)[0]).values(), _drawings(sessions(plain)[0]).values(), strict=True):
        assert [element.tag for element in hostile.iter()] == [element.tag for element in harmless.iter()]
        assert [sorted(element.attrib) for element in hostile.iter()] == [sorted(element.attrib) for element in harmless.iter()]


def test_the_same_events_give_the_same_bytes() -> None:
    assert list(charts_of(_whole())) == list(charts_of(_whole()))
