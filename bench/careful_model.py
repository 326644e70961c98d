"""A stand-in for a careful model in one fixed session, about PostgreSQL's recovery after a crash.

Its perspectives are scripted. All other answers are those of the tests' honest stand-in, made from the prompt's own material: it
quotes whole sentences of the pages, writes in the quotes' words and checks sentences by their words. Its report has one sentence
that nothing supports.
"""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from bench.chat_server import Body
from tests.standin import honest
from tests.standin.misbehaving import Setting, say
from tests.standin.prompt import Prompt, read_prompt
from tests.standin.world import terms

QUERY = "How does PostgreSQL recover after a crash, and how can checkpoints and WAL settings be tuned?"
UNFOUNDED = "Nobody has ever lost a single record under any circumstances."

_VIEWS = {
    "Basic facts": (
        "How does crash recovery replay the write-ahead log from the last checkpoint?",
        "What does a checkpoint write to disk and when does it begin?",
        "What are the default values of checkpoint_timeout and max_wal_size?",
        "What does full_page_writes protect against?",
    ),
    "Operator": (
        "How should checkpoint_completion_target be set to spread checkpoint I/O?",
        "How do wal_buffers and wal_compression affect write performance?",
        "What does log_checkpoints report about checkpoint activity?",
        "How does pg_test_fsync help to choose wal_sync_method?",
    ),
    "Sceptic": (
        "Which transactions can be lost when synchronous_commit is off?",
        "What damage can turning off fsync cause after a power failure?",
        "How do disk write caches endanger the reliability of the write-ahead log?",
        "When does pg_resetwal lose or corrupt data?",
    ),
}


def said(body: Body) -> str:
    """Return the model's reply to a request, as JSON or as a text."""
    prompt = read_prompt(body)
    if prompt.name not in _RULES:
        return say("honest", prompt, Setting(Random(0), "")).content
    ideal = _RULES[prompt.name](prompt)
    if isinstance(ideal, str):
        return ideal
    return json.dumps(ideal)


def _plan(_prompt: Prompt) -> dict[str, Any]:
    views = [
        {
            "name": name,
            "focus": f"What a {name.lower()} wants to know",
            "questions": list(asked),
            "queries": [" ".join(_words(one)) for one in asked[:3]],
        }
        for name, asked in _VIEWS.items()
    ]
    return {"kind": "explanation", "perspectives": views}


def _words(question: str) -> list[str]:
    known = terms(question)
    return [word for word in re.findall(r"[\w-]+", question.lower()) if word in known]


def _report(prompt: Prompt) -> str:
    """Return the honest report, with a sentence that nothing supports at the end of its summary."""
    text = honest.report(prompt)
    cited = next((fact.key for fact in prompt.facts), "E1")
    return text.replace("\n\n## ", f" {UNFOUNDED.rstrip('.')} [{cited}].\n\n## ", 1)


_RULES: dict[str, Any] = {"plan": _plan, "report": _report}
