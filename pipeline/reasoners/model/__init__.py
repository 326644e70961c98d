"""Answers by a language model behind a chat-completions server."""
