"""``bandmaster actions``: lists the statistics of each action, and drops actions that are not used any more.

In the flow: a thin layer around the desk. Dropping may be repeated.
"""

from dataclasses import asdict
from typing import Annotated, Final

import typer

from bandmaster.cli.completing import complete_action
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.port import Controls
from bandmaster.cli.exits import Exit
from bandmaster.cli.notes import note
from bandmaster.cli.screen import LISTED_AT_MOST, Column, Json, say, say_json, say_table
from bandmaster.scheduler.engine.controls import Dropped
from bandmaster.scheduler.model.identifiers import check_action

_CODES: Final = {Dropped.DROPPED: Exit.OK, Dropped.IN_USE: Exit.FAILED, Dropped.UNKNOWN: Exit.NOT_FOUND}


def actions(
    dropped: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="ACTION",
            help="Forget what was counted of one that nobody uses; repeatable.",
            autocompletion=complete_action,
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=LISTED_AT_MOST, help="At most so many.")] = 20,
    as_json: Json = False,
) -> None:
    """List actions, the least used first, or forget some.

    What was counted of an action stays until it is dropped. Its limit and its
    pause are not touched.

    \b
    Examples:
      bandmaster actions
      bandmaster actions --drop report --drop old-report
    """
    for action in dropped or []:
        check_action(action)
    with at_desk() as desk:
        if dropped:
            raise typer.Exit(_drop(desk.controls, dropped, as_json=as_json))
        found = desk.figures.actions()
    shown = found[:limit]
    if as_json:
        say_json({"actions": [asdict(each) for each in shown], "more": len(found) - len(shown)})
        return
    if not shown:
        say("nothing was ever sent")
        return
    figures = [Column(name, right=True) for name in ("WAITING", "RUNNING", "ACCEPTED", "ENDED")]
    say_table(
        [Column("ACTION", folds=True), *figures],
        [
            (
                *(each.action, str(each.waiting), str(each.running)),
                *(str(each.total_enqueued), str(each.total_completed)),
            )
            for each in shown
        ],
    )
    if len(found) > len(shown):
        note(f"there are {len(found) - len(shown)} more; see --limit")


def _drop(controls: Controls, names: list[str], *, as_json: bool) -> Exit:
    codes = {action: controls.drop_action(action) for action in dict.fromkeys(names)}
    for action, code in codes.items():
        if code is Dropped.IN_USE:
            note(f"{action} is used: one of it waits, is scheduled or runs; nothing was changed")
        elif code is Dropped.UNKNOWN:
            note(f"nothing was counted of {action}")
        elif not as_json:
            say(f"{action} dropped")
    if as_json:
        say_json({"actions": [{"action": action, "code": code} for action, code in codes.items()]})
    return max(_CODES[code] for code in codes.values())
