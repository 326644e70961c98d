"""Gathering: a worker thinks, searches and reads; pages are observed once for all workers; gaps are looked up in them."""
