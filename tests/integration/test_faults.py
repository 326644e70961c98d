"""Every fault on every route, early, later or all through a night: a report that holds, or a failure that says what failed.

Each case is a whole night. ``EVERY_KIND`` are the faults that pass by themselves: each meets every route each day, and every
moment of a night; the whole product takes three days, or ``SUITE=full``. ``PATIENCE`` are those that try the client's patience:
they hang, refuse or mislead; each meets half of the routes each day.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.integration.stage import SEARCHES, SMALL, Stage, queue_text
from tests.integration.verdicts import assert_charged, assert_correct_or_honest
from tests.seeds import drawn
from tests.standin.faults import EVERY_KIND

ROUTES = ("chat", *SEARCHES, "pages", "robots")
LATER = {"chat": 7, "pages": 2, "robots": 2}
PATIENCE = (
    *("hang_before_headers", "hang_mid_body", "delay:400", "status:400", "status:401", "status:402", "status:403", "status:404"),
    *("status:429+Retry-After=54000", "redirect:http://127.0.0.1:1/canary/1", "field_drop:results"),
)
GOING = ("status:503", "F3", "F10", "rst", "cut_at:18", "html_page", "field_null:choices")
MODELS = ("garbage", "refusing", "truncating", "malicious")
WHEN = ("early", "later", "always")
MODEL = "openai/gpt-5.2"


def night_with(stage: Stage, folder: Path, route: str, verbs: str, calls: Collection[int] | None, *reasons: str) -> None:
    search = route if route in SEARCHES else "brave"
    stage.standin.fault(route, verbs, calls=calls)
    ended = stage.night(folder, queue_text(stage.standin, search=search), config=SMALL)
    assert stage.standin.log.of(route), "the fault had no occasion"
    named = {"chat": (urlsplit(stage.standin.base_url).netloc, MODEL), "pages": ("127.0.0.",), "robots": ("robots.txt",)}
    assert_correct_or_honest(ended, (*named.get(route, (route,)), *reasons))
    assert_charged(ended, stage.standin.log, exactly=route != "chat")
    assert stage.standin.log.of("canary") == ()


@pytest.mark.parametrize(("route", "verbs", "when"), drawn(6, ROUTES, EVERY_KIND, WHEN))
def test_a_fault(stage: Stage, tmp_path: Path, route: str, verbs: str, when: str) -> None:
    calls = {"early": {1}, "later": {LATER.get(route, 3)}, "always": None}[when]
    reasons = ["the language model found nothing in the pages"] if (route, when) == ("pages", "always") else []
    night_with(stage, tmp_path, route, verbs, calls, *reasons)


@pytest.mark.parametrize(("route", "verbs"), drawn(4, ROUTES, PATIENCE))
def test_a_server_that_tries_ones_patience(stage: Stage, tmp_path: Path, route: str, verbs: str) -> None:
    night_with(stage, tmp_path, route, verbs, {1, 3})


@pytest.mark.parametrize(("verbs", "first"), drawn(6, GOING, range(2, 15)))
def test_a_model_that_goes_away_for_good(stage: Stage, tmp_path: Path, verbs: str, first: int) -> None:
    night_with(stage, tmp_path, "chat", verbs, range(first, 1_000))


@pytest.mark.parametrize(("kind", "calls"), drawn(2, [f"model:{name}" for name in MODELS], [{1}, {7}, None]))
def test_a_model_that_is_of_no_use(stage: Stage, tmp_path: Path, kind: str, calls: set[int] | None) -> None:
    night_with(stage, tmp_path, "chat", kind, calls, "the language model found nothing in the pages")
