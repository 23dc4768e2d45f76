"""``bandmaster ledger``: shows how the history in SQL stands, and brings its tables to this release's schema.

In the flow: the process ``python -m bandmaster.ledger`` writes the ledger; these commands only look at it, or change
its tables. An upgrade is one transaction: if it is interrupted, nothing has changed.
"""

from typing import Annotated, Any

import typer

from bandmaster.cli.opening import opened, settings_of_command
from bandmaster.cli.screen import say, say_json
from bandmaster.cli.times import show_duration
from bandmaster.configs.extras import import_extra
from bandmaster.scheduler.engine.journal_following import Follower

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def show_ledger(context: typer.Context, as_json: Json = False) -> None:
    """Show how the history in SQL stands, or upgrade its tables.

    The history is written by `python -m bandmaster.ledger`.

    \b
    Examples:
      bandmaster ledger
      bandmaster ledger upgrade
    """
    if context.invoked_subcommand is not None:
        return
    standing = import_extra("bandmaster.ledger.standing", "ledger").standing
    with opened() as bandmaster:
        database = _database(bandmaster.settings)
        found = standing(database)
        page = found.position and Follower(bandmaster.queue.scripts).read(found.position, 1)
    behind = None if page is None else page.ahead + page.missed + len(page.entries)
    if as_json:
        say_json(
            {
                "ledger": {
                    "database": database.shown_url,
                    "revision": found.revision,
                    "consumer": found.holder,
                    "renewed_seconds_ago": found.renewed_ms_ago / 1000 if found.holder else None,
                    "read_up_to": found.position and found.position.entry_id,
                    "entries_behind": behind,
                    "executions": found.executions,
                    "transitions": found.transitions,
                    "lost_executions": found.lost,
                    "missed_entries": found.missed,
                }
            }
        )
        return
    say(f"database    {database.shown_url}, revision {found.revision}")
    if found.holder is None:
        say("consumer    none yet: start one with `python -m bandmaster.ledger`")
    else:
        say(f"consumer    {found.holder}, which wrote {show_duration(found.renewed_ms_ago)} ago")
    if found.position is not None:
        behind_text = "the journal is another one now" if behind is None else f"{behind:,} entries behind"
        say(f"journal     read up to {found.position.entry_id}; {behind_text}")
    say(f"history     {found.executions:,} executions, {found.transitions:,} transitions")
    if found.missed or found.lost:
        say(f"not known   {found.missed:,} entries dropped unread, {found.lost:,} executions lost by the server")


def upgrade_ledger(as_json: Json = False) -> None:
    """Bring the tables to the schema of this release.

    \b
    Example:
      bandmaster ledger upgrade
    """
    upgrade = import_extra("bandmaster.ledger.schema.upgrading", "ledger").upgrade
    database = _database(settings_of_command())
    revision = upgrade(database)
    if as_json:
        say_json({"ledger": {"database": database.shown_url, "revision": revision}})
    else:
        say(f"{database.shown_url} is at revision {revision}")


def _database(settings: Any) -> Any:
    return import_extra("bandmaster.ledger.opening", "ledger").database_of(settings)
