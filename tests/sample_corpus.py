"""What is planted in the sample documents of corpus/, as typed data; the sentences themselves stand in sample_corpus.yaml."""

from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML

from pipeline.domain.values import ContradictionKind, Value


class Quoted(Value):
    """A sentence and the file of corpus/ that it stands in."""

    file: str
    sentence: str


class Planted(Value):
    """Two sentences of different files that cannot both hold."""

    subject: str
    kind: ContradictionKind
    a: Quoted
    b: Quoted


class Agreement(Value):
    """Sentences of different files that say the same in other words."""

    subject: str
    sentences: tuple[Quoted, ...]


class NearMiss(Value):
    """Two sentences that look like a contradiction and are none, and the reason why they are none."""

    reason: str
    a: Quoted
    b: Quoted


class SampleCorpus(Value):
    """All that is planted; ``questions`` maps each question of the sample queue to the files that bear on it."""

    questions: dict[str, tuple[str, ...]]
    contradictions: tuple[Planted, ...]
    agreements: tuple[Agreement, ...]
    near_misses: tuple[NearMiss, ...]


def planted() -> SampleCorpus:
    """Read sample_corpus.yaml."""
    source = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return SampleCorpus.model_validate(YAML(typ="safe").load(source))
