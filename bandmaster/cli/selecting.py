"""The filters that commands on many executions take, and the question before they are changed.

In the flow: `cancel`, `priority` and `dead` use this; `list` takes the states from here. The desk finds the
executions.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from bandmaster.cli.completing import GROUPS, complete_action, complete_state, complete_user
from bandmaster.cli.desk.port import Executions
from bandmaster.cli.exits import CommandFailed, Exit, WrongUsage
from bandmaster.cli.notes import escaped
from bandmaster.scheduler.engine.record import Record
from bandmaster.scheduler.model.errors import shown
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.selecting import STATES_OF, Wanted

User = Annotated[str | None, typer.Option("--user", "-u", help="All of this user.", autocompletion=complete_user)]
Action = Annotated[str | None, typer.Option(help="All of this action.", autocompletion=complete_action)]
States = Annotated[
    list[str] | None,
    typer.Option(
        *("--state", "-s"), metavar="STATE", help="All in this state; repeatable.", autocompletion=complete_state
    ),
]
All = Annotated[bool, typer.Option("--all", help="All there are.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters that were typed for a command on many executions."""

    user_id: str | None = None
    action: str | None = None
    states: tuple[str, ...] = ()
    everything: bool = False

    @property
    def typed(self) -> bool:
        """Whether any filter was typed."""
        return self.everything or bool(self.user_id or self.action or self.states)


def check_meant(ids: Sequence[str], filters: Filters) -> None:
    """Refuse a command that names nothing, or both ids and filters, before anything is opened.

    Raises:
        WrongUsage: If so; says what to name.
    """
    if ids and filters.typed:
        raise WrongUsage("ids and filters exclude each other: name executions, or use --user, --action, --state")
    if filters.everything and (filters.user_id or filters.action or filters.states):
        raise WrongUsage("--all means all: leave it out to filter with --user, --action or --state")
    if not ids and not filters.typed:
        raise WrongUsage("nothing is named: give ids, or --user, --action, --state or --all")
    read_states(list(filters.states))


def all_meant(executions: Executions, filters: Filters, groups: Sequence[str]) -> list[Record]:
    """Every execution of these groups that passes the filters, in the order of `list`.

    Raises:
        WrongUsage: If executions of these groups cannot be in any of the typed states.
    """
    _, states = read_states(list(filters.states))
    possible = frozenset[State]().union(*(STATES_OF[group] for group in groups))
    if states is not None and not states & possible:
        raise WrongUsage(f"--state: only what is {' or '.join(groups)} can be meant here")
    wanted = Wanted(states, filters.user_id, filters.action)
    return [record for group in groups for record in executions.every(group, wanted)]


def ask_first(what: str, records: Sequence[Record], *, yes: bool) -> None:
    """Ask for confirmation with the number of executions, on standard error.

    Raises:
        WrongUsage: If standard input is no terminal, so that nobody can be asked.
        CommandFailed: If the answer is no.
    """
    if yes or not records:
        return
    counted = ", ".join(f"{count} {state}" for state, count in Counter(each.state.value for each in records).items())
    confirm(f"{what} {len(records)} execution{'' if len(records) == 1 else 's'} ({counted})?")


def confirm(question: str) -> None:
    """Ask for confirmation, on standard error.

    Raises:
        WrongUsage: If standard input is no terminal, so that nobody can be asked.
        CommandFailed: If the answer is no.
    """
    if not sys.stdin.isatty():
        raise WrongUsage(f"this would {question.rstrip('?')}, and nobody can be asked: add --yes")
    if not typer.confirm(escaped(question), err=True):
        raise CommandFailed("nothing was done", Exit.FAILED)


def read_states(typed: list[str]) -> tuple[list[str], frozenset[State] | None]:
    """The groups to read and the states to keep, from the typed names; without any: all groups but `dead`.

    Raises:
        WrongUsage: If a name is neither a group nor a state.
    """
    if not typed:
        return [group for group in GROUPS if group != "dead"], None
    groups: set[str] = set()
    states: set[State] = set()
    for one in typed:
        if one.lower() in GROUPS:
            groups.add(one.lower())
            states |= STATES_OF[one.lower()]
        elif one.upper() in State.__members__:
            states.add(State[one.upper()])
            groups |= {group for group in GROUPS if group != "dead" and State[one.upper()] in STATES_OF[group]}
        else:
            allowed = ", ".join(dict.fromkeys([*GROUPS, *(name.lower() for name in State.__members__)]))
            raise WrongUsage(f"--state: {shown(one)} is not a state; allowed: {allowed}")
    return [group for group in GROUPS if group in groups], frozenset(states)
