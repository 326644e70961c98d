"""The command ``import``: records the sessions of other programs."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from pipeline.cli.command_parts import bring_up_to_date
from pipeline.cli.run_environment import environment_of
from pipeline.config.queue_file import add_query
from pipeline.config.services import secrets_of
from pipeline.config.settings import QUEUE_FILE
from pipeline.errors import UsageError
from pipeline.imports.converters import read_all
from pipeline.imports.recording import record_import
from pipeline.ops.console_output import Console, end
from pipeline.text.normalise import clean, counted, spelling_free
from pipeline.text.redaction import Redaction
from pipeline.wiring.recording import context_of
from pipeline.wiring.store_adapters import lock_of

FORMATS = ("go-research", "go-research-events", "aidaemon", "got")


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--as", "form", type=click.Choice(FORMATS), help="Read only this format.  [default: found out by the files]")
@click.option("--dry-run", is_flag=True, help="Print what would be imported and change nothing.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A topic for all of it; may be given several times.")
@click.option("--queue", is_flag=True, help="Add the questions that are still open to queries.yaml.")
@click.pass_obj
def import_(console: Console, path: Path, form: str | None, dry_run: bool, tags: tuple[str, ...], queue: bool) -> None:
    """Import the sessions of another program at PATH, a file or a folder: go-research, aidaemon, or a Graph of Thought.

    They get session notes that say that nothing in them is checked; no report, answer or export cites them. A second import
    records nothing. Exit code 1: something could not be read, and a message says what and why.
    """
    if not (path.is_dir() or path.is_file()):
        what = "is neither a file nor a folder" if path.exists() else "does not exist"
        raise UsageError(f"{path} {what}", hint="name a file or a folder of another program")
    if wrong := [tag for tag in tags if len(tag) > 60 or not any(sign.isalpha() for sign in tag)]:
        raise UsageError(f"{wrong[0][:60]!r} cannot be a tag", hint="a tag has a letter and at most 60 characters")
    env = environment_of(console)
    redaction = Redaction(secrets_of(env.workspace.queue.settings, env.keys))
    context = context_of(env.workspace, env.keys)
    sessions, faults = read_all(path, form, redaction.data)
    done: list[dict[str, Any]] = []
    questions: list[str] = []
    with nullcontext() if dry_run else lock_of(console.folder, "research import"):
        for one in sessions:
            stream, outcome = record_import(env.store, context, one, tags, dry=dry_run)
            said = {"id": stream, "outcome": outcome, "title": one.said.heading, "records": one.said.records}
            done.append(said | {"left_out": one.said.left_out})
            questions += one.said.queue
            faults.take(one.faults)
            if outcome == "forgotten":
                console.say(f"  not imported again, because it was forgotten: {stream}", always=True, fg="yellow")
    if not done:
        hint = f"--as names the format: {', '.join(FORMATS)}; docs/how-it-is-built.md says what each looks like"
        raise UsageError(f"nothing in {path} can be imported: {'; '.join(faults.lines[:3]) or 'it holds no file'}", hint=hint)
    outcomes = Counter(one["outcome"] for one in done)
    words = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(outcomes.items()))
    records = counted(sum(one["records"] for one in done), "record")
    lost = f"; {counted(faults.left_out, 'record')} left out" if faults.left_out else ""
    verb = "would be imported" if dry_run else "imported"
    lines = [f"{verb}: {counted(len(done), 'session')} ({words}), {records}{lost}"]
    lines.append("  nothing of it is checked: no report, answer or export cites it")
    for line in faults.lines:
        console.say(f"  {line}", always=bool(faults.left_out), fg="yellow")
    known = {spelling_free(query.text) for query in env.workspace.queue.queries}
    on_one_line = (" ".join(clean(question).split()) for question in questions)
    asked = list({spelling_free(line): line for line in on_one_line if line and spelling_free(line) not in known}.values())
    if asked and not queue:
        lines.append(f"  {counted(len(asked), 'question')} still open: --queue adds them to queries.yaml")
    added = []
    for question in asked if queue and not dry_run else ():
        try:
            added.append(add_query(console.folder / QUEUE_FILE, question, **({"tags": list(tags)} if tags else {})).id)
        except UsageError as error:
            console.say(f"  not added: {question[:60]}: {error.message}", always=True, fg="yellow")
    lines += [f"  added to queries.yaml: {name}" for name in added]
    value = {"dry_run": dry_run, "checked": False, "sessions": done, "faults": faults.lines, "left_out": faults.left_out}
    console.data(lines, value | {"questions": asked, "queued": added})
    build = not dry_run and outcomes.keys() & {"new", "changed"}
    problems = bring_up_to_date(console, env.workspace) if build else 0
    end(problems or (1 if faults.left_out else 0))
