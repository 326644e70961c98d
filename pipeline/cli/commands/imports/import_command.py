"""The command ``import``: records the sessions of another program. Nothing imported counts as evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.ops.console_output import Console, end, put

if TYPE_CHECKING:
    from pipeline.cli.run_environment import RunEnvironment
    from pipeline.domain.imports.import_events import ImportFinding
    from pipeline.ops.imports.importing import Imported

_MOST_NAMED = 10  # sessions and findings that are printed
FORMATS = ("go-research", "go-research-events", "aidaemon", "got")


@dataclass
class _Done:
    """What came of an import. ``findings`` belong to no session; ``tags`` were given on the command line."""

    dry: bool
    tags: tuple[str, ...]
    sessions: list[Imported] = field(default_factory=list)
    findings: list[ImportFinding] = field(default_factory=list)

    @property
    def all_findings(self) -> list[ImportFinding]:
        return [*self.findings, *(one for done in self.sessions for one in done.parsed.tally.findings)]


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--as", "form", type=click.Choice(FORMATS), help="Read only this format.  [default: found out by the files]")
@click.option("--dry-run", is_flag=True, help="Print what would be imported and change nothing.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A topic for all of it; may be given several times.")
@click.pass_obj
def import_(console: Console, path: Path, form: str | None, dry_run: bool, tags: tuple[str, ...]) -> None:
    """Import the sessions of another program at PATH, a file or a folder: go-research, aidaemon, or a Graph of Thought.

    They get notes and pages of their own, marked as not checked; no report, answer or export cites them. A second import records
    only what is new. Questions that are still open are printed on stdout as entries for queries.yaml. Exit code 1: something was
    left out, and a message says what and why.
    """
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.errors import UsageError
    from pipeline.wiring import workspace_adapters

    env = environment_of(console, Request())
    done = _Done(dry_run, _checked(tags))
    if dry_run:
        _read(env, path, form, done)
    else:
        with workspace_adapters.lock_of(console.folder, "research import"):
            _read(env, path, form, done)
    if not done.sessions:
        why = "; ".join(f"{one.where} {one.what}" for one in done.findings[:3]) or "it holds no file"
        hint = f"--as names the format: {', '.join(FORMATS)}; docs/imports.md says what each looks like"
        raise UsageError(f"nothing in {path} can be imported: {why}", hint=hint)
    _print(env, done)
    problems = 0 if dry_run or not any(one.events for one in done.sessions) else _build(env)
    end(problems or (1 if any(one.records for one in done.all_findings) else 0))


def _checked(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags.

    Raises:
        UsageError: one is empty, or too long for a tag.
    """
    from pipeline.errors import UsageError

    for tag in tags:
        if not tag.strip() or len(tag) > 60 or not any(sign.isalpha() for sign in tag):
            raise UsageError(f"{tag[:60]!r} cannot be a tag", hint="a tag has a letter and at most 60 characters")
    return tuple(dict.fromkeys(tag.strip() for tag in tags))


def _read(env: RunEnvironment, path: Path, form: str | None, done: _Done) -> None:
    from pipeline.config.service_selection import secrets_of
    from pipeline.domain.imports.import_events import ImportFinding
    from pipeline.ops.imports.importing import import_session, outcome_of
    from pipeline.text.redaction import Redaction
    from pipeline.wiring import import_adapters, workspace_adapters

    redaction = Redaction(secrets_of(env.workspace.queue.settings, env.keys))
    context = workspace_adapters.context_of(env.workspace, lambda _event, _state: None, redaction.data)
    for one in import_adapters.read_foreign(path, form, redaction.data):
        if isinstance(one, ImportFinding):
            done.findings.append(one)
            continue
        imported = outcome_of(env.store, one, done.tags) if done.dry else import_session(env.store, context, one, done.tags)
        done.sessions.append(imported)
        if imported.events and not done.dry:
            env.console.say(f"imported: {imported.stream}", dim=True)


def _print(env: RunEnvironment, done: _Done) -> None:
    from pipeline.ops.imports.queue_lines import open_questions, queue_lines

    known = [query.text for query in env.workspace.queue.queries]
    questions = open_questions((question for one in done.sessions for question in one.parsed.queue), known)
    lines = queue_lines(questions, done.tags)
    _print_summary(env.console, done, len(questions))
    if env.console.as_json:
        env.console.data([], _value(done, questions, lines))
    elif lines:
        put("\n".join(lines))


def _print_summary(console: Console, done: _Done, questions: int) -> None:
    from pipeline.text.normalise import counted

    counts = _summed(done)
    outcomes = Counter(one.outcome for one in done.sessions)
    words = ", ".join(f"{outcomes[word]:,} {word}" for word in ("new", "changed", "unchanged", "forgotten") if outcomes[word])
    verb = "would be imported" if done.dry else "imported"
    console.say(f"{verb}: {counted(len(done.sessions), 'session')} ({words}), {counts}")
    for one in done.sessions:
        if one.outcome == "forgotten":
            console.say(f"  not imported again, because it was forgotten: {one.stream}", always=True, fg="yellow")
    _print_findings(console, done)
    console.say("  nothing of it is checked: no report, answer or export cites it")
    if questions:
        console.say(f"  {counted(questions, 'question')} still open; these entries are for queries.yaml, below `queries:`")


def _print_findings(console: Console, done: _Done) -> None:
    from pipeline.cli.import_presentation import finding_line
    from pipeline.text.normalise import counted

    findings = sorted(done.all_findings, key=lambda one: not one.records)  # what was left out comes first
    for one in findings[:_MOST_NAMED]:
        left_out = f" ({counted(one.records, 'record')} left out)" if one.records else ""
        console.say(f"  {finding_line(one)}{left_out}", always=bool(one.records), fg="yellow")
    if (more := len(findings) - _MOST_NAMED) > 0:
        console.say(f"  and {counted(more, 'more finding')}: --json lists all, and so do the notes", always=True, fg="yellow")


def _summed(done: _Done) -> str:
    from pipeline.cli.import_presentation import counts_line

    return counts_line(_counts(done))


def _counts(done: _Done) -> Any:
    from pipeline.domain.imports.import_events import ImportCounts

    each = [one.parsed.tally.counts for one in done.sessions]
    names = ("records", "items", "merged", "left_out")
    sums = {name: sum(getattr(one, name) for one in each) for name in names}
    outside = sum(one.records for one in done.findings)
    return ImportCounts(**sums | {"records": sums["records"] + outside, "left_out": sums["left_out"] + outside})


def _value(done: _Done, questions: Sequence[str], lines: Sequence[str]) -> dict[str, Any]:
    sessions = [
        {
            "id": one.stream,
            "outcome": one.outcome,
            "events": one.events,
            "title": one.parsed.question or one.parsed.title,
            "counts": one.parsed.tally.counts.model_dump(),
        }
        for one in done.sessions
    ]
    findings = [one.model_dump() for one in done.all_findings]
    value = {"dry_run": done.dry, "checked": False, "sessions": sessions, "counts": _counts(done).model_dump()}
    return value | {"findings": findings, "questions": list(questions), "queue": "\n".join(lines)}


def _build(env: RunEnvironment) -> int:
    from pipeline.cli.command_parts import bring_up_to_date, report_build_problems

    return report_build_problems(env.console, bring_up_to_date(env.console, env.workspace))
