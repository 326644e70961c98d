"""Chat completions: ``/api/v1/…`` speaks as OpenRouter, ``/v1/…`` as OpenAI; with the key, the models and the bills of each."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from random import Random
from typing import Any

from tests.standin.charges import INPUT, OUTPUT, Charge, tokens_in
from tests.standin.misbehaving import Said, Setting, say, secrets_in
from tests.standin.options import State
from tests.standin.prompt import Prompt, read_prompt
from tests.standin.refusals import chat_refusal
from tests.standin.wire import Reply, Request, json_reply

BIRTH = 1_763_750_000
"""The ``created`` of every reply, so that replies repeat."""


def complete(request: Request, state: State, kind: str = "honest", turn: str = "") -> Reply:
    """Answer ``POST …/chat/completions`` as the model ``kind``; ``turn`` seeds its chance."""
    body = request.json_object()
    if not request.header("Authorization").removeprefix("Bearer ").strip():
        return chat_refusal(401, request)
    if body is None or not isinstance(body.get("messages"), list):
        return chat_refusal(400, request)
    prompt = read_prompt(body)
    state.secrets.extend(secret for secret in secrets_in(prompt.text) if secret not in state.secrets)
    said = say(kind, prompt, Setting(Random(turn), state.base(), tuple(state.secrets), _most(body)))
    return _reply(request, body, _cut(said, body, state.options.thinks), prompt, turn, state.options.thinks)


def _most(body: dict[str, Any]) -> int:
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 1 << 30)


def _cut(said: Said, body: dict[str, Any], thinks: int) -> Said:
    most = _most(body) - thinks
    if most <= 0:
        return Said("", said.refusal, "length")
    return said if tokens_in(said.content) <= most else Said(said.content[: 4 * most], said.refusal, "length")


# ---- replies ---------------------------------------------------------------------------------------------------


def _reply(request: Request, body: dict[str, Any], said: Said, prompt: Prompt, turn: str, thinks: int) -> Reply:
    openrouter = request.path.startswith("/api/")
    digest = hashlib.sha256(request.body + turn.encode()).hexdigest()[:12]
    generation = f"{'gen-' if openrouter else 'chatcmpl-'}{BIRTH}-{digest}"
    spoken = min(_most(body), tokens_in(said.content or said.refusal or "") + thinks)
    charge = Charge(tokens_in(prompt.text), spoken)
    head: dict[str, Any] = {"id": generation, "object": "chat.completion", "created": BIRTH, "system_fingerprint": None}
    head |= {"model": body["model"], **({"provider": "Stand-in"} if openrouter else {})}
    headers = {"X-Generation-Id": generation} if openrouter else {}
    usage = _usage(charge, openrouter=openrouter)
    if body.get("stream"):
        return _streamed(head, said, usage, headers, charge)
    value = {**head, "choices": [_choice(said, openrouter=openrouter)], "usage": usage}
    return replace(json_reply(value, headers=headers), charge=charge)


def _choice(said: Said, *, openrouter: bool) -> dict[str, Any]:
    content = None if said.refusal and not said.content else said.content
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": said.refusal}
    choice: dict[str, Any] = {"logprobs": None, "finish_reason": said.finish, "index": 0, "message": message}
    if openrouter:
        message["reasoning"] = None
        choice["native_finish_reason"] = {"length": "max_output_tokens"}.get(said.finish, said.finish)
    return choice


def _usage(charge: Charge, *, openrouter: bool) -> dict[str, Any]:
    counts: dict[str, Any] = {
        **{"prompt_tokens": charge.input_tokens, "completion_tokens": charge.output_tokens},
        "total_tokens": charge.total_tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    return {**counts, "cost": charge.usd, "is_byok": False} if openrouter else counts


def _streamed(head: dict[str, Any], said: Said, usage: dict[str, Any], headers: dict[str, str], charge: Charge) -> Reply:
    head = {**head, "object": "chat.completion.chunk"}
    pieces = [said.content[at : at + 200] for at in range(0, len(said.content), 200)]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": said.finish}]})
    chunks.append({**head, "choices": [], "usage": usage})
    data = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks)
    events = f": OPENROUTER PROCESSING\n\n{data}data: [DONE]\n\n".encode()
    return Reply(200, events, {"Content-Type": "text/event-stream", **headers}, charge)


def models(request: Request, state: State) -> Reply:
    """Answer ``GET …/models``."""
    row = {"id": "standin/model", "object": "model", "created": BIRTH, "owned_by": "standin", "context_length": 128_000}
    rows = [{**row, "pricing": {"prompt": f"{INPUT / 1e9:.9f}", "completion": f"{OUTPUT / 1e9:.9f}"}}]
    return json_reply({"object": "list", "data": rows})
