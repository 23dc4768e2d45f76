"""``bandmaster list``: shows executions that run, wait (in the order of their start), are scheduled, or have ended.

In the flow: reads only; the desk finds the executions, this module shows them.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import typer

from bandmaster.cli.completing import GROUPS, complete_action, complete_state, complete_user
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.told import HistoryUnavailable
from bandmaster.cli.notes import note
from bandmaster.cli.screen import LISTED_AT_MOST, Column, Json, say, say_json, say_table
from bandmaster.cli.selecting import read_states
from bandmaster.cli.times import show_taken
from bandmaster.scheduler.engine.record import Record
from bandmaster.scheduler.selecting import Wanted

ENDED_UNASKED: Final = 5
"""How many ended executions an unfiltered list shows at its end."""


def list_executions(
    state: Annotated[
        list[str] | None,
        typer.Option(
            *("--state", "-s"),
            metavar="STATE",
            help=f"{', '.join(GROUPS)}, or a state's name; repeatable.",
            autocompletion=complete_state,
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Only this user's.", autocompletion=complete_user)
    ] = None,
    action: Annotated[str | None, typer.Option(help="Only of this action.", autocompletion=complete_action)] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=LISTED_AT_MOST, help="At most so many of each kind.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """List what runs, waits (in order), is scheduled, and has ended.

    \b
    Examples:
      bandmaster list
      bandmaster list --state waiting --user ann --limit 100
      bandmaster list --state failed --json
    """
    groups, states = read_states(state or [])
    wanted = Wanted(states, user, action)
    with at_desk() as desk:
        records: list[Record] = []
        cut: list[str] = []
        shards: dict[str, str] = {}
        for group in groups:
            most = min(limit, ENDED_UNASKED) if group == "ended" and not state else limit
            try:
                found = desk.executions.listed(group, wanted, most)
            except HistoryUnavailable as error:
                if state:
                    raise
                # Nobody asked for it: what lives is all the more useful then.
                note(str(error))
                continue
            records += found.records
            shards |= found.shards
            if found.more:
                cut.append(group)
        now_ms = desk.executions.now_ms()
    if as_json:
        say_json({"executions": [_document(each, shards) for each in records], "more": cut})
        return
    if not records:
        say("nothing")
        return
    say_records(records, now_ms, shards)
    if cut:
        note(f"there is more: {', '.join(cut)}; see --state and --limit")


def _document(record: Record, shards: Mapping[str, str]) -> dict[str, object]:
    shard = shards.get(record.execution_id)
    return record.as_json() | ({} if shard is None else {"shard": shard})


def say_records(records: Sequence[Record], now_ms: int, shards: Mapping[str, str] | None = None) -> None:
    """Print a table of executions."""
    columns = [
        *(Column("EXECUTION", folds=True), Column("STATE"), Column("TIME", right=True), Column("PRIORITY", drops=True)),
        *(Column("USER", gives=True, drops=True), Column("ACTION", gives=True, drops=True)),
    ]
    rows = [
        [
            record.execution_id,
            record.state,
            show_taken(record, now_ms),
            record.priority.lower(),
            record.user_id or "",
            record.action,
        ]
        for record in records
    ]
    if any(record.position is not None for record in records):
        columns.insert(0, Column("#", right=True, drops=True))
        for row, record in zip(rows, records, strict=True):
            row.insert(0, "" if record.position is None else str(record.position))
    if shards:
        columns.append(Column("SHARD"))
        for row, record in zip(rows, records, strict=True):
            row.append(shards.get(record.execution_id, ""))
    say_table(columns, rows)
