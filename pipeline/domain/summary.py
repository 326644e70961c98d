"""A session in short, and the name of the fold that made it. Nothing that folds is imported here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pipeline.system.manifest import digest_of_sources

# By outcome, those that say more.
SAYS_MORE = {"not-found": ("answered", "in-part", "passages"), "passages": ("answered", "in-part")}
ENDED = frozenset({"complete", "not-found", "failed", "cancelled"})  # the statuses of a session that has ended
_BESIDE = ("../text/ranking.py",)  # it has types that a state holds


OUTCOME_WORDS: Mapping[str, str] = MappingProxyType(
    {"answered": "answered", "in-part": "answered in part", "passages": "passages", "not-found": "not found"}
)
_COUNTED = {**OUTCOME_WORDS, "passages": "with passages", "failed": "failed", "open": "unfinished"}


def status_words(status: str) -> str:
    """Return an outcome, or another status, in the words in which readers see it."""
    return OUTCOME_WORDS.get(status, status.replace("-", " "))


def counted_outcomes(counts: Mapping[str, int]) -> str:
    """Return how many questions ended how: ``3 answered, 2 with passages, 1 not found``; "" if there was none."""
    return ", ".join(f"{counts[name]:,} {words}" for name, words in _COUNTED.items() if counts.get(name))


@cache
def fold_id() -> str:
    """Return a name for this program's fold: the digest of the sources that decide what a summary holds.

    A program whose fold changed must not read the summaries of the one before it, and nobody should have to remember a number,
    nor a list: all of this room counts. It is defined here so that nothing that folds is imported to find that there is nothing
    to fold.
    """
    here = Path(__file__).parent
    sources = (*sorted(here.rglob("*.py")), *(here / name for name in _BESIDE))
    return digest_of_sources(sources)


@dataclass(frozen=True, slots=True)
class Summary:
    """A session in short. ``facts``, ``sources``, ``steps`` and ``calls`` (paid calls) are counts.

    ``usd``, ``assumed_usd`` and ``expected_usd`` are as in ``Cost``.
    It is defined here so that a kept summary is read without importing anything that folds.

    ``outcome`` is as in ``state.outcome_of``.
    ``handed_to`` is the machine that alone goes on with it.
    ``waiting``: its plan waits for approval; ``approved``: it does no longer, and nothing was begun yet.
    """

    id: str
    version: int = 0
    status: str = "pending"
    outcome: str = ""
    query: str = ""
    query_id: str = ""
    mode: str = "deep"
    waiting: bool = False
    approved: bool = False
    tags: tuple[str, ...] = ()
    previous_session: str = ""
    started_at: str = ""
    ended_at: str = ""
    end_reason: str = ""
    title: str = ""
    facts: int = 0
    sources: int = 0
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    assumed_usd: float = 0.0
    expected_usd: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    steps_in_all: int = 0
    handed_to: str = ""

    @property
    def charged_usd(self) -> float:
        """What was charged for certain."""
        return max(0.0, round(self.usd - self.assumed_usd, 9))

    @property
    def ended(self) -> bool:
        """Tell whether the session has ended; it can be reopened."""
        return self.status in ENDED


def is_tagged(tags: Iterable[str], wanted: Iterable[str]) -> bool:
    """Return whether one of the tags is wanted, or below one that is: ``law/patents`` below ``law``."""
    mine = [f"{tag.casefold()}/" for tag in tags]
    return any(tag.startswith(f"{one.casefold()}/") for one in wanted for tag in mine)
