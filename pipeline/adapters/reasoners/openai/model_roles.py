"""Which model answers which question: four roles, each with a model and what to fall back on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

RoleName = Literal["plan", "work", "write", "check"]

ROLE_OF: Mapping[str, RoleName] = MappingProxyType(
    {
        "perspectives": "plan",
        "outline": "plan",
        "thought": "work",
        "observation": "work",
        "evaluation": "work",
        "gaps": "work",
        "fold": "work",
        "section": "write",
        "validation": "check",
        "contradictions": "check",
        "claim_check": "check",
    }
)


@dataclass(frozen=True, slots=True)
class Role:
    """A model and its fallbacks, in order.

    Tokens: ``max_tokens`` of a reply, the ``cap`` of a doubled one, and ``material``, the fetched text of a prompt.
    """

    model: str
    fallbacks: tuple[str, ...] = ()
    max_tokens: int = 4_000
    cap: int = 16_000
    material: int = 40_000

    @property
    def models(self) -> tuple[str, ...]:
        """The models to ask, in order, each once."""
        return tuple(dict.fromkeys((self.model, *self.fallbacks)))


@dataclass(frozen=True, slots=True)
class Roles:
    """Who plays what."""

    plan: Role
    work: Role
    write: Role
    check: Role

    @classmethod
    def of(cls, default: Role, models: Mapping[str, str] = MappingProxyType({})) -> Roles:
        """Return the roles with ``default`` in all of them, but for those that ``models`` names another model for.

        A role's own model falls back on the default one, then on its fallbacks.

        Raises:
            KeyError: ``models`` names a role that there is not.
        """
        made = {"plan": default, "work": default, "write": default, "check": default}
        for name, model in models.items():
            made[name] = Role(model, default.models, default.max_tokens, default.cap, made[name].material)
        return cls(**made)

    def for_question(self, name: str) -> Role:
        """Return the role that answers questions of that name."""
        role: Role = getattr(self, ROLE_OF[name])
        return role
