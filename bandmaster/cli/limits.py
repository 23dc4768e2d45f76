"""``bandmaster limit``: sets how many executions may hold a gate, or each gate of a kind, at once; also from a file.

In the flow: a thin layer around the desk. A file is read and checked completely before any
limit is set; each limit is set separately, and the same file can be applied again.
"""

import tomllib
from typing import Annotated, Final

import typer

from bandmaster.cli.completing import complete_gate
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.port import Controls
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.notes import note
from bandmaster.cli.occupancy import NO_LIMIT, limit_json, limit_of, note_of
from bandmaster.cli.screen import LISTED_AT_MOST, Column, Json, say, say_json, say_table
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.errors import InvalidRequest, shown
from bandmaster.scheduler.model.limits import check_limit, check_limit_of, check_limited

OVER_EVERYTHING: Final = "max_concurrent"
Limits = dict[str, int | Auto | None]
"""Limits by gate or kind; None lifts a limit."""


def limit(
    gate: Annotated[
        str | None,
        typer.Argument(metavar="GATE", help="action:X, user:Y, any gate, or KIND:*.", autocompletion=complete_gate),
    ] = None,
    most: Annotated[
        str | None, typer.Argument(metavar="N", help="At most so many, or auto(LEAST,MOST); none lifts it.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="TOML", help='Set all of a file: "tenant:*" = 2')
    ] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=LISTED_AT_MOST, help="List at most so many.")] = 50,
    as_json: Json = False,
) -> None:
    """List the limits of gates, or change one.

    A limit of 'tenant:*' holds for every gate tenant:… without one of its
    own. What actors declare holds where no limit was set here.

    A limit auto(2,50) adjusts itself: one more while the gate is full and all
    goes well, less as executions fail or take longer than usual.

    A lowered limit takes effect as running executions end. The limit over
    everything is the setting max_concurrent, that of a lane its setting
    max_concurrent_executions.

    \b
    Examples:
      bandmaster limit
      bandmaster limit action:pod 4
      bandmaster limit 'tenant:*' 2
      bandmaster limit tenant:42 none
      bandmaster limit action:resize 'auto(2,50)'
      bandmaster limit --file limits.toml
      bandmaster setting max_concurrent 20
    """
    if file is not None and gate is not None:
        raise WrongUsage("--file sets what the file lists: give no gate beside it")
    wanted = read_limits(file) if file is not None else _typed(gate, most)
    with at_desk() as desk:
        if gate in desk.controls.settings(None):
            raise WrongUsage(f"{gate} is not a gate but a setting: `bandmaster setting {gate} N`")
        for name, value in wanted.items():
            desk.controls.set_limit(name, value)
        _note_unused(desk.controls, wanted)
        asked = [gate] if gate is not None else list(wanted)
        loads = desk.controls.limited(asked or None)
    if as_json:
        say_json({"limits": [limit_json(each) for each in loads]})
    elif loads:
        say_table(
            [
                *(Column("GATE", folds=True), Column("LIMIT", right=True)),
                *(Column("HELD", right=True), Column("", drops=True)),
            ],
            [
                (
                    *(each.gate, limit_of(each)),
                    *("" if each.held is None else str(each.held), note_of(each)),
                )
                for each in loads[:lines]
            ],
        )
        if len(loads) > lines:
            note(f"there are {len(loads) - lines} more; see --lines, and `bandmaster gates`")
    else:
        say(f"no gate is limited; over everything holds the setting {OVER_EVERYTHING}")


def read_limits(path: str) -> Limits:
    """Read the limits of a TOML file, one a line: ``"tenant:*" = 2``, ``"auto(2,50)"`` or ``"none"``.

    Raises:
        WrongUsage: If the file cannot be read, or is no TOML.
        InvalidRequest: If a name or a limit in it is not allowed.
    """
    try:
        with open(path, "rb") as source:
            listed = tomllib.load(source)
    except OSError as error:
        raise WrongUsage(f"{shown(path)} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise WrongUsage(f'{shown(path)} is no TOML: {error}; a line is like "tenant:*" = 2, with the quotes') from None
    limits: Limits = {}
    for gate, value in listed.items():
        limit = None if value == NO_LIMIT else _adjusting(value) or value
        if limit is not None and not isinstance(limit, Auto):
            check_limit(shown(gate), limit)
        limits[check_limited(gate)] = limit
        if limit is not None:
            check_limit_of(gate, limit)
    return limits


def _typed(gate: str | None, most: str | None) -> Limits:
    if gate is None:
        return {}
    check_limited(gate)
    if most is None:
        return {}
    if most.lower() == NO_LIMIT:
        return {gate: None}
    if (auto := _adjusting(most)) is not None:
        check_limit_of(gate, auto)
        return {gate: auto}
    if not (most.isascii() and most.isdecimal() and len(most) <= 18):
        raise InvalidRequest(
            "limit", f"{shown(most)} is not a whole number", allowed="0 or more, auto(LEAST,MOST), or none"
        )
    check_limit("limit", int(most))
    return {gate: int(most)}


def _adjusting(given: object) -> Auto | None:
    """A limit that adjusts itself; None: another one."""
    return Auto.read(given) if isinstance(given, str) and given.startswith("auto") else None


def _note_unused(controls: Controls, wanted: Limits) -> None:
    """Warn of an unused name if only one limit was set: a file with several may well name gates of the future."""
    for name, value in wanted.items() if len(wanted) == 1 else ():
        if value is not None and (unused := controls.unused_name(name)):
            note(unused)
