"""Own documents and the web in one night: facts of both in one report, each side down in turn, kills, and the bill."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.domain.events.session_events import Answered, EventBase, SearchCompleted, StepFailed, TopicSurveyed
from pipeline.ops.citation_audit import check
from pipeline.text.ranking import page_origin
from tests.integration.stage import Ended, Stage, queue_text
from tests.integration.test_refusals import research
from tests.integration.verdicts import assert_charged, assert_cited, tracebacks
from tests.standin.fixtures import hosted

PRICE = 0.005
BOTH = "local, brave"
HOUSE = """# Our heat pumps

Our house has used heat pumps in cold climates since 2021, and they kept it warm at 25 degrees below zero.
In 31 trials of our own, heat pumps in cold climates reduced losses by 3 per cent.
The cost of heat pumps in cold climates was 712 euros per unit for us.
"""
CELLAR = """# Notes from the cellar

Heat pumps in cold climates failed twice in our cellar because the drain froze.
About 40 per cent of heat pumps in cold climates failed within ten years in our street.
"""
EXTRACTIVE = {"reasoner": "extractive", "perspectives": 2, "iterations": 2}


def documents(folder: Path) -> Path:
    (folder / "corpus").mkdir(parents=True)
    (folder / "corpus" / "house.md").write_text(HOUSE)
    (folder / "corpus" / "cellar.md").write_text(CELLAR)
    return folder


def searches(events: list[EventBase]) -> list[TopicSurveyed | SearchCompleted]:
    return [event for event in events if isinstance(event, TopicSurveyed | SearchCompleted)]


def paid_for_searches(events: list[EventBase]) -> float:
    failed = [one for one in events if isinstance(one, StepFailed) and one.step.startswith(("Survey", "SearchFor"))]
    found: list[Answered] = [*searches(events), *failed]
    return sum(event.cost.usd for event in found)


def origins(ended: Ended) -> set[str]:
    assert ended.state.report is not None
    return {page_origin(entry.url) for entry in ended.state.report.references}


def limit(ended: Ended) -> str:
    """What the report says of a search that could not be made."""
    assert ended.state.report is not None
    (said,) = (line for line in ended.state.report.limits if "search" in line)
    return said


def assert_sound(ended: Ended, stage: Stage) -> None:
    """A whole report whose every quote holds, and a bill that is the server's."""
    assert tracebacks(ended.logged) == []
    assert_cited(ended.state)
    assert check(ended.state, ended.store).unsupported == ()
    assert_charged(ended, stage.standin.log, exactly=True)


def test_one_report_holds_facts_of_both_each_marked(stage: Stage, tmp_path: Path) -> None:
    ended = stage.night(documents(tmp_path), queue_text(stage.standin, search=BOTH), config={"perspectives": 2})
    assert_sound(ended, stage)
    found = searches(ended.events())
    assert {event.provider for event in found} == {"local+brave"}
    assert all({page_origin(hit.url) for hit in event.hits} == {"own", "web"} for event in found)
    assert origins(ended) == {"own", "web"}
    assert ended.state.report
    assert not any("search" in line for line in ended.state.report.limits)
    assert paid_for_searches(ended.events()) == pytest.approx(PRICE * len(stage.standin.log.of("brave")))
    (report,) = ended.notes(tmp_path, "reports")
    assert ".md in your documents, " in report
    assert " on the web, " in report


@pytest.mark.parametrize("verbs", ["status:503", "status:401", "rst"])
def test_without_the_web_the_report_rests_on_ones_own_documents_and_says_so(stage: Stage, tmp_path: Path, verbs: str) -> None:
    stage.standin.fault("brave", verbs)
    ended = stage.night(documents(tmp_path), queue_text(stage.standin, search=BOTH), config=EXTRACTIVE)
    assert_sound(ended, stage)
    assert origins(ended) == {"own"}
    assert {event.provider for event in searches(ended.events())} == {"local"}
    said = limit(ended)
    assert said.startswith("The web was not searched: ")
    assert "brave" in said
    assert verbs != "status:401" or len(stage.standin.log.of("brave")) == 1


def test_a_web_that_goes_down_in_the_night_is_said_once_with_a_count(stage: Stage, tmp_path: Path) -> None:
    stage.standin.fault("brave", "status:401", calls=range(2, 1_000))
    two = "  - {query: 'How do heat pumps in cold climates behave? What do heat pumps cost?', id: two}\n"  # a search a part
    ended = stage.night(documents(tmp_path), queue_text(stage.standin, search=BOTH, queries=two), config=EXTRACTIVE)
    assert_sound(ended, stage)
    without = [event for event in searches(ended.events()) if event.failed]
    count = len(without)
    assert limit(ended).startswith(f"{count} {'search' if count == 1 else 'searches'} of the web could not be made: ")
    assert paid_for_searches(ended.events()) == pytest.approx(PRICE)


def test_without_the_folder_the_report_rests_on_the_web_and_says_so(stage: Stage, tmp_path: Path) -> None:
    ended = stage.night(tmp_path, queue_text(stage.standin, search=BOTH), config=EXTRACTIVE)
    assert_sound(ended, stage)
    assert origins(ended) == {"web"}
    assert limit(ended).startswith("Your documents were not searched: ")
    assert paid_for_searches(ended.events()) == pytest.approx(PRICE * len(stage.standin.log.of("brave")))


def test_a_folder_that_is_gone_ends_no_night_that_searches_the_web_too(tmp_path: Path) -> None:
    with hosted() as standin:
        text = queue_text(standin, search=BOTH).replace("id: pumps", "id: pumps, mode: fast")
        (tmp_path / "queries.yaml").write_text(text)
        done = research(tmp_path, "run")
        assert (done.code, len(standin.log.of("brave")) > 1) == (0, True)
        assert "your documents in corpus cannot be searched" in done.err
        (tmp_path / "queries.yaml").write_text(text.replace(BOTH, "local").replace("id: pumps", "id: others"))
        assert research(tmp_path, "run").code == 2


def test_with_both_down_the_night_ends_as_with_the_web_alone(stage: Stage, tmp_path: Path) -> None:
    stage.standin.fault("brave", "status:503")
    ended = stage.night(tmp_path, queue_text(stage.standin, search=BOTH), config=EXTRACTIVE)
    (event,) = ended.result.ended
    assert (event.status, event.cause, ended.result.exit_code) == ("interrupted", "outage", 3)
    assert "corpus" in event.reason
    assert "brave" in event.reason


def test_a_question_of_its_own_choice_asks_that_side_alone(stage: Stage, tmp_path: Path) -> None:
    only = "  - {query: 'How do heat pumps in cold climates behave?', id: pumps, search: [local]}\n"
    ended = stage.night(documents(tmp_path), queue_text(stage.standin, search=BOTH, queries=only), config=EXTRACTIVE)
    assert origins(ended) == {"own"}
    assert stage.standin.log.of("brave") == ()
