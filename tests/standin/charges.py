"""What a call costs, in whole nano-dollars so that sums are exact."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """Nano-dollars per token; 1,000 a token is one US dollar per million tokens."""

    input: int = 1_000
    output: int = 4_000


PRICE = Price()


@dataclass(frozen=True, slots=True)
class Charge:
    """What one reply was billed for: tokens of the prompt and of the answer, nano-dollars, who answered, and the bill's id."""

    input_tokens: int
    output_tokens: int
    nano_usd: int
    model: str = ""
    generation: str = ""

    @property
    def usd(self) -> float:
        """The charge in US dollars, as ``usage.cost`` says it."""
        return self.nano_usd / 1_000_000_000


@dataclass(frozen=True, slots=True)
class Totals:
    """A sum of charges; ``calls`` counts those that were charged."""

    calls: int = 0
    total_tokens: int = 0
    nano_usd: int = 0

    @property
    def usd(self) -> float:
        """The sum in US dollars."""
        return self.nano_usd / 1_000_000_000


def charge_of(input_tokens: int, output_tokens: int, price: Price, model: str, generation: str) -> Charge:
    """Price a call."""
    cost = input_tokens * price.input + output_tokens * price.output
    return Charge(input_tokens, output_tokens, cost, model, generation)


def tokens_in(text: str) -> int:
    """Count tokens as this server does: one for every four characters begun."""
    return (len(text) + 3) // 4
