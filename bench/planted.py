"""Plants known faults, one at a time, in a copy of the repository, and lets the suite look for them. Prints what found each.

Run: python -m bench.planted [01 07 …] [--widely]

Each file of ``bench/planted_faults`` says what a user would notice, in which file of the package the fault goes (the one that
holds the text after ``in:``), and which lines it takes away (-) and puts there (+). The tests next to that file run first (those
that import it, by whatever way through the tests, and those in the folder of its name), until the first failure; then the
simulated lives and the faulty file systems; then the whole suite. ``--widely``: the whole suite at once. Exit code 1 if a fault
was not found.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__")
LIVES = ["tests/simulation", "tests/faults"]
FOUND = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """One fault: its number and name, what a user would notice, and the text that it changes, below ``where``."""

    name: str
    what: str
    where: str
    old: str
    new: str

    @classmethod
    def read(cls, path: Path) -> Fault:
        what, _, rest = path.read_text("utf-8").partition("\n\nin: ")
        where, *lines = rest.splitlines()
        old, new = ("".join(f"{line[1:]}\n" for line in lines if line[0] == sign) for sign in "-+")
        return cls(path.stem, what, where, old, new)

    def place(self, root: Path) -> Path:
        """Return the one file of the package below ``root`` that the fault changes.

        Raises:
            LookupError: it is not there, or there is more than one: the fault must be rewritten.
        """
        texts = {path: path.read_text("utf-8") for path in sorted((root / "pipeline").rglob("*.py"))}
        places = [path for path, text in texts.items() if self.where in text and text.count(self.old) == 1]
        if len(places) != 1:
            raise LookupError(f"{self.name}: {len(places)} files hold its text; rewrite its file in bench/planted_faults")
        return places[0]

    def changed(self, text: str) -> str:
        """Return a file's text with the fault in it."""
        return text.replace(self.old, self.new)


def main() -> None:
    """Print a line for each fault; exit 1 if one was not found."""
    options = argparse.ArgumentParser()
    options.add_argument("faults", nargs="*", help="their numbers; without any, all")
    options.add_argument("--widely", action="store_true", help="the whole suite at once")
    given = options.parse_args()
    chosen = [fault for fault in all_faults() if not given.faults or fault.name[:2] in given.faults]
    found = sum([_is_found(fault, widely=given.widely) for fault in chosen])
    print(f"{found} of {len(chosen)} faults were found")
    sys.exit(0 if chosen and found == len(chosen) else 1)


def all_faults() -> list[Fault]:
    """Return the faults, by number."""
    return [Fault.read(path) for path in sorted((ROOT / "bench" / "planted_faults").glob("*.patch"))]


def _is_found(fault: Fault, *, widely: bool) -> bool:
    start, test = time.perf_counter(), ""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        changed = fault.place(copy)
        changed.write_text(fault.changed(changed.read_text("utf-8")), "utf-8")
        for tests in [[]] if widely else [concerned(copy, changed), LIVES, []]:
            test = test or _failing(copy, tests)
    outcome = f"found by {test}" if test else "NOT FOUND"
    print(f"{fault.name}: {outcome} ({time.perf_counter() - start:.0f} s)", flush=True)
    return bool(test)


def _failing(copy: Path, tests: list[str]) -> str:
    """Run tests (none named: all) until one fails; return its name, or ""."""
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    named = FOUND.search(done.stdout)
    if done.returncode > 1 and not named:
        raise RuntimeError(f"the suite did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return named[1] if named else ""


def concerned(root: Path, changed: Path) -> list[str]:
    """Return the test files that import a module of the package, or a module of the tests that does, and those of its room."""
    wanted = {_dotted(root, changed)}
    known = {path: set(_imported(path)) for path in sorted((root / "tests").rglob("*.py"))}
    while more := {_dotted(root, path) for path, names in known.items() if names & wanted} - wanted:
        wanted |= more
    room = root / "tests" / changed.parent.relative_to(root / "pipeline")
    near = [path for path in known if path.name.startswith("test_") and (_dotted(root, path) in wanted or path.parent == room)]
    return [str(path.relative_to(root)) for path in near]


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _dotted(root: Path, path: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


if __name__ == "__main__":
    main()
