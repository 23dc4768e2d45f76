"""Shell completion of arguments: states, priorities, settings, ids, and names of all kinds.

In the flow: the shell runs the command with the line typed so far; Typer calls these functions. On any error they
complete nothing, since a message would be written into the user's line.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, Final

import typer

from bandmaster.cli.address import url_of
from bandmaster.cli.expected import EXPECTED
from bandmaster.cli.naming import used_names
from bandmaster.cli.opening import Opened, opened_on
from bandmaster.configs.settings import load_settings
from bandmaster.scheduler.finding import known_ids
from bandmaster.scheduler.model.limits import EVERYTHING
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import connect

COMPLETED_IDS: Final = 100
GROUPS: Final = ("running", "waiting", "scheduled", "ended", "dead")


def complete_state(incomplete: str) -> list[str]:
    """Complete groups of states, and states."""
    return _begin(incomplete, dict.fromkeys([*GROUPS, *(name.lower() for name in State.__members__)]))


def complete_priority(incomplete: str) -> list[str]:
    """Complete priorities."""
    return _begin(incomplete, (name.lower() for name in Priority.__members__))


def complete_id(incomplete: str) -> list[str]:
    """Complete ids of executions."""
    return _asked(lambda bandmaster: _begin(incomplete, known_ids(bandmaster.queue)))


def complete_dead(incomplete: str) -> list[str]:
    """Complete ids of dead letters."""
    return _asked(lambda bandmaster: _begin(incomplete, bandmaster.queue.views.dead(COMPLETED_IDS)))


def complete_name(incomplete: str) -> list[str]:
    """Complete names that can be paused: gates, actions, users, lanes."""
    return _asked(lambda bandmaster: _begin(incomplete, sorted(_known_names(bandmaster.queue))))


def complete_gate(incomplete: str) -> list[str]:
    """Complete names that can be limited: gates, actions, users, and kinds."""
    return [name for name in complete_name(incomplete) if not name.startswith("lane:")]


def complete_schedule(incomplete: str) -> list[str]:
    """Complete names of schedules."""
    return _asked(lambda bandmaster: _begin(incomplete, bandmaster.queue.schedules.names()))


def complete_lane(incomplete: str) -> list[str]:
    """Complete lanes."""
    return _named("lane:", incomplete)


def complete_action(incomplete: str) -> list[str]:
    """Complete actions."""
    return _named("action:", incomplete)


def complete_user(incomplete: str) -> list[str]:
    """Complete users."""
    return _named("user:", incomplete)


def complete_setting(incomplete: str) -> list[str]:
    """Complete runtime settings."""
    return _asked(lambda bandmaster: _begin(incomplete, bandmaster.queue.views.status().settings))


def _begin(incomplete: str, known: Iterable[str]) -> list[str]:
    found = (one for one in known if one.startswith(incomplete))
    return list(dict.fromkeys(islice(found, COMPLETED_IDS)))


def _known_names(queue: ExecutionQueueService) -> set[str]:
    """Names that were used, and names that are limited or paused."""
    return (used_names(queue) | {each.gate for each in queue.gates.all()}) - {EVERYTHING}


def _named(kind: str, incomplete: str) -> list[str]:
    names = (name.removeprefix(kind) for name in complete_name(kind + incomplete))
    return [name for name in names if name != "*"]


def _asked(read: Callable[[Opened], list[str]]) -> list[str]:
    try:
        # Without logs and without waiting for the server: nothing may be printed here, and the user waits.
        settings = load_settings()
        if url_of(settings) is not None:
            # Of another queue than the one that is meant, nothing is completed.
            return []
        with connect(settings, wait_seconds=0, name="bandmaster-cli") as client:
            return read(opened_on(settings, client))
    except EXPECTED:
        return []


Id = Annotated[
    str, typer.Argument(metavar="ID", help="An execution, or the beginning of its id.", autocompletion=complete_id)
]
"""The argument of commands about one execution."""
