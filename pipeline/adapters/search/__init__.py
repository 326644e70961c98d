"""Adapters of the port ``Search``: the embedded search of local documents, web providers, and their combinations."""
