"""The commands with which other programs work: ``export`` writes files for them, ``import`` reads theirs."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import Any

import click
import frontmatter

from pipeline.cli.arguments_and_builds import bring_up_to_date, bring_vault_up_to_date, reported_session, require_workspace
from pipeline.cli.run_inputs import environment_of
from pipeline.config.queue_file import add_query
from pipeline.config.services import secrets_of
from pipeline.config.workspace_settings import QUEUE_FILE
from pipeline.errors import CommandRefused, SystemRefused, UsageError
from pipeline.imports.converters import read_all
from pipeline.imports.recording import record_import
from pipeline.ops.console_output import Console, end
from pipeline.system import files
from pipeline.text.cleaning import clean, digest_of, one_line, spelling_free
from pipeline.text.humanize import counted
from pipeline.text.redaction import Redaction
from pipeline.vault.build_cache import paths_of
from pipeline.vault.output.escaping import inert
from pipeline.vault.report_export import cited_sources, converted, page, portable
from pipeline.vault.report_export import references as csl_items
from pipeline.wiring.run_context_and_note_ratings import context_of
from pipeline.wiring.store_adapters import lock_of, store_of
from pipeline.wiring.vault_and_site import report_of

_SUFFIXES = {
    ".html": "html",
    ".md": "markdown",
    ".pdf": "pdf",
    ".docx": "docx",
    ".epub": "epub",
    ".json": "csl-json",
    ".bib": "bibtex",
}
_OF_SOURCES, _BINARY = ("csl-json", "bibtex"), ("pdf", "docx", "epub")
_STDOUT = "-"
_EXPORTS = "exports.json"


@click.command()
@click.argument("session", required=False)
@click.option("--format", "form", type=click.Choice([*_SUFFIXES.values()]), help="[default: that of PATH's suffix, else html]")
@click.option("--out", metavar="PATH", help="A file, a folder, or - for stdout.  [default: exports/; of sources: stdout]")
@click.option("--all", is_flag=True, hidden=True, expose_value=False)  # of the older name `references`
@click.pass_obj
def export(console: Console, session: str | None, form: str | None, out: str | None) -> None:
    """Write the report of SESSION to one file, with each citation and its quote as a footnote.

    pdf needs Chromium or Chrome; docx, epub and bibtex need pandoc. csl-json and bibtex are the sources that the report cites, or
    all reports without SESSION.
    """
    folder, local = console.folder, console.folder / "events" / "local"
    require_workspace(folder)
    form = form or _SUFFIXES.get(Path(out).suffix.lower() if out else "", "html")
    if form not in _OF_SOURCES and not session:
        raise click.UsageError("name a SESSION; only the sources are of all reports")
    if out == _STDOUT and form in _BINARY:
        raise click.UsageError(f"{form} is no text; give --out a file")
    name = reported_session(console, store_of(folder), session) if session else ""
    bring_vault_up_to_date(console)
    sources = cited_sources(local, name)
    value: dict[str, Any] = {"session": name, "format": form}
    items: list[Any] = []
    about: dict[str, str] = {}
    if form in _OF_SOURCES:
        items = csl_items(sources)
        if not items:
            console.say(f"{name or 'no report'} {'has no report that ' if name else ''}cites a source", fg="yellow")
        text, stem, out = json.dumps(items, ensure_ascii=False, indent=2) + "\n", "references", out or _STDOUT
        value["sources"] = len(items)
    else:
        path = report_of(folder)(name)
        if not path:
            raise CommandRefused(f"{name} has no report in the vault", hint=f"research show {name} says how far it got")
        note = frontmatter.loads(files.read_text(folder / path))
        notes = paths_of(local, "source")
        title, stem, language = one_line(str(note.get("title", name)), 500), PurePosixPath(path).stem, str(note.get("lang", "en"))
        text, value["quotes"] = portable(note.content, sources, notes)
        if form in ("html", "pdf"):
            text = page(title, text, language)
        elif form == "markdown":
            text = f"# {inert(title)}\n\n{text}"
        else:
            about = {"title": title, "date": str(note.get("created", ""))[:10], "lang": language}
    data = converted(text.encode(), form, about) if form in (*_BINARY, "bibtex") else text.encode()
    if out == _STDOUT:
        console.data([data.decode().rstrip("\n")], items if form == "csl-json" else {**value, "text": data.decode()})
        return
    place = Path(out) if out else folder / "exports"
    if not out or out.endswith("/") or place.is_dir():
        place /= stem + next(suffix for suffix, known in _SUFFIXES.items() if known == form)
    write_export(folder, place, data)
    console.data([str(place)], {**value, "path": str(place), "bytes": len(data)})


def write_export(folder: Path, place: Path, data: bytes) -> None:
    """Write a file for the person who asked for it. It replaces only what it wrote there before and nobody has changed since.

    The digests of these files are kept in ``events/local``; without them nothing is replaced.

    Raises:
        UsageError: another file, a link or a folder is there.
        SystemRefused: the disk refuses.
    """
    place, local, digest = Path(os.path.abspath(place)), folder / "events" / "local", digest_of(data)  # noqa: PTH100 - keeps links
    made: dict[str, str] = {}
    with suppress(OSError, ValueError):
        made = dict(json.loads(files.read_text(local / _EXPORTS)))
    is_ours = not os.path.lexists(place)
    with suppress(OSError):  # no regular file
        is_ours = is_ours or digest_of(files.read_bytes(place, follow=False)) in {made.get(str(place), ""), digest}
    if not is_ours:
        raise UsageError(
            f"{place} is there already, and this command has not made it, or it was changed since: it was left as it is",
            hint="give --out another place, or move it away",
        )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        files.write(place, data)
        made[str(place)] = digest
        files.replace(local / _EXPORTS, json.dumps(made, indent=1).encode(), local / "tmp")
    except OSError as error:
        raise SystemRefused(f"{place} cannot be written: {error.strerror}", hint="give --out another place") from error


FORMATS = ("go-research", "go-research-events", "aidaemon", "got")


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--as", "form", type=click.Choice(FORMATS), help="Read only this format.  [default: found out by the files]")
@click.option("--dry-run", is_flag=True, help="Only print what would be imported.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A topic for all of it (repeatable).")
@click.option("--queue", is_flag=True, help="Add the questions that are still open to queries.yaml.")
@click.pass_obj
def import_(console: Console, path: Path, form: str | None, dry_run: bool, tags: tuple[str, ...], queue: bool) -> None:
    """Import the sessions of another program at PATH, a file or a folder: go-research, aidaemon, or a Graph of Thought.

    Nothing in them is checked, and no report, answer or export cites them. A second import records nothing. Exit code 1:
    something could not be read.
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
        streams = {*env.store.ids("import")}
        for one in sessions:
            stream, outcome = record_import(env.store, streams, context, one, tags, dry=dry_run)
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
