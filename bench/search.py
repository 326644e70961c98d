"""Figures of the embedded search: where facts stand among the passages, what off-topic questions reach, time, memory, size.

    python -m bench.search FOLDER [FACTS.yaml]

FACTS (default: bench/quality/search-facts.yaml, on the manuals of Borg, Postfix and Git) lists what a right passage holds, the
question in the documents' words and in a person's own, and questions on other subjects. Of the facts, every second one was used
for choosing the score; the others decide.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from pipeline.documents.extractor import Extractor
from pipeline.domain.research_values import Hit
from pipeline.search.index import FILE
from pipeline.search.local_embedder import LocalEmbedder, minilm
from pipeline.search.passage_search import PassageSearch
from pipeline.search.vectors import Meaning

FACTS = Path(__file__).parent / "quality" / "search-facts.yaml"
SIZES = (5, 50, 500, 5_000)


def is_right(hit: Hit, evidence: str) -> bool:
    """Whether a passage holds one of the texts that ``evidence`` names, separated by bars."""
    said = " ".join(hit.snippet.lower().replace("’", "'").split())
    return any(one in said for one in evidence.split("|"))


async def places(search: PassageSearch, facts: list[dict[str, str]], wording: str) -> str:
    """Return how many facts stand first, among three and among ten passages."""
    found = [[is_right(hit, fact["holds"]) for hit in (await search.search(fact[wording], 10)).hits] for fact in facts]
    first, three, ten = (sum(any(one[:most]) for one in found) for most in (1, 3, 10))
    return f"{first:3} first, {three:3} among three, {ten:3} among ten, of {len(facts)}"


async def curve(file: Path, folder: Path, questions: list[str]) -> None:
    """Print the best cosine of questions on other subjects over more and more documents, with the vectors that ``file`` has."""
    documents = sorted(one for one in folder.rglob("*") if one.is_file())
    for size in (size for size in SIZES if size <= len(documents)):
        with tempfile.TemporaryDirectory() as place:
            for number, one in enumerate(random.Random(size).sample(documents, size)):
                Path(place, f"{number}-{one.name}").write_bytes(one.read_bytes())
            search = PassageSearch(file, Path(place), meaning=Meaning(LocalEmbedder(minilm())))
            best = [max((hit.cosine or 0.0 for hit in (await search.search(one, 10)).hits), default=0.0) for one in questions]
        best.sort()
        refused = sum(one < (minilm().floor or 0.0) for one in best) / len(best)
        reached = f"best cosine {best[len(best) // 2]:.2f} in the middle, {best[-1]:.2f} at most"
        print(f"{size:6} documents: {reached}, {refused:.0%} refused")


async def main(folder: Path, given: dict[str, Any]) -> None:
    """Measure the search over ``folder``."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, FILE)
        words, both = PassageSearch(file, folder), PassageSearch(file, folder, meaning=Meaning(LocalEmbedder(minilm())))
        began = time.perf_counter()
        report = words.refresh()
        print(f"indexed {report.files} documents, {report.passages} passages in {time.perf_counter() - began:.0f} s")
        async for progress in both.embed():
            print(f"\r{progress.left} vectors left ", end="", flush=True)
        extractor, paths = Extractor(), (one for one in folder.rglob("*") if one.suffix in (".html", ".md", ".txt"))
        text = sum(len(extractor.file(path.read_bytes(), path).text.encode()) for path in paths)
        size = sum(one.stat().st_size for one in file.parent.iterdir())
        print(f"\nwith vectors in {time.perf_counter() - began:.0f} s; index ÷ text {size / text:.2f}")
        for half, facts in (("tuned", given["facts"][::2]), ("kept", given["facts"][1::2])):
            for wording in ("terms", "own"):
                print(f"{half}, {wording}: words {await places(words, facts, wording)}")
                print(f"{half}, {wording}: both  {await places(both, facts, wording)}")
        began = time.process_time()
        for fact in given["facts"]:
            await both.search(fact["own"], 10)
        print(f"a search {(time.process_time() - began) / len(given['facts']):.3f} s of processor")
        both.close()
        await curve(file, folder, given["other"])
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), yaml.safe_load(Path(sys.argv[2] if len(sys.argv) > 2 else FACTS).read_text("utf-8"))))
