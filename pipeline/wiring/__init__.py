"""Settings into adapters: the only room that imports adapters."""
