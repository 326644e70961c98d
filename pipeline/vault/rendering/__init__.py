"""Rendering notes: the templates, one task, and the worker processes that share the tasks."""
