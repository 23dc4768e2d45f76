"""``bandmaster pause``, ``resume``, ``limit`` and ``setting``: what an operator turns, with effect at once everywhere.

In the flow: thin around `ExecutionQueueService.controls`; admission reads what they write in the script that admits.
Repeating any of them does no harm.
"""

from typing import Annotated, Final

import typer

from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.opening import opened
from bandmaster.cli.screen import Column, say, say_facts, say_json, say_table
from bandmaster.cli.status import limits_of
from bandmaster.scheduler.controls import EVERYTHING, check_limited, check_pausable
from bandmaster.scheduler.errors import InvalidRequest, shown

NO_LIMIT: Final = "none"
DEFAULT: Final = "default"
OVER_EVERYTHING: Final = "max_concurrent_executions"
Name = Annotated[str, typer.Argument(metavar="NAME", help="action:X, user:Y, a gate, lane:NAME; none: everything.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


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
    with opened() as bandmaster:
        changed = bandmaster.queue.controls.pause(name)
    if as_json:
        say_json({"paused": name, "changed": changed})
    else:
        say(f"{_named(name)} {'paused' if changed else 'was paused already'}")


def resume(name: Name = EVERYTHING, as_json: Json = False) -> None:
    """End a pause.

    \b
    Examples:
      bandmaster resume
      bandmaster resume action:pod
    """
    check_pausable(name)
    with opened() as bandmaster:
        changed = bandmaster.queue.controls.resume(name)
        still = list(bandmaster.queue.controls.paused())
    if as_json:
        say_json({"resumed": name, "changed": changed, "paused": still})
    else:
        say(f"{_named(name)} {'resumed' if changed else 'was not paused'}")
        if still:
            say(f"still paused: {', '.join(map(_named, still))}")


def limit(
    gate: Annotated[str | None, typer.Argument(metavar="GATE", help="action:X, user:Y or any gate.")] = None,
    most: Annotated[str | None, typer.Argument(metavar="N", help="At most so many; none lifts it.")] = None,
    as_json: Json = False,
) -> None:
    """List the limits of gates, or change one.

    A lowered limit takes effect as running executions end. The limit over
    everything is the setting max_concurrent_executions.

    \b
    Examples:
      bandmaster limit
      bandmaster limit action:pod 4
      bandmaster limit tenant:42 none
      bandmaster setting max_concurrent_executions 20
    """
    if gate is not None:
        check_limited(gate)
    value = None if most is None else _limit(most)
    with opened() as bandmaster:
        controls = bandmaster.queue.controls
        if gate in bandmaster.queue.views.status().settings:
            raise WrongUsage(f"{gate} is not a gate but a setting: `bandmaster setting {gate} N`")
        if gate is not None and most is not None:
            controls.set_limit(gate, value)
        limits = limits_of(bandmaster)
    if gate is not None:
        limits = [each for each in limits if each["gate"] == gate] or [{"gate": gate, "limit": None, "held": None}]
    if as_json:
        say_json({"limits": limits})
    elif limits:
        say_table(
            [Column("GATE", folds=True), Column("LIMIT", right=True), Column("HELD", right=True)],
            [
                (
                    str(each["gate"]),
                    NO_LIMIT if each["limit"] is None else str(each["limit"]),
                    "" if each["held"] is None else str(each["held"]),
                )
                for each in limits
            ],
        )
    else:
        say(f"no gate is limited; over everything holds the setting {OVER_EVERYTHING}")


def setting(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A runtime setting.")] = None,
    value: Annotated[str | None, typer.Argument(metavar="VALUE", help="Its new value, or default.")] = None,
    as_json: Json = False,
) -> None:
    """List the runtime settings, or change one everywhere at once.

    \b
    Examples:
      bandmaster setting
      bandmaster setting max_concurrent_executions 20
      bandmaster setting max_concurrent_executions default
    """
    wanted = None if value is None or value == DEFAULT else _whole(value, name or "setting")
    with opened() as bandmaster:
        known = bandmaster.queue.views.status().settings
        if name is not None and name not in known:
            raise InvalidRequest("setting", f"{shown(name)} is not a setting", allowed=", ".join(known))
        if name is not None and value is not None:
            bandmaster.queue.controls.change_setting(name, wanted)
            known = bandmaster.queue.views.status().settings
    figures = {one: int(figure) for one, figure in known.items() if name in (None, one)}
    if as_json:
        say_json({"settings": figures})
    else:
        say_facts(figures.items())


def _named(name: str) -> str:
    return "everything" if name == EVERYTHING else name


def _limit(text: str) -> int | None:
    return None if text.lower() == NO_LIMIT else _whole(text, "limit")


def _whole(text: str, name: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= 18:
        return int(text)
    raise InvalidRequest(name, f"{shown(text)} is not a whole number", allowed="0 or more")
