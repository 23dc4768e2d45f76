"""``bandmaster share`` and ``weight``: fair lanes, in which the gates of a kind take turns, and how many each has.

In the flow: a thin layer around the desk. Each command may be repeated without harm.
"""

from typing import Annotated, Final

import typer

from bandmaster.cli.completing import complete_gate, complete_lane
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.notes import note
from bandmaster.cli.screen import Column, Json, say, say_json, say_table
from bandmaster.scheduler.engine.shares import MOST_WEIGHT, UNWEIGHED, check_kind, check_weight
from bandmaster.scheduler.model.errors import InvalidRequest, shown
from bandmaster.scheduler.model.identifiers import check_lane
from bandmaster.scheduler.model.limits import check_gate

NONE: Final = "none"
_MOST_DIGITS: Final = 18


def share(
    lane: Annotated[str | None, typer.Argument(metavar="LANE", help="A lane.", autocompletion=complete_lane)] = None,
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="What precedes the colon of gates; none: strict order.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the fair lanes, or change one.

    In a fair lane users, or the gates of another kind, take turns within each
    band. What waits already when it becomes fair goes first.

    \b
    Examples:
      bandmaster share
      bandmaster share reports user
      bandmaster share reports tenant
      bandmaster share reports none
    """
    if lane is not None:
        check_lane(lane)
    wanted = None if kind is None or kind.lower() == NONE else check_kind(kind)
    with at_desk() as desk:
        if lane is not None and kind is not None:
            desk.controls.share(lane, wanted)
            if wanted is not None and (unused := desk.controls.unused_name(f"lane:{lane}")):
                note(unused)
        fair: dict[str, str | None] = {**desk.controls.fair_lanes()}
    found = fair if lane is None else {lane: fair.get(lane)}
    if as_json:
        say_json({"shares": [{"lane": name, "kind": by} for name, by in found.items()]})
    elif found:
        say_table([Column("LANE", folds=True), Column("FAIR BY")], [(name, by or NONE) for name, by in found.items()])
    else:
        say("no lane is fair")


def weight(
    gate: Annotated[
        str | None, typer.Argument(metavar="GATE", help="user:Y or any gate.", autocompletion=complete_gate)
    ] = None,
    given: Annotated[str | None, typer.Argument(metavar="N", help="Its weight; none: 1.")] = None,
    as_json: Json = False,
) -> None:
    """List the weights of gates in fair lanes, or change one.

    Of two users with work, that of twice the weight starts twice as often. It
    holds for what is accepted from now on.

    \b
    Examples:
      bandmaster weight
      bandmaster weight user:ann 10
      bandmaster weight user:ann none
    """
    if gate is not None:
        check_gate(gate)
    wanted = None if given is None else _read(given)
    with at_desk() as desk:
        if gate is not None and given is not None:
            desk.controls.weigh(gate, wanted)
            if wanted is not None and (unused := desk.controls.unused_name(gate)):
                note(unused)
        known = desk.controls.weights()
    found = known if gate is None else {gate: known.get(gate, UNWEIGHED)}
    if as_json:
        say_json({"weights": [{"gate": name, "weight": each} for name, each in found.items()]})
    elif found:
        columns = [Column("GATE", folds=True), Column("WEIGHT", right=True)]
        say_table(columns, [(name, str(each)) for name, each in found.items()])
    else:
        say("every gate has the weight 1")


def _read(given: str) -> int | None:
    if given.lower() == NONE:
        return None
    if not (given.isascii() and given.isdecimal() and len(given) <= _MOST_DIGITS):
        raise InvalidRequest("weight", f"{shown(given)} is not a weight", allowed=f"1 to {MOST_WEIGHT}, or none")
    check_weight(int(given))
    return int(given)
