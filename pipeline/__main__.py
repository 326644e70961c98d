"""``python -m pipeline`` is ``research``."""

from pipeline.cli.main import main

main()
