"""Embedded search in local folders of documents: passage index, ranking and reading."""
