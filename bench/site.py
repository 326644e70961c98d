"""What the site costs against Hugo on the same notes: ``python -m bench.site [NOTES] [DIRECTORY]``.

The notes (10,000 unless said otherwise, about 3.5 kB each) are like those of a vault: reports that cite sources, sessions,
workers, sources, nights; properties, wikilinks, tables, callouts, lists. Hugo gets a minimal theme: a page of title, contents and
text, lists of a hundred, the taxonomy of tags; it does not follow wikilinks. Both are timed as whole processes, turn by turn.
``hugo`` must be installed; where PyPI's ``pagefind`` is, that is timed too on the pages made here.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

ROUNDS = 3
SHARES = {"reports": 0.08, "sessions": 0.08, "workers": 0.34, "sources": 0.48, "nights": 0.02}
_SYLLABLES = re.findall(
    r"\w+", "an ber cor dal en fir gol har in jor kel lum mar nor ol per qui ras sen tor ul ver wen xil yor zan"
)


def words(dice: random.Random, count: int = 20_000) -> list[str]:
    """Return made-up words; the first ones are meant to be used most."""
    return [f"{''.join(dice.choices(_SYLLABLES, k=dice.randint(1, 4)))}" for _ in range(count)]


class Notes:
    """Writes the notes. The same seed makes the same notes."""

    def __init__(self, count: int) -> None:
        self._dice = random.Random(7)
        self._words = words(self._dice)
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))
        self.paths = [f"{folder}/2026-{1 + n % 12:02d}/{folder[:-1]}-{n}" for folder, share in SHARES.items()
                      for n in range(max(1, int(count * share)))]  # fmt: skip

    def text(self, count: int) -> str:
        """Return a sentence of ``count`` words, spread as in natural language."""
        return " ".join(self._dice.choices(self._words, cum_weights=self._weights, k=count)).capitalize() + "."

    def link(self, folder: str, words_shown: str, block: str = "") -> str:
        """Return a wikilink to any note of a folder."""
        of_folder = [path for path in self.paths if path.startswith(folder)] if folder not in _LISTED else _LISTED[folder]
        _LISTED[folder] = of_folder
        return f"[[{self._dice.choice(of_folder)}{block}|{words_shown}]]"

    def write(self, vault: Path) -> int:
        """Write all notes; return how many bytes they are."""
        total = 0
        for number, path in enumerate(self.paths):
            file = vault / f"{path}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            total += file.write_bytes(self.note(number, path).encode())
        (vault / "Home.md").write_text(f"# Research\n\n{self.link('reports', 'newest')}\n")
        return total

    def note(self, number: int, path: str) -> str:
        """Return a note."""
        kind = path.split("/")[0][:-1]
        title = self.text(6)[:-1]
        head = [
            "---", f'title: "{title}"', f'kind: "{kind}"', "tags:", f'  - "research/{kind}"', f'  - "topic/{number % 40}"',
            f"created: 2026-{1 + number % 12:02d}-{1 + number % 28:02d}T02:{number % 60:02d}:00", 'status: "complete"',
            f'session: "{self.link("sessions", "the session")}"', f"facts: {number % 50}", "---", "", f"# {title}", "",
        ]  # fmt: skip
        return "\n".join([*head, *self.body(kind)]) + "\n"

    def body(self, kind: str) -> Iterator[str]:
        """Yield the lines of a note of a kind."""
        yield f"> [!abstract] In short\n> {self.text(30)} {self.cite(kind)}\n"
        for section in range(3):
            yield f"## {self.text(4)[:-1]}\n"
            yield f"{self.text(25)} {self.cite(kind)} {self.text(20)} {self.link('workers', self.text(3)[:-1])} {self.text(18)}\n"
            yield from (f"- {self.text(9)} {self.cite(kind)}" for _ in range(2))
            yield f"\n> “{self.text(14)}”\n\n^q-{section}\n"
        yield "| Read | Text |\n| --- | ---: |"
        yield from (
            f"| {self.link('sources', self.text(3)[:-1]).replace('|', chr(92) + '|')} | {self.text(5)} |" for _ in range(3)
        )
        yield "\n## Notes\n\n%% begin notes %%\n%% end notes %%"

    def cite(self, kind: str) -> str:
        """Return a citation in a report, a plain link elsewhere."""
        if kind == "report":
            return self.link("sources", self._dice.choice("¹²³⁴"), f"#^q-{self._dice.randrange(3)}")
        return self.link("reports", self.text(2)[:-1]) if self._dice.random() < 0.2 else ""


_LISTED: dict[str, list[str]] = {}


def hugo_site(folder: Path, vault: Path) -> None:
    """Lay out a Hugo site with a minimal theme on the same notes."""
    layouts = folder / "layouts" / "_default"
    layouts.mkdir(parents=True)
    shutil.copytree(vault, folder / "content")
    (folder / "config.toml").write_text(
        'baseURL = "https://example.org/"\ntitle = "Research"\npaginate = 100\ndisableAliases = true\n'
    )
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ .Title }}</title></head><body>'
    (layouts / "single.html").write_text(head + "<h1>{{ .Title }}</h1>{{ .TableOfContents }}{{ .Content }}</body></html>")
    entries = '{{ range (.Paginate .Pages).Pages }}<li><a href="{{ .RelPermalink }}">{{ .Title }}</a></li>{{ end }}'
    (layouts / "list.html").write_text(f"{head}<h1>{{{{ .Title }}}}</h1><ul>{entries}</ul></body></html>")


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock and of the processors, and the most bytes of memory (PSS) that all its processes held at once."""

    clock: float
    processors: float
    memory: int

    def against(self, other: Cost) -> str:
        """Return the ratio of both times to another's."""
        return f"{self.clock / other.clock:.2f} ({self.processors / other.processors:.2f} of its processor time)"

    def __str__(self) -> str:
        return f"{self.clock:.2f} s ({self.processors:.2f} s of processors, {self.memory / 1e6:.0f} MB)"


