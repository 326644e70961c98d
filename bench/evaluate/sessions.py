"""One run of the program, by its command line, in a workspace of its own; and what its sessions came to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from bench.evaluate.questions import Question, QuestionSet
from pipeline.config.workspace_settings import load_workspace
from pipeline.domain.research_values import Fact, Sentence
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.errors import ResearchError, UsageError
from pipeline.text.cleaning import normalised, slug
from pipeline.wiring.store_adapters import file_store

STAGES = ("retrieved", "read", "chosen", "in the report")
_OFFLINE: Mapping[str, Any] = {"reasoner": "extractive", "search": ["local"]}
_ITS_OWN = ("corpus", "site_url", "store")  # settings of a workspace that an evaluation does not share
_WORKED = (0, 1, 3, 5)  # exit codes of a run that took the questions up


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question. ``ending`` is "report", "refused" or "failed".

    ``text`` is the report without titles and references, ``chosen`` all quotes, ``notices`` the limits and missing words, each
    normalised. ``reached`` holds the documents of each stage: paths in the folder, or web addresses.
    """

    ending: str = "failed"
    reason: str = "it was not taken up"
    text: str = ""
    chosen: str = ""
    notices: str = ""
    reached: Mapping[str, frozenset[str]] = field(default_factory=dict)
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0


def research(folder: Path, asked: QuestionSet, mode: str, borrowed: Path | None) -> dict[str, Outcome]:
    """Research the questions in the new folder; return what became of each, by its id.

    Settings, keys and templates are those of the workspace ``borrowed``. Without one, nothing but the documents is used.

    Raises:
        ResearchError: the folder is not empty, the settings cannot be used, or the program did not take the questions up.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", hint="name a new folder to keep the sessions in")
    folder.mkdir(parents=True, exist_ok=True)
    names = {f"q{number:05}-{slug(question.id, 30)}": question for number, question in enumerate(asked.questions, start=1)}
    _write_queue(folder, asked.corpus, names, mode, borrowed)
    command = [sys.executable, "-m", "pipeline", "-C", str(folder), "run"]
    ended = subprocess.run(command, stdout=sys.stderr, env={**os.environ, "RESEARCH_STORE": "files"}, check=False)
    if ended.returncode not in _WORKED:
        raise ResearchError(f"the run ended with {ended.returncode}", hint="its messages are above")
    store, found = file_store(folder), {}
    for session in store.ids("session"):
        state = ResearchSession.open(store, session).state
        found[names[state.query_id].id] = outcome_of(state)
    return {question.id: found.get(question.id, Outcome()) for question in asked.questions}


def _write_queue(folder: Path, corpus: Path, names: Mapping[str, Question], mode: str, borrowed: Path | None) -> None:
    settings: dict[str, Any] = dict(_OFFLINE)
    if borrowed:
        load_workspace(borrowed)  # reports all errors of its file
        value = yaml.safe_load((borrowed / "queries.yaml").read_text(encoding="utf-8"))
        settings = {name: said for name, said in (value.get("settings") or {}).items() if name not in _ITS_OWN}
        if (borrowed / ".env").is_file():
            shutil.copy(borrowed / ".env", folder)
        if (borrowed / "templates").is_dir():
            shutil.copytree(borrowed / "templates", folder / "templates")
    settings |= {"corpus": str(corpus), "limits": {**(settings.get("limits") or {}), "max_failures": len(names) + 1}}
    queries = [{"id": name, "query": question.query, "mode": mode} for name, question in names.items()]
    # A YAML 1.2 document may be written as JSON.
    (folder / "queries.yaml").write_text(json.dumps({"settings": settings, "queries": queries}, default=str), encoding="utf-8")


def outcome_of(state: SessionState) -> Outcome:
    """Return what a session came to."""
    report = state.report
    hits = [hit.url for done in (state.survey, *state.searches.values()) if done for hit in done.hits]
    urls: tuple[Iterable[str], ...] = (
        hits,
        (page.url for page in state.pages.values()),
        (fact.url for fact in state.facts.values()),
        (reference.url for reference in report.references) if report else (),
    )
    return Outcome(
        "report" if report else "refused" if state.status == "not-found" else "failed",
        state.end_reason or state.status,
        normalised("\n".join(_paragraphs(state))),
        normalised("\n".join(_with_lead(fact) for fact in state.facts.values())),
        normalised("\n".join([state.end_reason, *(report.limits if report else ())])),
        {stage: frozenset(map(document_of, found)) for stage, found in zip(STAGES, urls, strict=True)},
        state.spent.calls,
        state.spent.total_tokens,
        state.spent.usd,
    )


def _paragraphs(state: SessionState) -> Iterator[str]:
    """Yield the paragraphs of summary and sections."""
    if state.report:
        yield " ".join(_shown(sentence, state.facts) for sentence in state.report.summary)
        for section in state.report.sections:
            for paragraph in section.paragraphs:
                yield " ".join(_shown(sentence, state.facts) for sentence in paragraph.sentences)


def _shown(sentence: Sentence, facts: Mapping[str, Fact]) -> str:
    """Return a sentence; a quoted passage with the line that introduces it and the headings above it, as it is shown."""
    fact = facts.get(sentence.facts[0]) if sentence.facts else None
    return _with_lead(fact) if fact and fact.quote == sentence.text else sentence.text


def _with_lead(fact: Fact) -> str:
    return f"{fact.lead} {fact.quote} ({' / '.join(fact.path)})"


def document_of(url: str) -> str:
    """Return the path in the folder for a ``corpus:`` address, or a web address; without its fragment."""
    page = url.partition("#")[0]
    return unquote(page.removeprefix("corpus:")) if page.startswith("corpus:") else page
