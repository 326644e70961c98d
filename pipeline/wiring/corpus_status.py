"""The folders of documents of a workspace: how many documents, whether its own or the samples, and which cannot be read."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pipeline.config import workspace_starter
from pipeline.config.workspace_settings import Workspace
from pipeline.errors import CorpusUnusable

if TYPE_CHECKING:
    from pipeline.config.services import Documents


def corpus_files(workspace: Workspace) -> tuple[int, int]:
    """Count the documents in the workspace's folders, and the files there that are skipped; nothing is indexed.

    Raises:
        CorpusUnusable: no folder can be used: each is missing or cannot be listed.
    """
    from pipeline.search.corpus_files import Corpus, FoundFile  # with all that reads documents: a build reads none

    corpus = Corpus(workspace.corpora)
    files = list(corpus.scan())
    found = sum(isinstance(file, FoundFile) for file in files)
    return found, len(files) - found - len(corpus.unusable())


def unusable_folders(workspace: Workspace) -> tuple[str, ...]:
    """Return the folders of documents that are missing or cannot be listed, as the settings name them."""
    from pipeline.search.corpus_files import Corpus

    named = zip(workspace.queue.settings.corpus, workspace.corpora, strict=True)
    return tuple(name for name, folder in named if Corpus(folder).unusable())


def documents_in(workspace: Workspace) -> Documents:
    """Return whether the workspace's folders hold documents of the user's own, or only those that ``research init`` copies."""
    from pipeline.search.corpus_files import FoundFile, scan
    from pipeline.text.addresses import path_of

    found: Documents = "none"
    for folder in workspace.corpora:
        with suppress(CorpusUnusable, OSError):
            for file in scan(folder):
                if isinstance(file, FoundFile):
                    name = path_of(file.url)
                    if not workspace_starter.is_sample(name, folder / name):
                        return "own"
                    found = "samples"
    return found
