"""A random walk of a person over two vaults in git: what is done, what it must keep, and how often. Prints the figures.

Run: python -m bench.vault_walk [--acts 2000] [--seed 1] [--meet-every 40]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.vault.walking import Walk


def main() -> None:
    """Walk, and print what was done; exit 1 at the first promise that is broken."""
    options = argparse.ArgumentParser()
    options.add_argument("--acts", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--meet-every", type=int, default=40)
    given = options.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(Path(folder), given.seed)
        try:
            walk.go(given.acts, meet_every=given.meet_every)
        except AssertionError as broken:
            print(f"broken after {sum(walk.shared.acts.values())} acts: {str(broken)[:500]}")
        print(walk.told())
        print(f"{time.perf_counter() - began:.0f} s")
        sys.exit(0 if walk.is_done else 1)


if __name__ == "__main__":
    main()
