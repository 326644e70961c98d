"""Classification of chat-completions replies: content, cut off, refused, retryable … A status of 200 is not yet success."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pipeline.errors import Malformed
from pipeline.net.calls_and_replies import DOWN, STRICT, Again, Failed, Refused, Reply, parse, parse_object
from pipeline.text.cleaning import one_line

Hide = Callable[[str], str]

TAIL = 2_000  # characters in which a model that repeats itself says nothing new
# zlib leaves 6 to 11 in 100 of the tail of a small model that repeats itself; of a strong one's lists and tables 33 and more.
_REPEATED = 0.15

_THOUGHTS = ("reasoning_content", "reasoning")
_TOOL = "A tool was called, but there are no tools; the answer itself is wanted."
_EMPTY = "The reply is empty; the answer itself is wanted."
_ACCOUNT = "check the model server's key and the account's credit (`research doctor --online`), then run again"
_MODEL = "correct the model's name or its server's `base_url` in queries.yaml (`reasoner:`), then run again"

_REFUSING = frozenset(
    {
        "authentication",
        "authentication_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "budget_exceeded",
        "enforced_spend_limit_reached",
        "insufficient_quota",
        "invalid_api_key",
        "payment_required",
        "permission_denied",
        "permission_error",
    }
)
_FILTERING = frozenset({"content_policy_violation", "content_filter", "refusal", "moderation"})
_TOO_LONG = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "max_tokens_exceeded",
        "payload_too_large",
        "string_too_long",
        "token_limit_exceeded",
    }
)
_UNPARSED = frozenset({"json_validate_failed", "output_parse_failed", "tool_use_failed"})
# What llama.cpp and the servers built on it, Groq and Ollama say of a reply that they made but could not parse.
_UNPARSED_WORDS = re.compile(
    r"(?:output|response)\b.{0,40}\bdoes not match the expected\b|failed to parse input at pos\b|failed to generate json"
    r"|error parsing tool call",
    re.I | re.S,
)
# What OpenAI, vLLM, litellm, llama.cpp, Ollama, LM Studio, Anthropic, Google, Mistral and others say; some give no code.
_TOO_LONG_WORDS = re.compile(
    r"maximum context length|context.?window.?exceeded|context (?:length|size|window)\b.{0,80}\b(?:exceed|only|overflow|too)"
    r"|exceeds?\b.{0,60}\bcontext|(?:prompt|input)\b.{0,20}\bis too (?:long|large)|reduce the length of the (?:messages|prompt)"
    r"|(?:input )?token count\b.{0,40}\bexceeds|inputs?.? tokens \+ .?max_new_tokens",
    re.I | re.S,
)
_LIMIT = re.compile(r"(?:context (?:length|size|window)|maximum|limit|max)\D{0,60}?(\d[\d,]{2,9})", re.I)
_DOWN_WORDS = re.compile(r"ServiceUnavailableError|APIConnectionError|overloaded|no healthy|connection refused", re.I)
_AGAIN_IN = re.compile(r"(?:try again|retry(?: after)?|wait)(?: in)? (\d{1,6}(?:\.\d{1,6})?) ?s(?:ec|\b)", re.I)
_NO_MODEL = re.compile(r"not a valid model|models?\b.{0,200}\b(?:not found|does not exist|not available|unknown)", re.I | re.S)
_FORMAT = re.compile(r"response_format|json_schema|json_object|json mode|structured output|grammar|requested parameters", re.I)


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a model's reply. ``unusable`` says why there is no answer, if the text, perhaps "", has none."""

    text: str
    unusable: str = ""


@dataclass(frozen=True, slots=True)
class CutOff:
    """The reply reached ``max_tokens``, and is no whole object. It is never parsed."""


@dataclass(frozen=True, slots=True)
class Endless:
    """The model talked without end, and was stopped; or its reply reached ``max_tokens`` in the same words again and again."""


