"""The commands on templates: ``templates update``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipeline.cli.command_parts import require_workspace
from pipeline.ops.console_output import Console
from pipeline.text.normalise import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.config.workspace_files import TemplateUpdate


@click.group()
def templates() -> None:
    """Bring the templates of this workspace up to date with the program."""


@templates.command()
@click.option("--replace", is_flag=True, help="Replace templates that you edited too; yours are copied to templates/replaced.")
@click.option("--dry-run", "dry", is_flag=True, help="Print what would be done, and change nothing.")
@click.pass_obj
def update(console: Console, replace: bool, dry: bool) -> None:
    """Copy new and changed templates of the program into templates/, after an upgrade.

    A template that you edited stays as it is and is listed; so is one from before the program recorded what it copied.
    """
    from pipeline.config.workspace_files import update_templates

    require_workspace(console.folder)
    done = update_templates(console.folder, replace=replace, dry=dry)
    value = {
        "added": done.added,
        "updated": done.updated,
        "replaced": done.replaced,
        "edited": done.edited,
        "removed": done.removed,
    }
    console.data(list(_lines(done, dry=dry)), value)


def _lines(done: TemplateUpdate, *, dry: bool) -> Iterator[str]:
    yield from (f"new: templates/{name}" for name in done.added)
    yield from (f"updated: templates/{name}" for name in done.updated)
    yield from (f"replaced: templates/{name} (yours is templates/{copy})" for name, copy in done.replaced.items())
    yield from (f"removed, no longer used: templates/{name}" for name in done.removed)
    yield from (f"edited, left as it is: templates/{name}" for name in done.edited)
    changed = len(done.added) + len(done.updated) + len(done.replaced) + len(done.removed)
    if dry:
        yield f"{counted(changed, 'template')} would be changed; nothing was"
    else:
        yield f"{counted(changed, 'template')} changed" + ("; next: research build" if changed else "")
    if done.edited:
        yield "research templates update --replace takes the program's; yours are kept in templates/replaced"
