"""The command ``evaluate``: scores the program on questions with known answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.ops.console_output import Console, end
from pipeline.text.normalise import counted

if TYPE_CHECKING:
    from pipeline.evaluate.evaluation import Result
    from pipeline.evaluate.question_set.question_set import Dataset

_FOLDER = click.Path(path_type=Path, file_okay=False)
_KINDS = click.Choice(["beir", "hotpotqa", "multihop-rag", "browsecomp-plus"])
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("folder", type=_FOLDER)
@click.option("--corpus", type=_FOLDER, metavar="DIR", help="The documents.  [default: FOLDER/corpus or FOLDER/documents]")
@click.option(
    "--mode", type=click.Choice(["fast", "deep"]), default="deep", show_default=True, help="How each question is asked."
)
@click.option("--only", multiple=True, metavar="ID", help="Only this question; may be given several times.")
@click.option("--final", is_flag=True, help="Ask the held-out half too; only its totals are printed.")
@click.option("--show", is_flag=True, help="Print for each question what was matched, what is missing, and its summary.")
@click.option("--check", is_flag=True, help="Only check that the documents contain the expected answers; research nothing.")
@click.option("--keep", type=_FOLDER, metavar="DIR", help="Work in this new folder and keep it.")
@click.option("--reasoner", metavar="NAME", help="extractive, or a model; overrides the settings of -C.")
@click.option("--search", multiple=True, metavar="NAME", help="A search provider; may be given several times; overrides -C.")
@click.option("--repeat", type=click.IntRange(1, 9), default=1, metavar="N", help="Run N times and compare the reports.")
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Also write all figures to this file.")
@click.option("--against", type=_FOLDER, metavar="DIR", help="Compare with the settings or templates of this folder.")
@click.option(
    "--write", type=(click.Choice(["deepresearch", "trec-rag"]), _FILE), metavar="SHAPE FILE", help="Also write the reports."
)
@click.option(
    "--convert", type=(_KINDS, click.Path(path_type=Path)), metavar="KIND SRC", help="Only write the data set SRC to FOLDER."
)
@click.pass_obj
def evaluate(console: Console, /, folder: Path, json_file: Path | None, **options: Any) -> None:
    """Score the program on FOLDER, which holds questions with known answers and documents; docs/evaluate.md describes it.

    Settings come from the queries.yaml of -C if there is one; otherwise only the documents are searched. Exit code 1: a session
    failed.
    """
    if options["convert"]:
        _convert(console, folder, *options["convert"])
        return
    from pipeline.evaluate.question_set.question_set import load

    dataset = load(folder, options["corpus"]).chosen(options["only"], final=options["final"])
    if options["check"]:
        _check(console, dataset)
    results = _run(console, dataset, options)
    lines, value = _output(dataset, results, options)
    if options["write"]:
        from pipeline.evaluate.report_export import write

        shape, path = options["write"]
        console.say(f"{counted(write(shape, path, dataset, results[0].outcomes), 'report')} written to {path}", dim=True)
    if json_file:
        json_file.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    console.data(lines, value)
    end(1 if any(score.values["failed"] for result in results for score in result.scores) else 0)


def _output(dataset: Dataset, results: list[Result], options: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the lines to print, and the same as one JSON value."""
    from pipeline.evaluate import tables

    lines = [*tables.run_lines(results[0]), *tables.failure_lines(results[0]), *tables.totals_lines(results[0].scores)]
    value = tables.as_json(results[0])
    if options["repeat"] > 1:
        lines += _repeated(results[: options["repeat"]], value)
    if options["against"]:
        lines += _compared(results[0], results[-1], value)
    if options["show"]:
        lines += tables.detail_lines(results[0].scores, _queries(dataset))
    return lines, value


def _queries(dataset: Dataset) -> dict[str, str]:
    """Return the text of each question and follow-up by its score's id."""
    from pipeline.evaluate.follow_ups import follow_up_id

    asked = {follow_up_id(row): f"{row.first} {row.query}".strip() for row in dataset.follow_ups}
    return {entry.id: entry.query for entry in dataset.entries} | asked


def _convert(console: Console, folder: Path, kind: str, source: Path) -> None:
    from pipeline.evaluate.question_set.public_formats import convert

    questions, documents = convert(kind, source, folder)
    lines = [
        f"{counted(questions, 'question')} and {counted(documents, 'document')} written to {folder}",
        f"next: research evaluate {folder}",
    ]
    console.data(lines, {"questions": questions, "documents": documents})


def _check(console: Console, dataset: Dataset) -> None:
    """Print the problems of the expected answers, and exit."""
    from pipeline.evaluate.evaluation import faults_of

    faults = faults_of(dataset)
    lines = faults or [f"the documents hold the expected answers of all {counted(len(dataset.entries), 'question')}"]
    console.data(lines, {"faults": faults})
    end(1 if faults else 0)


def _run(console: Console, dataset: Dataset, options: dict[str, Any]) -> list[Result]:
    """Run each repetition, then the configuration to compare with."""
    from pipeline.evaluate.evaluation import Evaluation
    from pipeline.evaluate.program_run import given_settings, other_setup, setup_of

    given = given_settings(options["reasoner"], options["search"])
    setup = setup_of(console.folder, given)
    setups = [setup] * options["repeat"]
    if options["against"]:
        setups.append(other_setup(options["against"], setup))
    say = partial(console.say, dim=True)
    return Evaluation(dataset, options["mode"], options["keep"], say, _progress(console)).run(setups)


def _progress(console: Console) -> Callable[[int, int], None]:
    """Return a function that prints the number of finished questions, at each tenth of them."""

    def report(done: int, number: int) -> None:
        if done * 10 // number > (done - 1) * 10 // number:
            console.say(f"{done} of {number}", dim=True)

    return report


def _repeated(results: list[Result], value: dict[str, Any]) -> list[str]:
    from pipeline.evaluate.evaluation import differing_questions

    halves = {score.id: score.half for score in results[0].scores}
    differing = sorted({name for result in results[1:] for name in differing_questions(results[0], result)})
    shown = [name for name in differing if halves[name] == "dev"]
    value["repeat"] = {"runs": len(results), "differing": len(differing), "ids": shown}
    if not differing:
        return [f"{counted(len(results), 'run')}: all reports are equal"]
    which = ", ".join(shown) or "held-out ones"
    return [f"{counted(len(results), 'run')}: {len(differing)} of {counted(len(halves), 'report')} differ: {which}"]


def _compared(first: Result, second: Result, value: dict[str, Any]) -> list[str]:
    from pipeline.evaluate.compare import difference_lines, differences, differences_as_json
    from pipeline.evaluate.question_set.question_set import HALVES

    lines: list[str] = []
    value["against"] = {}
    for half in HALVES:
        mine, other = ([score for score in result.scores if score.half == half] for result in (first, second))
        if found := list(differences(mine, other)):
            lines += [
                f"{half}: this and the other configuration; * where the interval excludes zero, with six questions or more",
                *difference_lines(found),
            ]
            value["against"][half] = differences_as_json(found)
    return lines
