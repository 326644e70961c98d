"""How many notes a question makes, and how dense Obsidian's graph of them is: ``python -m bench.vault_graph VAULT``.

Nodes are the notes, edges the pairs of notes of which one links to the other, in its text or its properties, as Obsidian draws
them without attachments. ``all``: without a filter; ``shown``: with the filter in the vault's ``.obsidian/graph.json``, of which
the operators ``tag:`` and ``path:`` are understood, also after ``-``.

``--make WORKSPACE DOCUMENTS`` first researches 27 questions over the DOCUMENTS in four nights, by the tests' honest stand-in
for a model: the PostgreSQL manual that ``bench/quality/corpora.sh`` copies, to which the questions belong.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench import careful_model
from bench.chat_server import MODEL, Body, serving
from pipeline.adapters.store.segment_format import ZEROS, open_line, seal
from tests.standin.misbehaving import Setting, say
from tests.standin.prompt import read_prompt

_LINK = re.compile(r"\[\[([^\[\]|#\\]+)")
_TAG = re.compile(r'^  - "?([^"\s]+)"?$', re.MULTILINE)
_TERM = re.compile(r'(-?)(tag:#|path:)(?:"([^"]+)"|(\S+))')
_IGNORED = ("attic/", ".")
_TOPICS = Path(__file__).parent / "quality" / "postgres"
_TAGS = ("postgres", "operations", "sql", "security")
_NIGHTS = (("2026-11-16", 7), ("2026-11-17", 7), ("2026-11-18", 7), ("2026-11-19", 6))


@dataclass(frozen=True)
class Graph:
    """Notes with their tags, and the links between them, each pair once."""

    tags: dict[str, frozenset[str]]
    edges: frozenset[tuple[str, str]]

    @classmethod
    def of_vault(cls, vault: Path) -> Graph:
        """Read a vault's notes."""
        texts = dict(_notes(vault))
        tags = {path: frozenset(_TAG.findall(text.partition("\n---\n")[0])) for path, text in texts.items()}
        pairs = {(path, f"{target.removesuffix('.md')}") for path, text in texts.items() for target in _LINK.findall(text)}
        edges = {(min(pair), max(pair)) for pair in pairs if pair[1] in texts and pair[0] != pair[1]}
        return cls(tags, frozenset(edges))

    def shown(self, search: str) -> Graph:
        """Return what a filter leaves."""
        terms = [(sign == "-", kind, quoted or bare) for sign, kind, quoted, bare in _TERM.findall(search)]
        kept = {path: tags for path, tags in self.tags.items() if all(_fits(path, tags, *term) for term in terms)}
        return Graph(kept, frozenset(edge for edge in self.edges if edge[0] in kept and edge[1] in kept))

    @property
    def mean_degree(self) -> float:
        """The links of a note, on average."""
        return 2 * len(self.edges) / max(1, len(self.tags))

    @property
    def most(self) -> tuple[str, int]:
        """The note with the most links, and how many."""
        degrees = Counter(end for edge in self.edges for end in edge)
        return degrees.most_common(1)[0] if degrees else ("", 0)


def _notes(vault: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(vault.rglob("*.md")):
        path = file.relative_to(vault).as_posix()
        if not path.startswith(_IGNORED):
            yield path.removesuffix(".md"), file.read_text()


def _fits(path: str, tags: frozenset[str], without: bool, kind: str, value: str) -> bool:
    found = any(f"{tag}/".startswith(f"{value}/") for tag in tags) if kind == "tag:#" else value in f"{path}.md"
    return found is not without


def main() -> None:
    """Print the figures of a vault."""
    options = argparse.ArgumentParser(prog="python -m bench.vault_graph")
    options.add_argument("vault", type=Path, nargs="?")
    options.add_argument("--make", type=Path, nargs=2, metavar=("WORKSPACE", "DOCUMENTS"))
    given = options.parse_args()
    if given.make:
        _make(*given.make)
    for line in _figures(given.vault or given.make[0] / "vault"):
        print(line)


def _figures(vault: Path) -> Iterator[str]:
    whole = Graph.of_vault(vault)
    settings = vault / ".obsidian" / "graph.json"
    search = json.loads(settings.read_text()).get("search", "") if settings.exists() else ""
    kinds = Counter(path.partition("/")[0] for path in whole.tags)
    questions = max(1, kinds["sessions"])
    each = ", ".join(f"{kind} {number / questions:.1f}" for kind, number in sorted(kinds.items()))
    yield f"{len(whole.tags)} notes, {len(whole.tags) / questions:.1f} a question: {each}"
    largest = max((len(text), path) for path, text in _notes(vault))
    yield f"largest note: {largest[1]}, {largest[0]:,} characters"
    for name, graph in {"all": whole, "shown": whole.shown(search)}.items():
        note, degree = graph.most
        size = f"{len(graph.tags)} nodes, {len(graph.edges)} edges"
        yield f"{name}: {size}, mean degree {graph.mean_degree:.1f}; {note} has {degree}"


def _make(workspace: Path, documents: Path) -> None:
    research = [sys.executable, "-m", "pipeline"]
    subprocess.run([*research, "init", str(workspace)], check=True, capture_output=True)
    files = sorted(_TOPICS.glob("*/topics.jsonl"))
    topics = [json.loads(line) for file in files for line in file.read_text().splitlines()][: sum(n for _, n in _NIGHTS)]
    with serving(_said) as url:
        settings = {"reasoner": {"model": MODEL, "base_url": url}, "search": ["local"], "corpus": str(documents.resolve())}
        queries = [{**topic, "perspectives": 5, "tags": [_TAGS[at % len(_TAGS)]]} for at, topic in enumerate(topics)]
        (workspace / "queries.yaml").write_text(json.dumps({"settings": settings, "queries": queries}))
        for night, (_date, number) in enumerate(_NIGHTS):
            first = sum(n for _, n in _NIGHTS[:night])
            names = [topic["id"] for topic in topics[first : first + number]]
            subprocess.run([*research, "-C", str(workspace), "run", *names], check=False, stdout=sys.stderr)
            _date_back(workspace / "events", _NIGHTS[night][0])
    subprocess.run([*research, "-C", str(workspace), "build", "--all"], check=True, stdout=sys.stderr)


def _said(body: Body) -> str:
    """Return the honest model's reply; a worker goes on until two sources speak to each of its questions."""
    prompt = read_prompt(body)
    if prompt.name in ("thought", "evaluation"):
        return careful_model.said(body)
    return say("honest", prompt, Setting(Random(0), "")).content


def _date_back(events: Path, date: str) -> None:
    """Give the latest night's records another date, and seal them again."""
    heads: dict[str, bytes] = {}
    for file in sorted([*events.glob("sessions/*/events/*.jsonl"), *events.glob("batches/*.jsonl")], key=_in_order):
        lines = [line for raw in file.read_bytes().splitlines() if (line := open_line(raw))]
        if lines and lines[0].record.at[:10] not in dict(_NIGHTS):
            stream, sealed = lines[0].record.session_id, []
            for line in lines:
                data = line.record.data.replace(line.record.at[:10].encode() + b"T", date.encode() + b"T")
                raw, heads[stream] = seal(data, heads.get(stream, ZEROS))
                sealed.append(raw)
            file.write_bytes(b"".join(sealed))


def _in_order(segment: Path) -> tuple[Path, int, str]:
    return segment.parent, len(segment.name), segment.name


if __name__ == "__main__":
    main()
