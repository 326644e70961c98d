"""A stand-in for a careful model in one fixed session, about PostgreSQL's recovery after a crash.

Perspectives and gaps are scripted. All other answers are those of the tests' honest stand-in, made from the prompt's own
material: it quotes whole sentences of the page, writes sections in the quotes' words and checks sentences by their words. Unlike
it, this one holds a question open until facts of two sources speak to it, cites several quotes with each sentence, so that all
evidence of a section fits its words, and ends each new section with a sentence that nothing supports.
"""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from bench.chat_server import Body
from tests.standin import honest
from tests.standin.fit import Fitter
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
_GAPS = (
    "How do data checksums detect corrupted pages after a crash?",
    "How large can the pg_wal directory grow with replication slots and archiving?",
)


def said(body: Body) -> str:
    """Return the model's reply to a request, as JSON in the shape of its schema."""
    prompt = read_prompt(body)
    rule = _RULES.get(prompt.name)
    if rule is None:
        return say("honest", prompt, Setting(Random(0), "")).content
    return json.dumps(Fitter(prompt.schema, lambda _name, kind: "" if kind == "string" else None).fit(rule(prompt)))


def _perspectives(_prompt: Prompt) -> dict[str, Any]:
    views = [
        {"name": name, "focus": f"What a {name.lower()} wants to know", "questions": list(asked), "keywords": []}
        for name, asked in _VIEWS.items()
    ]
    return {"perspectives": views}


def _thought(prompt: Prompt) -> dict[str, Any]:
    """Return a search for each open question: first in its own words, then without the first of them."""
    words = {question: _words(question) for question in _open(prompt) or prompt.open_questions}
    queries = (" ".join(text[at:]) for text in words.values() for at in range(3))
    new = [query for query in dict.fromkeys(queries) if query and query not in prompt.items]
    return {"reasoning": "These questions need another source.", "queries": new[: min(4, prompt.limit("search", 4))]}


def _words(question: str) -> list[str]:
    known = terms(question)
    return [word for word in re.findall(r"[\w-]+", question.lower()) if word in known]


def _observation(prompt: Prompt) -> dict[str, Any]:
    """Return the honest findings; their quotes are sentences of their own, so that a claim beside them says nothing more."""
    omitted = "do not repeat it" in prompt.text
    return {"findings": [{**one, "claim": "" if omitted else one["claim"]} for one in honest.observation(prompt)["findings"]]}


def _evaluation(prompt: Prompt) -> dict[str, Any]:
    open_keys = [prompt.asked[question] for question in _open(prompt)]
    return {"open_questions": open_keys, "reason": "Two sources are wanted.", "queries": _thought(prompt)["queries"]}


def _open(prompt: Prompt) -> list[str]:
    return [question for question in prompt.open_questions if len(_sources(question, prompt)) < 2]


def _sources(question: str, prompt: Prompt) -> set[str]:
    wanted = terms(question)
    return {fact.origin for fact in prompt.facts if 2 * len(wanted & terms(fact.quote)) >= len(wanted)}


def _gaps(prompt: Prompt) -> dict[str, Any]:
    new = [gap for gap in _GAPS if gap not in prompt.asked]
    return {"gaps": [{"question": gap, "importance": "high", "reason": "No quote says.", "perspective": ""} for gap in new]}


def _claim_check(prompt: Prompt) -> dict[str, Any]:
    """Return the honest verdicts; a heading of the outline claims nothing."""
    headings = {key for key, text in prompt.checked if text.endswith("(a heading over them)")}
    said = honest.claim_check(prompt)["verdicts"]
    return {"verdicts": [{**one, "supported": one["supported"] or one["sentence"] in headings} for one in said]}


def _section(prompt: Prompt) -> dict[str, Any]:
    """Return all evidence in few sentences: each is the shortest quote of a run, and cites the run."""
    words, own = prompt.limit("words", 250), prompt.own
    each = max(1, -(-sum(len(fact.quote.split()) for fact in own) // max(1, words)))
    runs = [own[at : at + each] for at in range(0, len(own), each)]
    told = [
        {"text": min((fact.quote for fact in run), key=len), "evidence": [fact.key for fact in run], "basis": "quoted"}
        for run in runs
    ]
    if UNFOUNDED not in prompt.text:
        told.append({**told[-1], "text": UNFOUNDED})
    return {"paragraphs": [{"sentences": told[at : at + 4]} for at in range(0, len(told), 4)]}


_RULES = {
    "perspectives": _perspectives,
    "thought": _thought,
    "evaluation": _evaluation,
    "gaps": _gaps,
    "observation": _observation,
    "claim_check": _claim_check,
    "section": _section,
}
