"""Verbs that damage a true reply: its coding, its character set, its JSON. What is no JSON is left as it is by the JSON verbs."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from tests.standin.wire import Reply

BOMB_UNIT = 100_000
GZIP_LIMIT = 1_000
_MARK = "@standin-literal@"
_Edit = Callable[[Any, str | int], None]


# ---- content coding --------------------------------------------------------------------------------------------


def gzipped(reply: Reply) -> Reply:
    """The body in gzip, as an honest server sends it to a client that accepts it."""
    return replace(reply, body=gzip.compress(reply.body, 1, mtime=0)).with_headers(content_encoding="gzip")


def trunc_gzip(reply: Reply, argument: str) -> Reply:
    """The first half of the gzip stream, with a Content-Length that fits the half."""
    whole = gzipped(reply)
    return replace(whole, body=whole.body[: len(whole.body) // 2])


def bad_gzip(reply: Reply, argument: str) -> Reply:
    """Bytes that begin like gzip and are none."""
    return replace(reply, body=b"\x1f\x8b\x08\x00" + reply.body).with_headers(content_encoding="gzip")


def double_gzip(reply: Reply, argument: str) -> Reply:
    """Gzip in gzip, and said so."""
    return replace(gzipped(gzipped(reply)), headers={**reply.headers, "Content-Encoding": "gzip, gzip"})


def bomb(reply: Reply, argument: str) -> Reply:
    """White space that unpacks to ``ratio`` times what is on the wire; above 1,000 in two layers."""
    return replace(reply, body=_bomb(int(argument or "1000"))).with_headers(
        content_encoding="gzip" if int(argument or "1000") <= GZIP_LIMIT else "gzip, gzip"
    )


@lru_cache(maxsize=4)
def _bomb(ratio: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    unit = b" " * BOMB_UNIT
    data = b"".join(packer.compress(unit) for _ in range(ratio)) + packer.flush()
    return data if ratio <= GZIP_LIMIT else gzip.compress(data, 9, mtime=0)


def encoding(reply: Reply, argument: str) -> Reply:
    """Announce a content coding that the body does not have."""
    return reply.with_headers(content_encoding=argument or "br")


# ---- type and characters ---------------------------------------------------------------------------------------


def wrong_ct(reply: Reply, argument: str) -> Reply:
    """Another Content-Type: the one given, else HTML for JSON and JSON for all else."""
    other = "text/html" if "json" in reply.headers.get("Content-Type", "") else "application/json"
    return reply.with_headers(content_type=argument or other)


def charset(reply: Reply, argument: str) -> Reply:
    """Say ``charset=X``, and encode the text so when there is such a codec for text."""
    kind = reply.headers.get("Content-Type", "text/plain").partition(";")[0]
    named = reply.with_headers(content_type=f"{kind}; charset={argument}")
    try:
        return replace(named, body=reply.body.decode().encode(argument, "replace"))
    except (LookupError, UnicodeError, ValueError, AssertionError):
        return named


def bom(reply: Reply, argument: str) -> Reply:
    """A byte order mark in front."""
    return replace(reply, body=b"\xef\xbb\xbf" + reply.body)


def ws_prefix(reply: Reply, argument: str) -> Reply:
    """So many newlines in front, as servers send to keep a connection alive."""
    return replace(reply, body=b"\n" * int(argument or "200") + reply.body)


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


def dup_json_keys(reply: Reply, argument: str) -> Reply:
    """The object's first key a second time, at the end, with null."""
    found = _parsed(reply)
    if not isinstance(found, dict) or not found:
        return reply
    again = json.dumps(next(iter(found))).encode()
    return replace(reply, body=reply.body.rstrip()[:-1] + b"," + again + b":null}")


def nan(reply: Reply, argument: str) -> Reply:
    """NaN for the number at the path, or for the first number."""
    return _with_literal(reply, argument, "NaN")


def bigint(reply: Reply, argument: str) -> Reply:
    """An integer of 5,000 digits for the number at the path, or for the first number."""
    return _with_literal(reply, argument, "9" * 5_000)


def deep_json(reply: Reply, argument: str) -> Reply:
    """A field more, of that many nested arrays."""
    if not isinstance(_parsed(reply), dict):
        return reply
    depth = int(argument or "100000")
    return replace(reply, body=reply.body.rstrip()[:-1] + b',"deep":' + b"[" * depth + b"]" * depth + b"}")


def field_null(reply: Reply, argument: str) -> Reply:
    """Null at the path."""
    return _edited(reply, argument, lambda holder, key: holder.__setitem__(key, None))


def field_drop(reply: Reply, argument: str) -> Reply:
    """Nothing at the path."""
    return _edited(reply, argument, lambda holder, key: holder.__delitem__(key))


def field_type(reply: Reply, argument: str) -> Reply:
    """Another type at the path: text for a number, a list for text, a number for all else."""
    return _edited(reply, argument, lambda holder, key: holder.__setitem__(key, _of_other_type(holder[key])))


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


def _of_other_type(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 7
    return [value] if isinstance(value, str) else str(value)


def _with_literal(reply: Reply, path: str, literal: str) -> Reply:
    where = path or _first_number(_parsed(reply))
    marked = _edited(reply, where, lambda holder, key: holder.__setitem__(key, _MARK))
    return replace(marked, body=marked.body.replace(f'"{_MARK}"'.encode(), literal.encode()))


def _first_number(value: Any, path: str = "") -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((found for key, part in inner if (found := _first_number(part, f"{path}.{key}".lstrip(".")))), "")


JSON_VERBS: dict[str, Callable[[Reply, str], Reply]] = {
    "dup_json_keys": dup_json_keys,
    "nan": nan,
    "bigint": bigint,
    "deep_json": deep_json,
    "field_null": field_null,
    "field_drop": field_drop,
    "field_type": field_type,
    "field_set": field_set,
}

VERBS: dict[str, Callable[[Reply, str], Reply]] = {
    "trunc_gzip": trunc_gzip,
    "bad_gzip": bad_gzip,
    "double_gzip": double_gzip,
    "bomb": bomb,
    "encoding": encoding,
    "wrong_ct": wrong_ct,
    "charset": charset,
    "bom": bom,
    "ws_prefix": ws_prefix,
    "invalid_utf8": invalid_utf8,
    **{name: _of_whole(change) for name, change in JSON_VERBS.items()},
    **{f"content.{name}": in_content(change) for name, change in JSON_VERBS.items()},
}
