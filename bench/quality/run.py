"""Measures the answers' quality: ``python -m bench.quality.run [--docs DIR] [--split dev|held-out|all] [--only ID …]``.

Narrow questions: does the summary hold the expected answer? Broad ones: which facets does the report name? Both beside
as many words of plain BM25 passages from the same index. Planted contradictions: which are found, what is a false alarm?
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.quality import tables
from bench.quality.conflicts import ConflictScore, reported, score_conflicts, side_of
from bench.quality.documentation import DEFAULT_DOCS, INSTALL_HINT, gather
from bench.quality.matching import word_count
from bench.quality.product import Asked, plain_passages, research, summary_of, text_of, workspace_at
from bench.quality.scoring import SUMMARY_WORDS, BroadScore, NarrowScore, by_chance, score_broad, score_narrow
from bench.quality.sets import PLANTED_DOCUMENTS, Broad, Narrow, Subject, broad_questions, narrow_questions, subjects, wanted
from pipeline.state import SessionState, all_facts
from pipeline.values import Mode


def main() -> None:
    """Run what is asked for and print the tables."""
    options = _options()
    narrow = [q for q in narrow_questions() if _chosen(q, options)]
    broad = [q for q in broad_questions() if _chosen(q, options)]
    planted = [s for s in subjects() if _chosen(s, options)]
    with tempfile.TemporaryDirectory(prefix="quality-") as place:
        folder = options.keep or Path(place)
        narrow_scores, broad_scores = _over_documentation(folder / "documentation", options, narrow, broad)
        conflict_scores = _over_planted(folder / "planted", options.mode, planted)
    if options.show:
        print("\n".join(tables.details(narrow_scores, broad_scores, conflict_scores)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="measure the quality of reports")
    parser.add_argument("--docs", type=Path, default=DEFAULT_DOCS, help="folder of the documentation's HTML pages")
    parser.add_argument("--split", choices=("dev", "held-out", "all"), default="dev")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="only these questions or subjects")
    parser.add_argument("--part", nargs="+", choices=("narrow", "broad", "contradictions"), default=[], help="only these parts")
    parser.add_argument("--mode", choices=("fast", "deep"), default="deep")
    parser.add_argument("--show", action="store_true", help="also print what was matched and what is missing")
    parser.add_argument("--keep", type=Path, help="a new folder to work in and to leave behind")
    return parser.parse_args()


def _chosen(entry: Narrow | Broad | Subject, options: argparse.Namespace) -> bool:
    part = {Narrow: "narrow", Broad: "broad", Subject: "contradictions"}[type(entry)]
    if options.part and part not in options.part:
        return False
    return entry.id in options.only if options.only else wanted(entry.split, options.split)


def _over_documentation(
    folder: Path, options: argparse.Namespace, narrow: Sequence[Narrow], broad: Sequence[Broad]
) -> tuple[list[NarrowScore], list[BroadScore]]:
    asked = [Asked(q.id, q.question) for q in narrow] + [Asked(q.id, q.question) for q in broad]
    if not asked:
        return [], []
    workspace_at(folder, asked, options.mode)
    if not gather(options.docs, folder / "corpus"):
        sys.exit(f"no HTML pages in {options.docs}: {INSTALL_HINT}")
    states = _researched(folder)
    words = {q.id: SUMMARY_WORDS for q in narrow} | {q.id: word_count(_text(states, q)) for q in broad}
    plain = asyncio.run(plain_passages(folder, {entry.id: entry.question for entry in asked}, words))
    summaries = {q.id: _summary(states, q) for q in narrow}
    narrow_scores = [score_narrow(q, summaries[q.id], plain[q.id]) for q in narrow]
    broad_scores = [score_broad(q, _text(states, q), plain[q.id]) for q in broad]
    if narrow:
        print("\n".join(tables.narrow_table(narrow_scores, by_chance(narrow, summaries))))
    if broad:
        print("\n".join(tables.broad_table(broad_scores)))
    return narrow_scores, broad_scores


def _over_planted(folder: Path, mode: Mode, planted: Sequence[Subject]) -> list[ConflictScore]:
    if not planted:
        return []
    workspace_at(folder, [Asked(subject.id, subject.query) for subject in planted], mode)
    shutil.copytree(PLANTED_DOCUMENTS, folder / "corpus")
    states = _researched(folder)
    scores = [_conflicts(subject, states.get(subject.id, SessionState())) for subject in planted]
    print("\n".join(tables.conflict_table(scores)))
    return scores


def _conflicts(subject: Subject, state: SessionState) -> ConflictScore:
    return score_conflicts(subject, subjects(), reported(state), map(side_of, all_facts(state)))


def _researched(folder: Path) -> dict[str, SessionState]:
    start = time.perf_counter()
    states = asyncio.run(research(folder))
    seconds = time.perf_counter() - start
    print(f"{len(states)} sessions in {seconds:.0f} s, index included ({seconds / max(1, len(states)):.1f} s each)")
    for name, state in sorted(states.items()):
        if state.report is None:
            print(f"no report on {name}: {state.status}: {state.end_reason}")
    return states


def _summary(states: dict[str, SessionState], question: Narrow) -> str:
    return summary_of(states[question.id].report) if question.id in states else ""


def _text(states: dict[str, SessionState], question: Broad) -> str:
    return text_of(states[question.id].report) if question.id in states else ""


if __name__ == "__main__":
    main()