@dataclass(frozen=True, slots=True)
class Unparsed:
    """The model replied, but its server could not parse the reply. ``text`` is what it replied, if the server says so."""

    why: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A filter or the model refuses to answer on this material."""

    why: str


@dataclass(frozen=True, slots=True)
class NoModel:
    """The server does not have the model."""

    why: str
    hint: str = _MODEL


@dataclass(frozen=True, slots=True)
class NoCapacity:
    """The server has the model, but no capacity now. ``after_s``: seconds until the next try, if it says."""

    why: str
    after_s: float | None = None


@dataclass(frozen=True, slots=True)
class TooLong:
    """The prompt does not fit into the model's context of ``limit`` tokens; 0 if the server names no limit."""

    why: str
    limit: int = 0


@dataclass(frozen=True, slots=True)
class BadRequest:
    """The server rejects the request. ``about_format``: its complaint is about the response format."""

    why: str
    about_format: bool


Meaning = (
    Content | CutOff | Endless | Unparsed | Withheld | TooLong | NoModel | NoCapacity | BadRequest | Again | Refused | Failed
)


def whole(reply: Reply) -> Reply:
    """Return a reply whose body is one JSON object; a stream of events is put together, what cannot be read is left as it is."""
    with suppress(Malformed):
        return replace(reply, body=json.dumps(_envelope_of(reply), ensure_ascii=False).encode("utf-8", "replace"))
    return reply


def text_of_event(line: bytes) -> str:
    """Return the text, thoughts included, that one event of a stream adds; "" if it adds none, or cannot be read."""
    try:
        choices = parse_object(line.removeprefix(b"data:")).get("choices")
    except Malformed:
        return ""
    first = choices[0] if isinstance(choices, list) and choices else None
    delta = first.get("delta") if isinstance(first, dict) else None
    said = delta if isinstance(delta, dict) else {}
    thoughts = (said.get(name) for name in _THOUGHTS)
    return "".join([*(one for one in thoughts if isinstance(one, str)), _text_of(said.get("content")), _arguments_of(said)])


def repeats(text: str) -> bool:
    """Return whether the last characters of a text are white space, or the same few words again and again."""
    tail = text[-TAIL:].encode("utf-8", "replace")
    return len(text) >= TAIL and len(zlib.compress(tail)) < _REPEATED * len(tail)


def body_of(reply: Reply) -> dict[str, Any]:
    """Return the reply's JSON object, or an empty one if it has none."""
    try:
        return reply.json_object()
    except Malformed:
        return {}


def _envelope_of(reply: Reply) -> dict[str, Any]:
    """Return the object of a body, which may be a stream, a list of one (Google) or wrapped in ``data`` (Cline)."""
    text = reply.body.strip()
    lines = [line.removeprefix(b"data:").strip() for line in text.split(b"\n") if line.startswith(b"data:")]
    if lines and text[:1] not in (b"{", b"["):
        return _joined(lines, stopped=reply.stopped)
    body = parse_object(text[1:-1]) if text[:1] == b"[" else reply.json_object()
    inner = body.get("data")
    return inner if "choices" not in body and isinstance(inner, dict) and "choices" in inner else body


def _joined(lines: list[bytes], *, stopped: bool) -> dict[str, Any]:
    """Return the reply that the events of a stream make together.

    Raises:
        Malformed: an event is faulty, or the stream has no end.
    """
    events = lines[:-1] if stopped else lines  # the last one may be a part
    chunks = [parse_object(line) for line in events if line not in (b"[DONE]", b"")]
    for number, chunk in enumerate(chunks):
        if chunk.get("error"):
            return chunk | {"choices": chunks[:number]}  # what came before it, which may be billed
    given = [chunk["choices"] for chunk in chunks if isinstance(chunk.get("choices"), list)]
    said = [choice for choices in given for choice in choices[:1] if isinstance(choice, dict)]
    ends = [choice["finish_reason"] for choice in said if choice.get("finish_reason")]
    if not ends and not stopped and lines[-1] != b"[DONE]":
        raise Malformed("cut", "the stream has no end")
    deltas = [delta for choice in said if isinstance(delta := choice.get("delta") or choice.get("message"), dict)]
    message: dict[str, Any] = {"content": "".join(_text_of(delta.get("content")) for delta in deltas)}
    for name in ("reasoning_content", "reasoning", "refusal"):
        if said_there := "".join(delta[name] for delta in deltas if isinstance(delta.get(name), str)):
            message[name] = said_there
    called = "".join(_arguments_of(delta) for delta in deltas)
    message |= {"tool_calls": [{"function": {"arguments": called}}]} if called else {}
    last = {name: value for chunk in chunks for name, value in chunk.items() if value not in (None, "")}
    return last | {"choices": [{"finish_reason": ends[-1] if ends else "stop", "message": message}]}


