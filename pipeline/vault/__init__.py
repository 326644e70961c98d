"""The Obsidian vault, computed from the event log alone: no clock, no random source, no network."""

from pipeline.vault.build import Mode, build_vault
from pipeline.vault.build_cache import BuildReport

__all__ = ["BuildReport", "Mode", "build_vault"]
