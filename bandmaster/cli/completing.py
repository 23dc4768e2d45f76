"""What a shell completes beside commands and options: states, priorities, settings and ids.

In the flow: the shell runs the command with what was typed so far; Typer calls these. Whatever goes wrong completes
nothing: a message would be written into somebody's line.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, Final

import typer

from bandmaster.cli.exits import EXPECTED
from bandmaster.cli.finding import known_ids
from bandmaster.cli.opening import Opened, opened
from bandmaster.scheduler.priority import Priority
from bandmaster.scheduler.states import State

COMPLETED_IDS: Final = 100
GROUPS: Final = ("running", "waiting", "scheduled", "ended", "dead")


def complete_state(incomplete: str) -> list[str]:
    """Groups of states, and states."""
    return _begin(incomplete, dict.fromkeys([*GROUPS, *(name.lower() for name in State.__members__)]))


def complete_priority(incomplete: str) -> list[str]:
    """Priorities."""
    return _begin(incomplete, (name.lower() for name in Priority.__members__))


def complete_id(incomplete: str) -> list[str]:
    """Ids of executions."""
    return _asked(lambda bandmaster: _begin(incomplete, known_ids(bandmaster.queue)))


def complete_dead(incomplete: str) -> list[str]:
    """Ids of dead letters."""
    return _asked(lambda bandmaster: _begin(incomplete, bandmaster.queue.views.dead(COMPLETED_IDS)))


def complete_gate(incomplete: str) -> list[str]:
    """Gates that are limited or paused."""
    return _asked(lambda bandmaster: _begin(incomplete, (each.gate for each in bandmaster.queue.overview.gates())))


def complete_setting(incomplete: str) -> list[str]:
    """Runtime settings."""
    return _asked(lambda bandmaster: _begin(incomplete, bandmaster.queue.views.status().settings))


def _begin(incomplete: str, known: Iterable[str]) -> list[str]:
    found = (one for one in known if one.startswith(incomplete))
    return list(dict.fromkeys(islice(found, COMPLETED_IDS)))


def _asked(read: Callable[[Opened], list[str]]) -> list[str]:
    try:
        with opened(wait_seconds=0) as bandmaster:
            return read(bandmaster)
    except EXPECTED:
        return []


Id = Annotated[
    str, typer.Argument(metavar="ID", help="An execution, or the beginning of its id.", autocompletion=complete_id)
]
"""The argument of a command that is about one execution."""
