"""``bandmaster pause``, ``resume`` and ``setting``: an operator's controls, which take effect at once everywhere.

In the flow: a thin layer around the desk; the script that admits executions reads the values on
each call. Each command may be repeated without harm.
"""

from typing import Annotated, Final

import typer

from bandmaster.cli.completing import complete_lane, complete_name, complete_setting
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.notes import note
from bandmaster.cli.occupancy import NO_LIMIT, named
from bandmaster.cli.screen import Json, say, say_facts, say_json
from bandmaster.scheduler.engine.controls import check_bound, check_pausable, check_unbounded, values_of
from bandmaster.scheduler.model.errors import InvalidRequest, shown
from bandmaster.scheduler.model.identifiers import check_lane
from bandmaster.scheduler.model.limits import EVERYTHING

DEFAULT: Final = "default"
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="action:X, user:Y, a gate, lane:NAME; none: everything.", autocompletion=complete_name
    ),
]


def pause(name: Name = EVERYTHING, as_json: Json = False) -> None:
    """Let nothing start.

    Nothing at all, or nothing of an action, a user, a gate or a lane.

    What runs goes on. What waits does not grow stale meanwhile.

    \b
    Examples:
      bandmaster pause
      bandmaster pause action:pod
      bandmaster pause lane:executions
    """
    check_pausable(name)
    with at_desk() as desk:
        changed = desk.controls.pause(name)
        unused = desk.controls.unused_name(name)
    if unused:
        note(unused)
    if as_json:
        say_json({"paused": name, "changed": changed})
    else:
        say(f"{named(name)} {'paused' if changed else 'was paused already'}")


def resume(name: Name = EVERYTHING, as_json: Json = False) -> None:
    """End a pause.

    \b
    Examples:
      bandmaster resume
      bandmaster resume action:pod
    """
    check_pausable(name)
    with at_desk() as desk:
        changed = desk.controls.resume(name)
        still = desk.controls.paused()
    if as_json:
        say_json({"resumed": name, "changed": changed, "paused": still})
    else:
        say(f"{named(name)} {'resumed' if changed else 'was not paused'}")
        if still:
            say(f"still paused: {', '.join(map(named, still))}")


def setting(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A runtime setting.", autocompletion=complete_setting)
    ] = None,
    value: Annotated[str | None, typer.Argument(metavar="VALUE", help="Its new value, default, or none.")] = None,
    lane: Annotated[
        str | None,
        typer.Option(
            *("--lane", "-l"), help="Of this lane: its bounds; none: of lane executions.", autocompletion=complete_lane
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the runtime settings, or change one everywhere at once.

    The bounds of a lane are its own; none are set but those of lane
    executions, which always have a value. max_concurrent is over everything.
    Where there may be no bound, none is the default.

    \b
    Examples:
      bandmaster setting
      bandmaster setting max_concurrent_executions 20
      bandmaster setting max_concurrent_executions default
      bandmaster setting max_queue_size 5000 --lane emails
      bandmaster setting max_queue_size none --lane emails
    """
    if lane is not None:
        check_lane(lane)
        if name is not None:
            check_bound(name)
    with at_desk() as desk:
        known = desk.controls.settings(lane)
        if name is not None and name not in known:
            raise InvalidRequest("setting", f"{shown(name)} is not a setting", allowed=", ".join(known))
        if name is not None and value is not None:
            desk.controls.change_setting(name, _wanted(value, name, lane), lane)
            known = desk.controls.settings(lane)
        unused = None if lane is None else desk.controls.unused_name(f"lane:{lane}")
    if unused:
        note(unused)
    figures = {one: figure for one, figure in known.items() if name in (None, one)}
    if as_json:
        say_json({"settings": {one: whole(figure) for one, figure in figures.items()}})
    else:
        say_facts((one, shown_value(figure)) for one, figure in figures.items())


def whole(value: float | None) -> int | None:
    """A setting's value for JSON."""
    return None if value is None else int(value)


def shown_value(value: float | None) -> str:
    """A setting's value for people."""
    return NO_LIMIT if value is None else str(int(value))


def _wanted(text: str, name: str, lane: str | None) -> int | None:
    """The value that was typed; None: the default, which is none where there may be none."""
    if text.lower() == NO_LIMIT:
        check_unbounded(name, lane)
        return None
    if text == DEFAULT:
        return None
    if text.isascii() and text.isdecimal() and len(text) <= 18:
        return int(text)
    raise InvalidRequest(name, f"{shown(text)} is not a whole number", allowed=f"{values_of(name)}, or default")
