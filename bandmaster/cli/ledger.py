"""``bandmaster ledger``: shows how the history in SQL stands, changes its tables, and rebuilds Redis from it.

In the flow: the process ``python -m bandmaster.ledger`` writes the ledger; these commands only look at it, or change
its tables. An upgrade is one transaction: if it is interrupted, nothing has changed. A rebuild that is interrupted
leaves everything paused, and is run again.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bandmaster.cli.exits import CommandFailed, Exit
from bandmaster.cli.notes import note
from bandmaster.cli.opening import opened, settings_of_command
from bandmaster.cli.screen import Json, say, say_json
from bandmaster.cli.times import show_duration
from bandmaster.configs.extras import import_extra
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.verdicts import Unwritten, lasting

if TYPE_CHECKING:
    from bandmaster.ledger.standing import Standing

_START: Final = "start one with `python -m bandmaster.ledger`"
LISTED: Final = 20
"""How many of the executions that could not be restored are shown."""


def show_ledger(context: typer.Context, as_json: Json = False) -> None:
    """Show how the history in SQL stands, upgrade its tables, forget a user, or rebuild Redis from it.

    The history is written by `python -m bandmaster.ledger`. While nobody
    writes it, the exit code is 1.

    \b
    Examples:
      bandmaster ledger
      bandmaster ledger upgrade
      bandmaster ledger rebuild
    """
    if context.invoked_subcommand is not None:
        return
    standing = import_extra("bandmaster.ledger.standing", "ledger").standing
    with opened() as bandmaster:
        database = _opening().existing(bandmaster.settings)
        found = standing(database, bandmaster.settings.redis.prefix)
        behind = found.position and Follower(bandmaster.queue.scripts).behind(found.position)
        signs = import_extra("bandmaster.ledger.write_signs", "ledger").WriteSigns(bandmaster.queue.scripts)
        unwritten: Unwritten | None = signs.unwritten()
    if as_json:
        say_json({"ledger": _document(found, behind, unwritten) | {"database": database.shown_url}})
    else:
        say(f"database    {database.shown_url}, revision {found.revision}")
        _say(found, behind, unwritten)
    if not found.is_written:
        raise typer.Exit(Exit.FAILED)


def _document(found: "Standing", behind: int | None, unwritten: Unwritten | None) -> dict[str, object]:
    lacks = found.unrestored
    return {
        "revision": found.revision,
        "consumer": found.holder,
        "renewed_seconds_ago": None if found.renewed_ms_ago is None else found.renewed_ms_ago / 1000,
        "written": found.is_written,
        "unwritten": unwritten and {"seconds": unwritten.lasting_ms / 1000, "reason": unwritten.reason},
        "read_up_to": found.position and found.position.entry_id,
        "entries_behind": behind,
        "executions": found.executions,
        "transitions": found.transitions,
        "lost_executions": found.lost,
        "missed_entries": found.missed,
        "revived_executions": lacks.revived if lacks else 0,
        "living_again": lacks.living_again if lacks else 0,
    }


def _say(found: "Standing", behind: int | None, unwritten: Unwritten | None) -> None:
    say(f"consumer    {_consumer(found, unwritten)}")
    if unwritten is not None:
        say(f"not written for {lasting(unwritten.lasting_ms)}: {unwritten.reason}")
    if found.position is not None:
        behind_text = "the journal is another one now" if behind is None else f"{behind:,} entries behind"
        say(f"journal     read up to {found.position.entry_id}; {behind_text}")
    say(f"history     {found.executions:,} executions, {found.transitions:,} transitions")
    if found.missed or found.lost:
        say(f"not known   {found.missed:,} entries were not read; Redis no longer knows {found.lost:,} executions")
    lacks = found.unrestored
    if lacks is not None and lacks.revived:
        say(
            f"lives again {lacks.living_again:,} of {lacks.revived:,} executions that had ended and came back:"
            " `bandmaster ledger rebuild --merge` ends them"
        )


def _consumer(found: "Standing", unwritten: Unwritten | None) -> str:
    if found.holder is None:
        return f"none yet: {_START}"
    last = "has ended" if found.renewed_ms_ago is None else f"wrote {show_duration(found.renewed_ms_ago)} ago"
    is_known = found.is_written or unwritten is not None
    return f"{found.holder}, which {last}" + (
        ""
        if is_known
        else f": nobody writes the history, {_START}, or see in the log of the one that runs why it cannot"
    )


def upgrade_ledger(as_json: Json = False) -> None:
    """Bring the tables to the schema of this release.

    \b
    Example:
      bandmaster ledger upgrade
    """
    upgrade = import_extra("bandmaster.ledger.schema.upgrading", "ledger").upgrade
    database = _opening().database_of(settings_of_command())
    revision = upgrade(database)
    if as_json:
        say_json({"ledger": {"database": database.shown_url, "revision": revision}})
    else:
        say(f"{database.shown_url} is at revision {revision}")


def rebuild_queue(
    merge: Annotated[
        bool,
        typer.Option(
            "--merge", help="Redis has work (older data, or new work), which stays unless the ledger knows its end."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Rebuild a lost Redis from the history: all that waited, ran or is dead; limits, rates, pauses, settings.

    Nothing is admitted until it is done. If it is interrupted, run it again with --merge.

    \b
    Examples:
      bandmaster ledger rebuild
      bandmaster ledger rebuild --merge
    """
    rebuild = import_extra("bandmaster.ledger.rebuild.rebuilding", "ledger").rebuild
    with opened() as bandmaster:
        done = rebuild(bandmaster.queue, _opening().existing(bandmaster.settings), merge=merge, say=note)
    lost = done.not_restored
    if as_json:
        say_json({"rebuilt": asdict(done)})
    else:
        for state, count in sorted(done.restored.items()):
            say(f"{state.lower():<12}{count:,}")
        say(f"{'known':<12}{done.known:,} that Redis knew already")
        say(f"{'changes':<12}{done.changes:,} limits, pauses and settings")
        for one, why in done.not_set.items():
            say(f"not set: {one}: {why}")
        for one, why in list(lost.items())[:LISTED]:
            say(f"not restored: {one}: {why}")
        if len(lost) > LISTED:
            say(f"not restored: {len(lost) - LISTED:,} more; --json lists them")
        if done.stays_paused:
            say("everything is paused, as it was before: `bandmaster resume '*'`")
    if lost:
        raise CommandFailed(f"{len(lost):,} executions could not be restored")


def _opening() -> Any:
    return import_extra("bandmaster.ledger.opening", "ledger")
