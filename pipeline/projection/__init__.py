"""Whatever is computed from events alone: the vault's notes. Nothing here asks a clock, a random source or the network."""

from pipeline.projection.output import BuildReport
from pipeline.projection.vault import build_vault

__all__ = ["BuildReport", "build_vault"]