def meaning_of(reply: Reply, hide: Hide = str) -> Meaning:
    """Return the meaning of a ``whole`` reply. ``hide`` masks secrets in the server's messages. Never raises."""
    try:
        body = reply.json_object()
    except Malformed as fault:
        return Again(fault.message) if reply.status < 300 else _meaning_of_status(reply.status, f"status {reply.status}")
    error = _error_in(body, reply.status)
    if error is not None:
        return _meaning_of_error(error, reply.status, hide)
    if not 200 <= reply.status < 300:
        return _meaning_of_status(reply.status, f"status {reply.status}")
    if reply.stopped:
        return Endless()
    return _meaning_of_choice(body.get("choices"), hide)


def may_be_billed(reply: Reply) -> bool:
    """Return whether a ``whole`` reply without usage may have been billed; errors are not, unless a part of the answer came."""
    body = body_of(reply)
    choices = body.get("choices")
    if not 200 <= reply.status < 300 or _error_in(body, reply.status) is not None:
        return reply.status < 300 and bool(choices)
    first = choices[0] if isinstance(choices, list) and choices else None
    return not (isinstance(first, dict) and (first.get("finish_reason") == "error" or first.get("error")))


# ---- errors ----------------------------------------------------------------------------------------------------


def _error_in(body: Mapping[str, Any], status: int) -> Mapping[str, Any] | None:
    """Return the error object from the places where servers put it, or None."""
    error = body.get("error")
    if isinstance(error, dict):
        return error or None
    if isinstance(error, str) and error.strip():
        return {"message": error}
    is_error = body.get("object") == "error" or (status >= 400 and ("message" in body or "detail" in body))
    return body if is_error else None


def _meaning_of_error(error: Mapping[str, Any], status: int, hide: Hide) -> Meaning:
    said = error.get("message") or error.get("detail") or ""
    why = hide(one_line(said if isinstance(said, str) else str(said), 300)) or f"an error of status {status}"
    metadata, availability = (
        found if isinstance(found := error.get(name), dict) else {} for name in ("metadata", "availability")
    )
    places = [place for place in (error, metadata, availability, error.get("details")) if isinstance(place, dict)]
    codes = (place.get(name) for place in places for name in ("code", "type", "error_type", "error_code", "provider_code"))
    words = {code.lower() for code in codes if isinstance(code, str)}
    number = _status_of(error, status)
    if words & _REFUSING or number in (401, 402):
        return Refused(why, _ACCOUNT)
    retryable = availability.get("retryable")  # the documented examples of an unknown model and of no capacity have no error code
    if "model_not_found" in words or (number in (400, 404) and _NO_MODEL.search(why)):
        return NoModel(why)
    if "capacity_exhausted" in words or retryable is True:
        return NoCapacity(why, _seconds(availability.get("retry_after")))
    if retryable is False:
        return NoModel(why)
    given = any(metadata.get(name) for name in ("flagged_input", "patterns", "reasons"))
    if words & _FILTERING or "ContentPolicyViolationError" in why or (number in (400, 403) and given):
        return Withheld(why)
    if words & _UNPARSED or (number in (400, 422, 500) and _UNPARSED_WORDS.search(why)):
        text = error.get("failed_generation")
        return Unparsed(why, hide(text) if isinstance(text, str) else "")
    if words & _TOO_LONG or number == 413 or (number in (400, 422, 500) and _TOO_LONG_WORDS.search(why)):
        named = _LIMIT.search(why)
        return TooLong(why, int(named[1].replace(",", "")) if named else 0)
    if number in (400, 404, 415, 422, 500, 501) and _FORMAT.search(why):
        return BadRequest(why, about_format=True)
    asked = (seconds for place in (error, metadata, availability) if (seconds := _seconds(place.get("retry_after"))) is not None)
    said_again = _AGAIN_IN.search(why)
    return _meaning_of_status(number, why, next(asked, None) or (float(said_again[1]) if said_again else None))


