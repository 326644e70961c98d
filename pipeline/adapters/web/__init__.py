"""Adapter of the port ``Fetch``: fetches web pages politely, extracts their text in a separate process, caches them."""
