"""What a call costs: by the reply's own account, else by the settings' prices, else its worst case."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.domain.values import Cost

_MOST_TOKENS = 1_000_000_000  # of one call; more is no count but a fault
_MOST_USD = 1_000_000.0
_AMOUNT = re.compile(r"\d{1,12}(?:\.\d{1,20})?(?:[eE]-?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars a million tokens."""

    input_usd: float
    output_usd: float

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """Return the price of so many tokens in US dollars."""
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model name; ``default`` prices the worst case of a model without one (zero for a local server)."""

    default: Price
    models: Mapping[str, Price] = field(default_factory=dict)

    def worst(self, model: str, input_tokens: int, output_tokens: int) -> Cost:
        """Return what a call may cost at most."""
        usd = self.models.get(model, self.default).usd(input_tokens, output_tokens)
        return _cost(input_tokens, output_tokens, usd, model, model).model_copy(update={"assumed_usd": usd})

    def billed(self, reply: Mapping[str, Any], asked: str, worst: Cost) -> Cost:
        """Return what a reply says it cost; what it leaves out is priced by the settings, else counted as in ``worst``."""
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        model = answered_by(reply) or asked
        given, made = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        sent = worst.input_tokens if given is None else given
        said = worst.output_tokens if made is None else made
        usd = _amount(usage.get("cost"))
        price = self.models.get(model) or self.models.get(asked)
        if usd is None and price and given is not None and made is not None:
            usd = price.usd(sent, said)
        if usd is None:
            return _cost(sent, said, worst.usd, asked, model).model_copy(update={"assumed_usd": worst.usd})
        return _cost(sent, said, usd, asked, model)


def answered_by(reply: Mapping[str, Any]) -> str:
    """Return the model that a reply says it comes from, or ""."""
    model = reply.get("model")
    return "".join(filter(str.isprintable, model))[:200] if isinstance(model, str) else ""


def states_usage(reply: Mapping[str, Any]) -> bool:
    """Tell whether a reply gives an account of itself."""
    return isinstance(reply.get("usage"), dict)


def total(costs: list[Cost], asked: str, model: str) -> Cost:
    """Return the sum of several calls' costs as that of one answer by ``model``."""
    sent, said = sum(cost.input_tokens for cost in costs), sum(cost.output_tokens for cost in costs)
    usd, assumed = math.fsum(cost.usd for cost in costs), math.fsum(cost.assumed_usd for cost in costs)
    usd, assumed = round(usd, 9), round(assumed, 9)
    return _cost(sent, said, usd, asked, model).model_copy(update={"assumed_usd": assumed, "calls": len(costs)})


def _cost(sent: int, said: int, usd: float, asked: str, model: str) -> Cost:
    return Cost(
        input_tokens=sent, output_tokens=said, total_tokens=sent + said, usd=usd, calls=1, model_requested=asked, model=model
    )


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    ok = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if ok and isinstance(value, int) else None


def _amount(value: object) -> float | None:
    """A cost as a number or as the string that some servers send."""
    if isinstance(value, str) and _AMOUNT.fullmatch(value.strip()):
        value = float(value)
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_USD
    return float(value) if ok and isinstance(value, int | float) else None
