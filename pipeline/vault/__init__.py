"""The Obsidian vault, computed from the event log alone: no clock, no random source, no network."""

from pipeline.vault.build_cache import BuildReport
from pipeline.vault.build_if_changed import Mode, build_vault

__all__ = ["BuildReport", "Mode", "build_vault"]