def _status_of(error: Mapping[str, Any], status: int) -> int:
    """Return the status in an error, or else the reply's; 500 for an error inside a reply of status 200."""
    for claimed in (error.get("code"), error.get("http_status"), error.get("status")):
        if isinstance(claimed, str) and claimed.isascii() and claimed.isdigit() and len(claimed) == 3:
            claimed = int(claimed)
        if isinstance(claimed, int) and not isinstance(claimed, bool) and 300 <= claimed <= 599:
            return claimed
    return status if status >= 300 else 500


def _seconds(value: object) -> float | None:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e9
    return float(value) if ok and isinstance(value, int | float) else None


def _meaning_of_status(number: int, why: str, after_s: float | None = None) -> Meaning:
    if number in (401, 402, 403):
        return Refused(why, _ACCOUNT)
    if number == 404:
        return NoModel(why)
    if number in (408, 409, 425, 429) or number >= 500:
        return Again(why, after_s, down=number in DOWN or (number >= 500 and bool(_DOWN_WORDS.search(why))))
    return BadRequest(why, about_format=False) if number in (400, 422) else Failed(why)


# ---- a reply that claims to be an answer -----------------------------------------------------------------------


def _meaning_of_choice(choices: object, hide: Hide) -> Meaning:
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        return Again("the reply has no choice")
    finish, error = first.get("finish_reason"), first.get("error")
    if finish == "error" or error:
        found = _meaning_of_error(error, 200, hide) if isinstance(error, dict) else Again("the model's provider broke off")
        return Again(found.why) if isinstance(found, Failed | BadRequest | TooLong) else found
    given = first.get("message")
    message = given if isinstance(given, dict) else {"content": first.get("text")}  # "text": a completion that is no chat
    content = _text_of(message.get("content"))
    if isinstance(finish, str) and finish.lower() in ("length", "max_tokens", "max_output_tokens"):
        with suppress(Malformed):  # white space without end can come behind a whole object, until there is no room
            if isinstance(parse(content, STRICT), dict):
                return Content(content)
        thought = "".join(one for name in _THOUGHTS if isinstance(one := message.get(name), str))
        return Endless() if repeats(content or thought) else CutOff()
    if finish == "content_filter":
        return Withheld("the provider's filter stopped the reply")
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return Withheld(f"the model refuses: {hide(one_line(refusal))}")
    if called := _arguments_of(message):
        return Content(called, unusable=_TOOL)
    if not content.strip():
        thoughts = (message.get(name) for name in _THOUGHTS)  # where some servers put the answer
        answer = next((one for one in thoughts if isinstance(one, str) and "{" in one), "")
        return Content(answer, unusable=_TOOL if message.get("tool_calls") else _EMPTY)
    return Content(content)


def _arguments_of(message: Mapping[str, Any]) -> str:
    """Return the arguments of the first call of a message, in which some models give their answer; "" if there are none."""
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    called = first.get("function") if isinstance(first, dict) else message.get("function_call")
    given = called.get("arguments") if isinstance(called, dict) else None
    return json.dumps(given) if isinstance(given, dict) else given if isinstance(given, str) else ""


def _text_of(content: object) -> str:
    """Return the text of a message's content, which may come in parts, or already as the object that it is."""
    if isinstance(content, dict):
        return json.dumps(content)
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "".join(text for text in texts if isinstance(text, str))
