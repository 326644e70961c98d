"""Parsers that turn PDF, HTML, Markdown, plain text and manual pages into page text (``pipeline.text.passages``)."""
