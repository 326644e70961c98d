"""The process that others are forked from imports this: it has all of the program, and every template compiled."""

from __future__ import annotations

import os
import pkgutil
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pipeline
from pipeline.documents.extractor import Extractor
from pipeline.search import passage_search
from pipeline.wiring import session_adapters
from tests import conftest
from tests.commanding import said, workspace_in

for module in pkgutil.walk_packages(pipeline.__path__, "pipeline."):
    if not module.name.endswith("__main__"):
        with suppress(ImportError):  # PostgreSQL's, where its driver is not installed
            import_module(module.name)
conftest.pytest_configure()
for room in (passage_search, session_adapters):
    setattr(room, "Extractor", Extractor)  # noqa: B010 - each command's own again, which ends with it
with TemporaryDirectory() as folder, mock.patch.dict(os.environ, RESEARCH_STORE="files"):
    said(workspace_in(Path(folder) / "w", "  - {query: How deep is the harbour?, mode: fast}\n"), "run")
