"""A call's cost: from its usage, else the settings' prices, else its worst case."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.config.queue_schema import Price
from pipeline.domain.research_values import Cost

_MOST_TOKENS = 1_000_000_000  # of one call; a larger count is an error of the server
_MOST_USD = 1_000_000.0
_ABSURD_USD = 10.0
_ABSURD_TIMES = 100
_AMOUNT = re.compile(r"\d{1,12}(?:\.\d{1,20})?(?:[eE]-?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model name; ``default`` prices the worst case of a model without one (zero for a local server)."""

    default: Price
    models: Mapping[str, Price] = field(default_factory=dict)

    def worst(self, model: str, input_tokens: int, output_tokens: int) -> Cost:
        """Return the largest cost that a call can have."""
        usd = self.models.get(model, self.default).usd(input_tokens, output_tokens)
        return _cost(input_tokens, output_tokens, usd, model, model).model_copy(update={"assumed_usd": usd})

    def billed(self, reply: Mapping[str, Any], asked: str, worst: Cost) -> Cost:
        """Return the cost that a reply states; missing parts come from the settings' prices, else from ``worst``."""
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        model = answered_by(reply) or asked
        prompt, cached = _prompt_tokens(usage)
        completion = _count(usage.get("completion_tokens", usage.get("output_tokens")))
        sent = worst.input_tokens if prompt is None else prompt
        received = worst.output_tokens if completion is None else completion
        usd = _amount(usage.get("cost"))
        price = self.models.get(model) or self.models.get(asked)
        if usd is None and price and prompt is not None and completion is not None:
            usd = price.usd(sent, received, cached)
        assumed = {"assumed_usd": worst.usd} if usd is None else {}
        cost = _cost(sent, received, worst.usd if usd is None else usd, asked, model)
        return cost.model_copy(update={**assumed, "cached_tokens": cached})


def is_absurd(stated: Cost, worst: Cost) -> bool:
    """Return whether a reply states a cost or a usage that the call cannot have had, by any price list."""
    return stated.usd > max(_ABSURD_USD, _ABSURD_TIMES * worst.usd) or stated.total_tokens > _ABSURD_TIMES * worst.total_tokens


def answered_by(reply: Mapping[str, Any]) -> str:
    """Return the name of the model in a reply, or ""."""
    model = reply.get("model")
    return "".join(filter(str.isprintable, model))[:200] if isinstance(model, str) else ""


def total(costs: list[Cost], asked: str, model: str) -> Cost:
    """Return the sum of several calls' costs as the cost of one answer by ``model``."""
    sent, received = sum(cost.input_tokens for cost in costs), sum(cost.output_tokens for cost in costs)
    usd, assumed = math.fsum(cost.usd for cost in costs), math.fsum(cost.assumed_usd for cost in costs)
    sums = {"assumed_usd": round(assumed, 9), "calls": len(costs), "cached_tokens": sum(cost.cached_tokens for cost in costs)}
    return _cost(sent, received, round(usd, 9), asked, model).model_copy(update=sums)


def _cost(sent: int, received: int, usd: float, asked: str, model: str) -> Cost:
    total_tokens = sent + received
    spent = Cost(input_tokens=sent, output_tokens=received, total_tokens=total_tokens, usd=usd, calls=1)
    return spent.model_copy(update={"model_requested": asked, "model": model})


def _prompt_tokens(usage: Mapping[str, Any]) -> tuple[int | None, int]:
    """Return a prompt's tokens, and how many of them the server took from its cache (0 if it does not say).

    Three forms: OpenAI's ``prompt_tokens_details.cached_tokens``, DeepSeek's ``prompt_cache_hit_tokens``, both part of
    ``prompt_tokens``; and Anthropic's ``cache_read_input_tokens``, which is not part of ``input_tokens``.
    """
    if "prompt_tokens" not in usage and "input_tokens" in usage:
        parts = [_count(usage.get(name)) or 0 for name in ("cache_read_input_tokens", "cache_creation_input_tokens")]
        fresh = _count(usage["input_tokens"])
        return (None, 0) if fresh is None else (fresh + sum(parts), parts[0])
    prompt, details = _count(usage.get("prompt_tokens")), usage.get("prompt_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    places = (details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cache_read_input_tokens"))
    cached = next((count for count in map(_count, places) if count), 0)
    return prompt, cached if prompt is not None and cached <= prompt else 0


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    ok = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if ok and isinstance(value, int) else None


def _amount(value: object) -> float | None:
    """Return a cost that is a number, or the string that some servers send; None for anything else."""
    if isinstance(value, str) and _AMOUNT.fullmatch(value.strip()):
        value = float(value)
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_USD
    return float(value) if ok and isinstance(value, int | float) else None
