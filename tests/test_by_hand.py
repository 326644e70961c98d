"""A model by hand, and how much of a prompt a cache could serve."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import httpx

from bench.by_hand import Desk
from bench.chat_server import LEAST_PREFIX, Prefixes, serving
from pipeline.text.normalise import tokens

CODES = ("0123456789abcdef", "fedcba9876543210")


def body(code: str) -> dict[str, Any]:
    asked = f"<<material S1 {code}>>\nThe pump hums.\n<<end material S1 {code}>>\n\nWhat hums?"
    form = {"type": "json_schema", "json_schema": {"name": "thought", "schema": {"type": "object"}}}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": asked}], "response_format": form}


def asked_at(url: str, request: dict[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = httpx.post(f"{url}/chat/completions", json=request, timeout=20, trust_env=False).json()
    return value


def _answer_when_asked(folder: Path) -> None:
    while not list(folder.glob("*.request.md")):
        time.sleep(0.01)
    (folder / "001-thought.answer.json").write_text('{"queries": ["pumps"')  # half written
    time.sleep(0.05)
    (folder / "001-thought.answer.json").write_text('{"queries": ["pumps"]}')


def test_a_request_becomes_a_file_and_the_answers_file_is_the_reply(tmp_path: Path) -> None:
    hand = threading.Thread(target=_answer_when_asked, args=(tmp_path,))
    hand.start()
    with serving(Desk(tmp_path).answer) as url:
        reply = asked_at(url, body(CODES[0]))
    hand.join()
    assert reply["choices"][0]["message"]["content"] == '{"queries": ["pumps"]}'
    shown = (tmp_path / "001-thought.request.md").read_text()
    assert "What hums?" in shown
    assert '"type": "object"' in shown


def test_a_prompt_that_is_asked_again_keeps_its_number_though_its_delimiters_are_new(tmp_path: Path) -> None:
    (tmp_path / "001-thought.answer.json").write_text("{}")
    for code in CODES:
        assert Desk(tmp_path).answer(body(code)) == "{}"
    assert len(list(tmp_path.glob("*.request.md"))) == 1


def test_only_a_prefix_that_is_long_enough_and_was_seen_before_counts() -> None:
    prefixes, start = Prefixes(), "wal " * LEAST_PREFIX
    assert prefixes.tokens_shared(f"{start}one") == 0
    assert prefixes.tokens_shared(f"{start}two") == tokens(start)
    assert prefixes.tokens_shared("wal three") == 0
