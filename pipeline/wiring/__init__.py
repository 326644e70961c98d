"""Builds adapters from settings: the only package that imports them."""
