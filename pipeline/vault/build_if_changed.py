"""``build_vault``: brings the notes of the vault up to date with the event log, or finds that they are.

The stages are in ``stages``, which is imported only if there is work: values of the streams, paths and links, notes, files that
differ. What is kept between builds (see ``Kept``) only saves time: a build that ignores it writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipeline.domain.summary import fold_id
from pipeline.ports import EventStore
from pipeline.system.files import read_bytes, write
from pipeline.system.manifest import Tree, digest_below, program_id
from pipeline.text.cleaning import digest_of
from pipeline.vault.build_cache import FILE, OWN, SETTLED, BuildReport, Kept, with_kept

if TYPE_CHECKING:
    from pipeline.domain.events.session_events import EventBase

    Record = Callable[[Sequence[EventBase]], None]

Mode = Literal["new", "first", "all", "check", "ratings"]


def build_vault(
    store: EventStore,
    *,
    templates: Path,
    vault: Path,
    state_dir: Path,
    mode: Mode = "new",
    record: Record | None = None,
    documents: Path | None = None,
) -> BuildReport:
    """Bring the notes in ``vault`` up to date with the log in ``store``; return what was written, removed and set aside.

    ``templates`` contains ``<kind>.md.j2`` for each kind of note; ``state_dir`` keeps what was derived between builds. Mode
    ``new`` renders only notes with new content; ``first`` too, but of notes that a template alone changes only the newest, and
    the report says that others wait (``waits``) for the next build; ``all`` renders every note; ``check`` renders every note and
    reports what would change, but writes nothing; ``ratings`` only records what a person called useful or wrong since the last
    build.

    The same events and templates always give the same bytes, so a second build writes nothing. If the log of a session is damaged
    or missing, the report lists it as a problem, its notes stay as they are, and this build removes no file. The notes of a
    session that was written off are removed.

    A note that a person moved is kept up to date where it is now, one that a person removed is no longer made. ``record`` stores
    these decisions in the log before any file is written; without it they last until the next build. ``documents`` is the folder
    of the user's documents, to which notes of sources link; without it they name them.

    Raises:
        TemplateInvalid: a template is missing or faulty; no note was changed.
        SystemRefused: the disk cannot be written, or another build is running.
    """

    def built(kept: Kept) -> BuildReport:
        marks = store.marks(("session", "batch", "talk", "import", "vault", "prune"))
        settled = ""  # a digest of all that notes are made from; none if the templates cannot be read
        with suppress(OSError):
            parts = (sorted(marks.items()), digest_below(templates), str(documents))
            settled = digest_of(repr(parts).encode("utf-8", "replace"))
        if mode in ("new", "first") and settled and kept.is_current and kept.recall(SETTLED) == settled:
            with closing(Tree(vault)) as tree:
                drift = kept.files.drift(tree)  # a new file may be a note that somebody put back
            if not drift.folders:
                found = drift.untouched([f"{OWN}/"])  # the queue there may yet get links
                return BuildReport(unchanged=len(kept.files.all()), found=found)
        from pipeline.vault.output.templates import Renderer
        from pipeline.vault.stages import Build  # all that makes notes

        return Build(store, Renderer(templates), vault, kept, mode, marks, settled, record, documents).run()

    with ExitStack() as stack:
        if mode == "check":  # over a copy of what is kept: the file stays as it is, even a damaged one or one that is read-only
            import tempfile

            kept_file = state_dir / FILE
            state_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="research-")))
            with suppress(OSError):
                write(state_dir / FILE, read_bytes(kept_file))
        return with_kept(state_dir, f"{program_id('vault')}-{fold_id()}", built)
