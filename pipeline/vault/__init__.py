"""Whatever is computed from events alone: the vault's notes. Nothing here asks a clock, a random source or the network."""

from pipeline.vault.build import build_vault
from pipeline.vault.output.writer import BuildReport

__all__ = ["BuildReport", "build_vault"]
