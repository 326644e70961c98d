"""What every night must be able to say of itself, whatever happened in it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline import errors
from pipeline.domain.events.session_events import Answered, CallSent, EventBase, SearchCompleted, StepFailed, TopicSurveyed
from pipeline.domain.research_values import Cost
from pipeline.domain.session_state import SessionState
from pipeline.ops.citation_audit import check
from tests.integration.stage import Ended
from tests.standin.log import Log

NANO = 1_000_000_000
KNOWN_ERRORS = {
    name for name, error in vars(errors).items() if isinstance(error, type) and issubclass(error, errors.ResearchError)
}


def assert_correct_or_honest(ended: Ended, services: Iterable[str]) -> None:
    """A report that holds, or a failure that names one of the services; and nothing that nobody expected."""
    assert tracebacks(ended.logged) == []
    for state, entry in zip(sorted(ended.states, key=by_query), sorted(ended.result.ended, key=by_query), strict=True):
        wrong = [event for event in ended.events(state.id) if isinstance(event, StepFailed) and event.error not in KNOWN_ERRORS]
        assert wrong == []
        assert check(state, ended.store).unsupported == ()
        if state.status == "complete":
            assert_cited(state)
        else:
            assert entry.status in ("failed", "interrupted", "not-found")
            assert any(name in entry.reason for name in services), f"{entry.status}: {entry.reason}"


def by_query(entry: object) -> str:
    return str(getattr(entry, "query_id", ""))


def assert_cited(state: SessionState) -> None:
    assert state.report is not None
    body = [s for section in state.report.sections for paragraph in section.paragraphs for s in paragraph.sentences]
    sentences = [*state.report.summary, *body]
    assert sentences
    assert any(sentence.facts for sentence in sentences)
    assert all(sentence.facts or sentence.basis == "bridge" for sentence in sentences)  # which is shown as without a source
    assert state.report.references


def tracebacks(logged: Iterable[logging.LogRecord]) -> list[str]:
    """What was logged with a traceback, or by asyncio because nobody asked for it."""
    return [
        entry.getMessage() for entry in logged if entry.exc_info or (entry.name == "asyncio" and entry.levelno >= logging.ERROR)
    ]


# ---- cost ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Account:
    """Whole nano-dollars: what events say a model cost, how much of it no bill says, and what was lost with dead processes."""

    usd: int
    assumed: int
    lost: int = 0

    @property
    def certain(self) -> int:
        return self.usd - self.assumed


def account_of(events: Iterable[EventBase], state: SessionState) -> Account:
    """Add up what the model cost: all that was answered but searches, and the calls that died with their process."""
    costs = [event.cost for event in events if isinstance(event, Answered) and by_a_model(event)]
    return Account(_nano(sum(c.usd for c in costs)), _nano(sum(c.assumed_usd for c in costs)), _nano(state.spent.lost_usd))


def by_a_model(event: Answered) -> bool:
    searched = isinstance(event, TopicSurveyed | SearchCompleted)
    return not searched and not (isinstance(event, StepFailed) and event.step.startswith(("Survey", "SearchFor")))


def assert_charged(ended: Ended, log: Log, *, exactly: bool) -> None:
    """Events, ledger and server agree; ``exactly`` when every reply reached us whole. Searches are in the ledger as well."""
    told = [account_of(ended.events(state.id), state) for state in ended.states]
    usd, certain = sum(one.usd for one in told), sum(one.certain for one in told)
    charged, slack = sum(hit.charge.nano_usd for hit in log.of("chat") if hit.charge), len(log.hits)
    assert certain - slack <= charged <= usd + slack
    if exactly:
        assert abs(usd - charged) <= slack
        assert usd == certain
    assert abs(_nano(sum(state.spent.usd for state in ended.states)) - _nano(ended.ledger.usd)) <= slack
    assert all(state.open_calls == {} for state in ended.states)


def announced(events: Iterable[EventBase]) -> list[Cost]:
    """The worst cases of all calls that were announced."""
    return [event.worst for event in events if isinstance(event, CallSent)]


def _nano(usd: float) -> int:
    return round(usd * NANO)
