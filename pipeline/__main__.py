"""``python -m pipeline`` is ``research``."""

from pipeline.cli import main

main()
