"""Verbs that damage a true reply: its coding, its character set, its JSON."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.standin.wire import Reply

_Edit = Callable[[Any, str | int], None]


# ---- content coding --------------------------------------------------------------------------------------------


def gzipped(reply: Reply) -> Reply:
    """The body in gzip, as an honest server sends it to a client that accepts it."""
    return replace(reply, body=gzip.compress(reply.body, 1, mtime=0)).with_headers(content_encoding="gzip")


def bad_gzip(reply: Reply, argument: str) -> Reply:
    """Bytes that begin like gzip and are none."""
    return replace(reply, body=b"\x1f\x8b\x08\x00" + reply.body).with_headers(content_encoding="gzip")


def invalid_utf8(reply: Reply, argument: str) -> Reply:
    """Bytes in the middle that are no UTF-8."""
    middle = len(reply.body) // 2
    return replace(reply, body=reply.body[:middle] + b"\xff\xfe\xc3\x28" + reply.body[middle:])


# ---- streams -------------------------------------------------------------------------------------------------


def at_once(reply: Reply) -> Reply:
    """A stream of events as the one object that a server without streams sends; JSON verbs damage that."""
    if "event-stream" not in reply.headers.get("Content-Type", ""):
        return reply
    lines = [line[6:] for line in reply.body.decode().split("\n") if line.startswith("data: {")]
    chunks = [json.loads(line) for line in lines]
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    message = {"role": "assistant", "content": "".join(choice["delta"]["content"] for choice in choices)}
    whole = {**chunks[-1], "choices": [{"index": 0, "finish_reason": choices[-1]["finish_reason"], "message": message}]}
    body = json.dumps(whole, ensure_ascii=False).encode()
    return replace(reply, body=body).with_headers(content_type="application/json")


# ---- JSON ------------------------------------------------------------------------------------------------------


def field_set(reply: Reply, argument: str) -> Reply:
    """``path=JSON``: that value at the path, there or not before."""
    path, _, text = argument.partition("=")
    value = json.loads(text)
    return _edited(reply, path, lambda holder, key: holder.__setitem__(key, value))


def set_in_content(reply: Reply, argument: str) -> Reply:
    """The same done to the text that the model wrote, instead of to the envelope."""
    whole = at_once(reply)
    found = json.loads(whole.body)
    message = found["choices"][0]["message"]
    message["content"] = field_set(Reply(200, message["content"].encode()), argument).body.decode()
    return replace(whole, body=json.dumps(found, ensure_ascii=False).encode())


def _edited(reply: Reply, path: str, edit: _Edit) -> Reply:
    """A stream is damaged as the one object; what is no JSON, or lacks the path, is left as it is."""
    reply = at_once(reply)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    try:
        found = holder = json.loads(reply.body)
        for key in steps:
            holder = holder[key]
        edit(holder, last)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return reply
    return replace(reply, body=json.dumps(found, ensure_ascii=False).encode())


VERBS: dict[str, Callable[[Reply, str], Reply]] = {
    "bad_gzip": bad_gzip,
    "invalid_utf8": invalid_utf8,
    "field_null": lambda reply, path: _edited(reply, path, lambda holder, key: holder.__setitem__(key, None)),
    "field_drop": lambda reply, path: _edited(reply, path, lambda holder, key: holder.__delitem__(key)),
    "field_set": field_set,
    "content.field_set": set_in_content,
}
