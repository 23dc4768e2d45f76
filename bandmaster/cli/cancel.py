"""``bandmaster cancel`` and ``bandmaster priority``: cancel executions, or move them to another priority.

In the flow: this module has the desk find and change the executions, and reports the result of each: waiting ones end
at once, running ones are asked to end.
"""

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from bandmaster.cli.completing import complete_id, complete_priority
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.port import Executions
from bandmaster.cli.exits import Exit
from bandmaster.cli.notes import note
from bandmaster.cli.screen import Json, say, say_json
from bandmaster.cli.selecting import Action, All, Filters, States, User, Yes, all_meant, ask_first, check_meant
from bandmaster.scheduler.engine.grants import Cancellation, Code
from bandmaster.scheduler.model.errors import UnknownExecution, shown
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import TERMINAL

LIVING: Final = ("waiting", "scheduled", "running")
"""The order of cancelling: waiting executions first, since they would start in the slots that running ones release."""

WAITING: Final = ("waiting", "scheduled")
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Executions, or beginnings of ids.", autocompletion=complete_id),
]


def cancel(
    execution_ids: Ids = None,
    user: User = None,
    action: Action = None,
    state: States = None,
    everything: All = False,
    yes: Yes = False,
    reason: Annotated[str, typer.Option(help="Why; shown by `show`.")] = "cancelled",
    as_json: Json = False,
) -> None:
    """End executions, whether they wait or run.

    What waits ends at once, even if no worker runs. What runs is asked to end:
    it is CANCELLING, and keeps its slot, until it is gone.

    \b
    Examples:
      bandmaster cancel 0192f0c1-7c
      bandmaster cancel --state waiting --user ann
      bandmaster cancel --action report --yes
    """
    ids, filters = execution_ids or [], Filters(user, action, tuple(state or ()), everything)
    check_meant(ids, filters)
    codes: list[Exit] = [Exit.OK]
    documents: list[dict[str, object]] = []
    with at_desk() as desk:
        if filters.typed:
            records = all_meant(desk.executions, filters, LIVING)
            ask_first("cancel", records, yes=yes)
            found_ids: list[tuple[str, UnknownExecution | None]] = [(each.execution_id, None) for each in records]
        else:
            found_ids = _found(desk.executions, ids)
        for found, unknown in found_ids:
            cancelled = None if unknown else desk.executions.cancel(found, reason)
            if cancelled is None or cancelled.code is Code.UNKNOWN:
                note(str(unknown or UnknownExecution(execution_id=found)))
                codes.append(Exit.NOT_FOUND)
                documents.append({"execution_id": found, "code": Code.UNKNOWN, "state": None})
                continue
            # An execution that ended during the confirmation needs no cancelling any more.
            codes.append(Exit.OK if cancelled.code is Code.OK or filters.typed else Exit.FAILED)
            documents.append({"execution_id": found, "code": cancelled.code, "state": cancelled.state})
            if not as_json:
                _say(found, cancelled)
    if as_json:
        say_json({"executions": documents})
    elif not documents:
        say("nothing")
    raise typer.Exit(max(codes))


def priority(
    typed: Annotated[
        list[str],
        typer.Argument(
            metavar="[ID]... NAME",
            help="Executions, then critical, high, normal, low or background.",
            autocompletion=complete_priority,
        ),
    ],
    user: User = None,
    action: Action = None,
    state: States = None,
    everything: All = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Move waiting executions to another priority.

    Each keeps the time at which it was accepted.

    \b
    Examples:
      bandmaster priority 0192f0c1-7c critical
      bandmaster priority --user ann --action report low
    """
    *ids, name = typed
    filters = Filters(user, action, tuple(state or ()), everything)
    check_meant(ids, filters)
    band = Priority.parse(int(name) if name.isdecimal() else name)
    failed: list[Exit] = [Exit.OK]
    documents: list[dict[str, object]] = []
    with at_desk() as desk:
        if filters.typed:
            records = all_meant(desk.executions, filters, WAITING)
            ask_first(f"move to {band.name.lower()}", records, yes=yes)
            ids = [each.execution_id for each in records]
        else:
            # Find all before changing any.
            ids = [desk.executions.find(one) for one in ids]
        for found in ids:
            moved = desk.executions.move(found, band)
            if moved.code is Code.OK:
                position = moved.position
                told: dict[str, object] = {
                    "execution_id": found,
                    "priority": band.name,
                    "state": moved.state,
                    "position": position,
                }
                documents.append(told)
                if not as_json:
                    say(f"{found}  {band.name.lower()}{'' if position is None else f', position {position}'}")
            elif moved.code is Code.UNKNOWN:
                note(str(UnknownExecution(execution_id=found)))
                failed.append(Exit.NOT_FOUND)
            else:
                note(f"{found} does not wait any more (state {moved.state}): its priority was not changed")
                failed.append(Exit.OK if filters.typed else Exit.FAILED)
    if as_json:
        say_json({"executions": documents})
    elif not documents and max(failed) is Exit.OK:
        say("nothing")
    raise typer.Exit(max(failed))


def _found(executions: Executions, typed: Sequence[str]) -> list[tuple[str, UnknownExecution | None]]:
    """Pair each found id with None and each unknown text with its error; an ambiguous or invalid one raises."""
    found: list[tuple[str, UnknownExecution | None]] = []
    for one in dict.fromkeys(typed):
        try:
            found.append((executions.find(one), None))
        except UnknownExecution as error:
            found.append((one, error))
    return found


def _say(execution_id: str, cancelled: Cancellation) -> None:
    if cancelled.code is Code.ENDED:
        note(f"{shown(execution_id)} has ended already: {cancelled.state}")
    elif cancelled.state in TERMINAL:
        say(f"{execution_id}  {cancelled.state}")
    else:
        say(f"{execution_id}  {cancelled.state}: asked to end, keeps its slot until it is gone")
