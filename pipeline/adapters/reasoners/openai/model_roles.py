"""Model roles (plan, read, write, check): which model, with which fallbacks, answers which type of question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

RoleName = Literal["plan", "read", "write", "check"]

ROLE_OF: Mapping[str, RoleName] = MappingProxyType(
    {
        "plan": "plan",
        "reading": "read",
        "report": "write",
        "mending": "write",
        "check": "check",
        "stand_alone": "read",
        "talk": "write",
        "episode": "write",
    }
)
# How much a model that thinks is to think, where the settings do not say; "" leaves it to the model.
EFFORT_OF: Mapping[RoleName, str] = MappingProxyType({"plan": "high", "read": "low", "write": "", "check": "high"})


@dataclass(frozen=True, slots=True)
class Role:
    """A model and its fallbacks, in order.

    Limits in tokens: ``max_tokens`` of a reply, thoughts included; ``material`` of fetched text in a prompt.
    """

    model: str
    fallbacks: tuple[str, ...] = ()
    max_tokens: int = 8_000
    material: int = 40_000

    @property
    def models(self) -> tuple[str, ...]:
        """The models to ask, in order, each once."""
        return tuple(dict.fromkeys((self.model, *self.fallbacks)))


@dataclass(frozen=True, slots=True)
class Roles:
    """The four roles of a reasoner."""

    plan: Role
    read: Role
    write: Role
    check: Role

    @classmethod
    def of(cls, default: Role, models: Mapping[str, str] = MappingProxyType({})) -> Roles:
        """Return roles that use ``default``, except those for which ``models`` (role → model) names another model.

        Such a model falls back to the default one, then to its fallbacks.

        Raises:
            TypeError: ``models`` names an unknown role.
        """
        named = {name: Role(model, default.models, default.max_tokens, default.material) for name, model in models.items()}
        return cls(**{"plan": default, "read": default, "write": default, "check": default, **named})

    def for_question(self, name: str) -> Role:
        """Return the role that answers the questions with that ``name``."""
        role: Role = getattr(self, ROLE_OF[name])
        return role
