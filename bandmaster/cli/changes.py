"""``bandmaster changes``: shows who changed limits, rates, pauses and settings, and when.

In the flow: reads only. `show` tells what was done to one execution, and by whom.
"""

from typing import Annotated, Final

import typer

from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.screen import LISTED_AT_MOST, Column, Json, say, say_json, say_table
from bandmaster.cli.times import show_time
from bandmaster.scheduler.engine.journal import Change
from bandmaster.scheduler.model.times import iso_of

NONE: Final = "none"


def changes(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=LISTED_AT_MOST, help="At most so many.")] = 20,
    as_json: Json = False,
) -> None:
    """List who changed limits, rates, pauses and settings, the latest first.

    The last thousand changes are kept. What was done to an execution, and by
    whom, is told by `bandmaster show`.

    \b
    Examples:
      bandmaster changes
      bandmaster changes --json | jq '.changes[] | select(.name == "action:pod")'
    """
    with at_desk() as desk:
        found = desk.controls.changes(limit)
    if as_json:
        say_json({"changes": [_json(each) for each in found]})
    elif found:
        say_table(
            [
                *(Column("AT"), Column("BY", gives=True), Column("WHAT"), Column("NAME", folds=True)),
                *(Column("FROM", right=True, drops=True), Column("TO", right=True)),
            ],
            [
                (show_time(each.at_ms), each.by, each.verb, each.name, each.before or NONE, each.after or NONE)
                for each in found
            ],
        )
    else:
        say("nobody has changed anything yet")


def _json(each: Change) -> dict[str, object]:
    changed: dict[str, object] = {"verb": each.verb, "name": each.name}
    return changed | {
        "before": each.before or None,
        "after": each.after or None,
        "by": each.by,
        "at": iso_of(each.at_ms),
    }
