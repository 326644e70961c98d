"""Verbs that damage a true reply: its coding, its character set, its JSON. What is no JSON is left as it is by the JSON verbs."""

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


def field_null(reply: Reply, argument: str) -> Reply:
    """Null at the path."""
    return _edited(reply, argument, lambda holder, key: holder.__setitem__(key, None))


def field_drop(reply: Reply, argument: str) -> Reply:
    """Nothing at the path."""
    return _edited(reply, argument, lambda holder, key: holder.__delitem__(key))


def field_set(reply: Reply, argument: str) -> Reply:
    """``path=JSON``: that value at the path, there or not before."""
    path, _, value = argument.partition("=")
    return _edited(reply, path, lambda holder, key: holder.__setitem__(key, json.loads(value)))


def in_content(change: Callable[[Reply, str], Reply]) -> Callable[[Reply, str], Reply]:
    """Return the same damage done to the text that the model wrote, instead of to the envelope."""

    def changed(reply: Reply, argument: str) -> Reply:
        found = _parsed(at_once(reply))
        if not isinstance(found, dict) or not found.get("choices"):
            return reply
        message = found["choices"][0]["message"]
        inner = change(Reply(200, str(message["content"]).encode()), argument)
        message["content"] = inner.body.decode("utf-8", "replace")
        return replace(at_once(reply), body=json.dumps(found, ensure_ascii=False).encode())

    return changed


def _of_whole(change: Callable[[Reply, str], Reply]) -> Callable[[Reply, str], Reply]:
    return lambda reply, argument: change(at_once(reply), argument)


def _parsed(reply: Reply) -> Any:
    try:
        return json.loads(reply.body)
    except ValueError:
        return None


def _edited(reply: Reply, path: str, edit: _Edit) -> Reply:
    found = _parsed(reply)
    keys: list[str | int] = [int(step) if step.isdigit() else step for step in path.split(".")]
    holder = found
    try:
        for key in keys[:-1]:
            holder = holder[key]
        edit(holder, keys[-1])
    except (KeyError, IndexError, TypeError, AttributeError):
        return reply
    return replace(reply, body=json.dumps(found, ensure_ascii=False).encode())


JSON_VERBS: dict[str, Callable[[Reply, str], Reply]] = {
    "field_null": field_null,
    "field_drop": field_drop,
    "field_set": field_set,
}

VERBS: dict[str, Callable[[Reply, str], Reply]] = {
    "bad_gzip": bad_gzip,
    "invalid_utf8": invalid_utf8,
    **{name: _of_whole(change) for name, change in JSON_VERBS.items()},
    **{f"content.{name}": in_content(change) for name, change in JSON_VERBS.items()},
}
