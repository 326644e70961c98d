"""Model roles (plan, work, write, check): which model, with which fallbacks, answers which type of question."""

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
        "stand_alone": "work",
        "talk": "write",
        "episode": "write",
        "section": "write",
        "revision": "write",
        "editing": "write",
        "cross_check": "check",
        "claim_check": "check",
    }
)


@dataclass(frozen=True, slots=True)
class Role:
    """A model and its fallbacks, in order.

    Limits in tokens: ``max_tokens`` of a reply, ``cap`` of one that was cut off, ``material`` of fetched text in a prompt.
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
    """The four roles of a reasoner."""

    plan: Role
    work: Role
    write: Role
    check: Role

    @classmethod
    def of(cls, default: Role, models: Mapping[str, str] = MappingProxyType({})) -> Roles:
        """Return roles that use ``default``, except those for which ``models`` (role → model) names another model.

        Such a model falls back to the default one, then to its fallbacks.

        Raises:
            KeyError: ``models`` names an unknown role.
        """
        roles = {"plan": default, "work": default, "write": default, "check": default}
        for name, model in models.items():
            roles[name] = Role(model, default.models, default.max_tokens, default.cap, roles[name].material)
        return cls(**roles)

    def for_question(self, name: str) -> Role:
        """Return the role that answers the questions with that ``name``."""
        role: Role = getattr(self, ROLE_OF[name])
        return role
