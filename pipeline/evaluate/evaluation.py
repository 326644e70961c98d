"""One evaluation: researches the questions in new workspaces, once per setup, and scores the outcomes."""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.domain.values import Mode
from pipeline.evaluate.bm25_baseline import Baseline
from pipeline.evaluate.figures import Score
from pipeline.evaluate.follow_ups import follow_up_scores
from pipeline.evaluate.program_run import Setup, research, write_workspace
from pipeline.evaluate.question_set.answer_check import check
from pipeline.evaluate.question_set.duplicate_documents import first_copies
from pipeline.evaluate.question_set.question_set import Dataset
from pipeline.evaluate.scoring.outcome import Outcome
from pipeline.evaluate.scoring.question_scores import Scorer
from pipeline.evaluate.scoring.stored_pages import StoredPages
from pipeline.text.normalise import counted
from pipeline.wiring import store_adapters, workspace_adapters

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one run over the questions. ``scores`` and ``outcomes`` are in the questions' order.

    ``seconds`` is wall-clock time, indexing included; ``processor_seconds`` is the CPU time of all processes.
    """

    scores: tuple[Score, ...]
    outcomes: dict[str, Outcome] = field(repr=False)
    seconds: float = 0.0
    processor_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The questions to be run. ``keep`` is a new folder for the workspaces, or None for a temporary one."""

    dataset: Dataset
    mode: Mode = "deep"
    keep: Path | None = None
    say: Say = lambda _text: None
    progress: Callable[[int, int], None] = lambda _done, _all: None

    def run(self, setups: Sequence[Setup]) -> list[Result]:
        """Run all questions once with each setup.

        Raises:
            ResearchError: settings, documents or log cannot be used; the folder to keep is not empty.
        """
        with _workspace_root(self.keep) as folder:
            places = [folder] if len(setups) == 1 else [folder / f"run-{number}" for number in range(1, len(setups) + 1)]
            pairs = list(zip(setups, places, strict=True))
            ids = [write_workspace(place, setup, self.dataset.corpus, self.dataset.entries, self.mode) for setup, place in pairs]
            baseline = self._baseline()
            return [self._run(setup, place, baseline, names) for (setup, place), names in zip(pairs, ids, strict=True)]

    def _baseline(self) -> Baseline | None:
        if not any(entry.answers or entry.nuggets for entry in self.dataset.entries):
            return None
        self.say("reading the documents for the baseline")
        return Baseline(text for _path, text in workspace_adapters.corpus_texts(self.dataset.corpus))

    def _run(self, setup: Setup, place: Path, baseline: Baseline | None, ids: Mapping[str, str]) -> Result:
        entries = self.dataset.entries
        self.say(f"researching {counted(len(entries), 'question')}")
        start, processor = time.perf_counter(), _processor_seconds()
        outcomes = asyncio.run(research(place, setup, ids, lambda done: self.progress(done, len(entries))))
        seconds, processor = time.perf_counter() - start, _processor_seconds() - processor
        scorer = Scorer(
            StoredPages(store_adapters.file_store(place)), baseline, self.dataset.subjects, first_copies(self.dataset.corpus)
        )
        missing = Outcome("failed", "it was not taken up")
        scores = tuple(scorer.score(entry, outcomes.get(entry.id, missing)) for entry in entries)
        return Result((*scores, *self._follow_ups(setup, place, outcomes)), outcomes, seconds, processor)

    def _follow_ups(self, setup: Setup, place: Path, outcomes: Mapping[str, Outcome]) -> tuple[Score, ...]:
        rows = self.dataset.follow_ups
        if not rows:
            return ()
        self.say(f"asking {counted(len(rows), 'follow-up question')}")
        sessions = {name: outcome.state.id for name, outcome in outcomes.items() if outcome.state}
        return asyncio.run(follow_up_scores(place, setup.keys, rows, sessions, setup.vectors))


def faults_of(dataset: Dataset) -> list[str]:
    """Return the errors in the expected answers, checked against the documents."""
    return list(check(dataset, dict(workspace_adapters.corpus_texts(dataset.corpus))))


@contextmanager
def _workspace_root(keep: Path | None) -> Iterator[Path]:
    if keep:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="research-evaluate-") as place:
        yield Path(place)


def _processor_seconds() -> float:
    """Return the CPU seconds of this process and of its ended child processes."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def differing_questions(first: Result, second: Result) -> list[str]:
    """Return the ids of the questions whose report or ending differs between two runs."""
    pairs = zip(first.scores, second.scores, strict=True)
    return [one.id for one, two in pairs if (one.text, one.values["failed"]) != (two.text, two.values["failed"])]
