"""Adapters of the ports ``Search`` and ``Fetch``: the embedded one over a local folder, and one file a provider."""
