"""What a call costs, in whole nano-dollars so that sums are exact."""

from __future__ import annotations

from dataclasses import dataclass

INPUT, OUTPUT = 1_000, 4_000
"""Nano-dollars per token; 1,000 a token is one US dollar per million tokens."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What replies were billed for: tokens of the prompts and of the answers; ``calls`` counts the replies."""

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 1

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def nano_usd(self) -> int:
        return self.input_tokens * INPUT + self.output_tokens * OUTPUT

    @property
    def usd(self) -> float:
        """The charge in US dollars, as ``usage.cost`` says it."""
        return self.nano_usd / 1_000_000_000


def tokens_in(text: str) -> int:
    """Count tokens as this server does: one for every four characters begun."""
    return (len(text) + 3) // 4
