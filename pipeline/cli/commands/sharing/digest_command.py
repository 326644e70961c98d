"""The command ``digest``: what a night found, as plain text for a terminal or a mail."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.command_parts import require_workspace
from pipeline.ops.console_output import Console

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.vault.mornings.digest import Digest
    from pipeline.vault.session_card import Card
    from pipeline.vault.vault_model import Night


@click.command()
@click.option(
    "--night", "day", metavar="DATE", help="The night that began on this day (UTC), such as 2026-11-21.  [default: the last]"
)
@click.option("--html", is_flag=True, help="As a page for mail.")
@click.pass_obj
def digest(console: Console, day: str | None, html: bool) -> None:
    """Print what a night found: what changed first, each answer in a sentence, how sure it is, what failed."""
    from pipeline.config.settings import load_workspace
    from pipeline.vault.mornings.digest import digest_of, heading_of, html_of, nights_in, text_of
    from pipeline.wiring import workspace_adapters

    require_workspace(console.folder)
    store = workspace_adapters.store_of(console.folder)
    nights, unread = nights_in(store)
    night = _chosen(nights, day)
    if night is None:
        lines = ["nothing has been researched yet: research run", *(f"cannot be read: {text}" for text in unread)]
        console.data(lines, {"night": None, "unread": unread})
        return
    found = digest_of(store, night, unread)
    where = place_of(console, load_workspace(console.folder).queue.settings.site_url)
    lines = html_of(found, where).split("\n") if html else text_of(found, where)
    console.data(lines, _value(found, heading_of(found), where))


def _chosen(nights: tuple[Night, ...], day: str | None) -> Night | None:
    """The night of a day, or the last one.

    Raises:
        UsageError: ``day`` is no date, or no night began on it.
    """
    from pipeline.errors import UsageError

    if day is None:
        return nights[-1] if nights else None
    try:
        wanted = date.fromisoformat(day).isoformat()
    except ValueError as error:
        raise UsageError(f"--night {day!r} is not a date", hint="write it as 2026-11-21") from error
    for night in nights:
        if night.date == wanted:
            return night
    known = ", ".join(night.date for night in nights[-5:])
    raise UsageError(f"no night began on {wanted}", hint=f"the last nights: {known}" if known else "nothing was researched yet")


def place_of(console: Console, url: str) -> Callable[[Card], str]:
    """Return what says where a report is: on the site, if its address is set, else in the vault."""
    from pipeline.site.paths import encoded, page_of

    if url:
        return lambda card: f"{url.rstrip('/')}/{encoded(page_of(f'{card.report_path}.md'))}"
    return lambda card: console.path(f"vault/{card.report_path}.md")


def _value(found: Digest, heading: str, place_of: Callable[[Card], str]) -> dict[str, Any]:
    return {
        "night": found.date,
        "heading": heading,
        "seconds": found.seconds,
        "usd": found.usd,
        "left_out": found.left_out,
        "questions": [_question(one, place_of) for one in found.told],
        "problems": [*found.not_made, *found.unread],
    }


def _question(one: Any, place_of: Callable[[Card], str]) -> dict[str, Any]:
    from dataclasses import asdict

    learnt = one.card.learnt if one.card else None
    return {
        "query": one.query,
        "status": one.status,
        "reason": one.reason,
        "report": place_of(one.card) if learnt else "",
        "open": one.card.open if one.card else (),
        "found": asdict(learnt) if learnt else None,
    }
