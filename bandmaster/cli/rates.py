"""``bandmaster rate``: sets how many executions may pass a gate, or each gate of a kind, in a time.

In the flow: a thin layer around the desk. How many may hold a gate at once is `bandmaster limit`.
"""

from typing import Annotated, Final

import typer

from bandmaster.cli.completing import complete_gate
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.notes import note
from bandmaster.cli.screen import LISTED_AT_MOST, Column, Json, say, say_json, say_table
from bandmaster.scheduler.engine.rate_controls import RateInForce
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.limits import check_limited
from bandmaster.scheduler.model.rates import Rate

NO_RATE: Final = "none"


def rate(
    gate: Annotated[
        str | None,
        typer.Argument(metavar="GATE", help="action:X, user:Y, any gate, or KIND:*.", autocompletion=complete_gate),
    ] = None,
    given: Annotated[
        str | None, typer.Argument(metavar="RATE", help="N/TIME, like 100/m or '5/s burst 10'; none lifts it.")
    ] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=LISTED_AT_MOST, help="List at most so many.")] = 50,
    as_json: Json = False,
) -> None:
    """List the rates of gates, or change one.

    At most BURST + T / INTERVAL executions start in any time T: with 100/m, one
    each 600 ms; with '100/m burst 5', up to five of them at once. Each start
    counts, retries too.

    A rate of 'tenant:*' holds for every gate tenant:… without one of its own.
    What actors declare holds where no rate was set here.

    \b
    Examples:
      bandmaster rate
      bandmaster rate tenant:a 100/m
      bandmaster rate 'tenant:*' '5/s burst 10'
      bandmaster rate action:mail 1/10s
      bandmaster rate tenant:a none
    """
    if gate is not None:
        check_limited(gate)
    wanted = None if given is None else _read(given)
    with at_desk() as desk:
        if gate is None:
            found: dict[str, RateInForce | None] = {**desk.controls.rates()}
        else:
            if gate in desk.controls.settings(None):
                raise WrongUsage(f"{gate} is not a gate but a setting: `bandmaster setting {gate} N`")
            if given is not None:
                desk.controls.set_rate(gate, wanted)
            if wanted is not None and (unused := desk.controls.unused_name(gate)):
                note(unused)
            found = {gate: desk.controls.rate_of(gate)}
    if as_json:
        say_json({"rates": [_json(name, held) for name, held in found.items()]})
    elif found:
        say_table(
            [Column("GATE", folds=True), Column("RATE"), Column("", drops=True)],
            [(name, NO_RATE if held is None else str(held.rate), _note(name, held)) for name, held in found.items()][
                :lines
            ],
        )
        if len(found) > lines:
            note(f"there are {len(found) - lines} more; see --lines")
    else:
        say("no gate has a rate")


def _read(given: str) -> Rate | None:
    if given.lower() == NO_RATE:
        return None
    try:
        return Rate.read(given)
    except InvalidRequest as error:
        raise InvalidRequest(error.field, error.problem, allowed=f"{error.allowed}; or none") from None


def _json(name: str, held: RateInForce | None) -> dict[str, object]:
    return {
        "gate": name,
        "rate": None if held is None else str(held.rate),
        "rated_by": None if held is None else held.name,
        "declared": held is not None and held.is_declared,
    }


def _note(name: str, held: RateInForce | None) -> str:
    if held is None:
        return ""
    source = f"by {held.name}" if held.name != name else ""
    return ", ".join(filter(None, [source, "declared" if held.is_declared else ""]))
