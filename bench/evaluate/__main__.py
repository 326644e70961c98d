"""Score the program on questions with known answers; ``bench/quality/README.md`` describes the folder.

Exit code 1: a session failed, two runs differ, or ``--check`` found an error.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench.evaluate import scores
from bench.evaluate.baseline import Baseline
from bench.evaluate.questions import QuestionSet, faults_of, load
from bench.evaluate.sessions import research
from pipeline.errors import ResearchError


def main(arguments: list[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.evaluate", description=__doc__)
    parser.add_argument("folder", type=Path, help="the questions")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="the documents, unless they are in FOLDER/corpus")
    parser.add_argument("--settings", type=Path, metavar="DIR", help="a workspace whose settings, keys and templates are used")
    parser.add_argument("--mode", choices=("fast", "deep"), default="deep", help="how each question is asked")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="only this question; may be repeated")
    parser.add_argument("--final", action="store_true", help="ask the held-out half too; only its totals are printed")
    parser.add_argument("--show", action="store_true", help="print for each question what was matched and what is missing")
    parser.add_argument("--check", action="store_true", help="only check that the documents contain the expected answers")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run N times and compare the reports word by word")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the workspaces in this new folder")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to this file")
    parser.add_argument("--before", type=Path, metavar="FILE", help="such a file of an earlier evaluation, to compare with")
    options = parser.parse_args(arguments)
    try:
        asked = load(options.folder, options.corpus).chosen(options.only, final=options.final)
        return _check(asked) if options.check else _evaluate(asked, options)
    except ResearchError as error:
        print(f"error: {error.message}\n{error.hint}".rstrip(), file=sys.stderr)
        return error.exit_code


def _check(asked: QuestionSet) -> int:
    faults = list(faults_of(asked))
    print("\n".join(faults or [f"the documents hold the expected answers of {len(asked.questions)} questions"]))
    return 1 if faults else 0


def _evaluate(asked: QuestionSet, options: argparse.Namespace) -> int:
    known = any(question.answers or question.nuggets for question in asked.questions)
    baseline = Baseline(text for _, text in asked.texts()) if known else None
    digests = asked.digests()
    runs: list[list[scores.Score]] = []
    with tempfile.TemporaryDirectory(prefix="research-evaluate-") as scratch:
        for number in range(1, options.repeat + 1):
            found = research((options.keep or Path(scratch)) / f"run-{number}", asked, options.mode, options.settings)
            runs.append([scores.score(one, found[one.id], baseline, digests) for one in asked.questions])
    figures = scores.as_json(runs[0])
    if options.json:
        options.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    earlier = json.loads(options.before.read_text(encoding="utf-8")) if options.before else {}
    print("\n".join([*scores.lines(figures, earlier), *(scores.details(runs[0]) if options.show else ())]))
    pairs = [pair for again in runs[1:] for pair in zip(runs[0], again, strict=True)]
    differing = {one.question.id for one, other in pairs if (one.text, one.notes[:1]) != (other.text, other.notes[:1])}
    if options.repeat > 1:
        print(f"{options.repeat} runs: {len(differing)} of {len(runs[0])} reports differ")
        print("\n".join(one.question.id for one in runs[0] if one.question.id in differing and one.question.half == "dev"))
    return int(bool(differing) or any(one.values["failed"] for again in runs for one in again))


if __name__ == "__main__":
    sys.exit(main())