def timed(command: Sequence[str], folder: Path) -> Cost:
    """Run a command; return what it cost with all its children."""
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    most = [0]
    watching = threading.Thread(target=_watch, args=(process, most))
    watching.start()
    code = process.wait()
    seconds = time.perf_counter() - start
    watching.join()
    assert code == 0, f"{command[0]} failed"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, most[0])


def _watch(process: subprocess.Popen[bytes], most: list[int]) -> None:
    while process.poll() is None:
        most[0] = max(most[0], sum(map(_held, _family(process.pid))))
        time.sleep(0.1)


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _family(int(child))


def _held(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def ours(vault: Path, out: Path) -> list[str]:
    """Return the command that makes our site."""
    return [sys.executable, "-m", "bench.site", "--make", str(vault), str(out)]


def make(vault: Path, out: Path) -> None:
    """Make our site: what the command line does for one."""
    import gc

    from pipeline.cli.main import COLLECTION
    from pipeline.site.build_if_changed import build_site
    from pipeline.site.paths import Folders

    gc.set_threshold(*COLLECTION)
    build_site(Folders(vault, Path("templates/site"), out, out.with_suffix(".state")))


def fresh(*paths: Path) -> None:
    """Remove what was made."""
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)


def compare(folder: Path, count: int) -> None:
    """Print the figures."""
    here, vault, out, hugo = Path.cwd(), folder / "vault", folder / "site", folder / "hugo"
    notes = Notes(count)
    size = notes.write(vault)
    hugo_site(hugo, vault)
    print(f"{len(notes.paths):,} notes of {size / len(notes.paths):,.0f} bytes; load {os.getloadavg()[0]:.1f}")
    cold: list[Cost] = []
    theirs: list[Cost] = []
    for _ in range(ROUNDS):
        fresh(hugo / "public", out, out.with_suffix(".state"))
        theirs.append(timed(["hugo", "--quiet"], hugo))
        cold.append(timed(ours(vault, out), here))
        print(f"cold: {cold[-1]}, Hugo {theirs[-1]}: {cold[-1].against(theirs[-1])}; load {os.getloadavg()[0]:.1f}", flush=True)
    best = min(theirs, key=lambda cost: cost.clock)
    for name, change in (("nothing changed", None), ("one note changed", notes.paths[5])):
        _again(name, change, vault, out, here, best)
    if find_spec("pagefind"):
        found = timed([sys.executable, "-m", "pagefind", "--site", str(out), "--output-path", str(folder / "found")], here)
        print(f"pagefind on the same pages: {found}: {found.against(best)}; {_bytes(folder / 'found')}")
    print(f"our index: {_bytes(out / 'search')}; the site: {_bytes(out)}")


def _again(name: str, change: str | None, vault: Path, out: Path, here: Path, hugo: Cost) -> None:
    found: list[Cost] = []
    for number in range(ROUNDS):
        if change:
            with (vault / f"{change}.md").open("a") as file:
                file.write(f"\nOne more sentence, {number}.\n")
        found.append(timed(ours(vault, out), here))
    best = min(found, key=lambda cost: cost.clock)
    print(f"{name}: {best}: {best.against(hugo)}", flush=True)


def _bytes(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return f"{len(files):,} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB"


def main() -> None:
    """Measure, or make a site to be measured."""
    if sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        compare(Path(folder), count)


if __name__ == "__main__":
    main()
