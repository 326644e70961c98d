from __future__ import annotations

import base64
import json
import pickle
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.redaction import Redaction, Secret

KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="[]"), min_size=8, max_size=40)


def _lower_hex(value: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quote(value, safe=""))


def test_a_key_is_not_shown_by_printing_formatting_or_an_error() -> None:
    secret = Secret("sk-canary-123456", "OPENAI_API_KEY")
    shown = f"{secret} {secret!r} {[secret]} {secret!s:>30} {ValueError(secret)}"
    assert "canary" not in shown
    assert "OPENAI_API_KEY" in shown
    assert secret.reveal() == "sk-canary-123456"


def test_a_key_cannot_be_pickled() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret("sk-canary-123456"))


@given(KEYS, st.text(max_size=20), st.text(max_size=20))
def test_no_spelling_of_a_key_survives(value: str, before: str, after: str) -> None:
    redaction = Redaction([Secret(value)])
    for spelling in (value, quote(value, safe=""), quote_plus(value), _lower_hex(value), json.dumps(value)[1:-1]):
        redacted = redaction.text(f"\n{spelling}\n")
        assert redacted == "\n[redacted]\n"
    assert value not in redaction.text(before + value + after)
    assert redaction.data((before + value + after).encode("utf-8", "replace")).count(value.encode()) == 0


@given(KEYS, st.binary(max_size=7), st.binary(max_size=7))
def test_a_key_inside_base64_is_found_at_every_offset(value: str, before: bytes, after: bytes) -> None:
    redaction = Redaction([Secret(value)])
    whole = before + value.encode() + after
    for encoded in (base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()):
        assert "[redacted]" in redaction.text(encoded)


def test_a_dummy_key_is_a_word_and_stays() -> None:
    assert Redaction([Secret("ollama")]).text("with ollama") == "with ollama"
    assert Redaction().text("x") == "x"
    assert Redaction().data(b"x") == b"x"
