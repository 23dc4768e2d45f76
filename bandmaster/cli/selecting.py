"""Selects executions by state, user and action, or all of a kind, and asks for confirmation before changing many.

In the flow: `list`, `cancel`, `priority` and `dead` use this. It reads page by page, so that showing the head of a long
queue does not read all of it. Ended executions are found in the journal, as far back as it reaches; all others in the
sets that the scripts maintain.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from bandmaster.cli.completing import GROUPS, complete_action, complete_state, complete_user
from bandmaster.cli.exits import CommandFailed, Exit, WrongUsage
from bandmaster.cli.screen import escaped
from bandmaster.scheduler.engine.record import Record, read_records
from bandmaster.scheduler.finding import EVERYTHING
from bandmaster.scheduler.model.errors import shown
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, State
from bandmaster.scheduler.queue import ExecutionQueueService

PAGE: Final = 200
JOURNAL_SEARCHED: Final = 20_000
"""How many of the latest transitions are searched for ended executions."""
AFTER_THE_END: Final = frozenset({"drop", "tell"})
"""Verbs of journal entries about executions that had ended before: their time, and perhaps their reason, differs."""

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
class Wanted:
    """The filters of a selection; None: no filter."""

    states: frozenset[State] | None
    user_id: str | None
    action: str | None

    def fits(self, record: Record) -> bool:
        """Whether an execution passes the filters."""
        return (
            (self.states is None or record.state in self.states)
            and (self.user_id is None or record.user_id == self.user_id)
            and (self.action is None or record.action == self.action)
        )


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


def all_meant(queue: ExecutionQueueService, filters: Filters, groups: Sequence[str]) -> list[Record]:
    """Every execution of these groups that passes the filters, in the order of `list`.

    Raises:
        WrongUsage: If executions of these groups cannot be in any of the typed states.
    """
    _, states = read_states(list(filters.states))
    possible = frozenset[State]().union(*(_STATES[group] for group in groups))
    if states is not None and not states & possible:
        raise WrongUsage(f"--state: only what is {' or '.join(groups)} can be meant here")
    wanted = Wanted(states, filters.user_id, filters.action)
    return [record for group in groups for record in selected(queue, group, wanted)]


def ask_first(what: str, records: Sequence[Record], *, yes: bool) -> None:
    """Ask for confirmation with the number of executions, on standard error.

    Raises:
        WrongUsage: If standard input is no terminal, so that nobody can be asked.
        CommandFailed: If the answer is no.
    """
    if yes or not records:
        return
    counted = ", ".join(f"{count} {state}" for state, count in Counter(each.state.value for each in records).items())
    question = f"{what} {len(records)} execution{'' if len(records) == 1 else 's'} ({counted})?"
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
            states |= _STATES[one.lower()]
        elif one.upper() in State.__members__:
            states.add(State[one.upper()])
            groups |= {group for group in GROUPS if group != "dead" and State[one.upper()] in _STATES[group]}
        else:
            allowed = ", ".join(dict.fromkeys([*GROUPS, *(name.lower() for name in State.__members__)]))
            raise WrongUsage(f"--state: {shown(one)} is not a state; allowed: {allowed}")
    return [group for group in GROUPS if group in groups], frozenset(states)


def selected(queue: ExecutionQueueService, group: str, wanted: Wanted) -> Iterator[Record]:
    """The executions of a group that pass the filters."""
    return filter(wanted.fits, _READERS[group](queue))


def _running(queue: ExecutionQueueService) -> Iterator[Record]:
    records = read_records(queue.views, queue.overview.active()).values()
    yield from sorted(records, key=lambda record: record.granted_ms or 0)


def _waiting(queue: ExecutionQueueService) -> Iterator[Record]:
    for position, record in enumerate(_paged(queue, queue.overview.pending(EVERYTHING))):
        yield replace(record, position=position)


def _scheduled(queue: ExecutionQueueService) -> Iterator[Record]:
    return _paged(queue, queue.views.scheduled(EVERYTHING))


def _dead(queue: ExecutionQueueService) -> Iterator[Record]:
    return _paged(queue, queue.views.dead(EVERYTHING))


def _ended(queue: ExecutionQueueService) -> Iterator[Record]:
    """Ended executions, the latest first; fields that their record lacks by now come from the journal."""
    seen: set[str] = set()
    for entry in queue.journal.entries(newest_first=True, limit=JOURNAL_SEARCHED):
        is_end = entry.fields.get("state") in TERMINAL and entry.verb not in AFTER_THE_END
        if is_end and entry.execution_id not in seen:
            seen.add(entry.execution_id)
            told = entry.fields | {"ended_at": str(entry.at_ms)}
            yield Record.from_meta(entry.execution_id, told | queue.views.meta(entry.execution_id))


def _paged(queue: ExecutionQueueService, execution_ids: list[str]) -> Iterator[Record]:
    for start in range(0, len(execution_ids), PAGE):
        yield from read_records(queue.views, execution_ids[start : start + PAGE]).values()


_READERS: Final[dict[str, Callable[[ExecutionQueueService], Iterator[Record]]]] = {
    "running": _running,
    "waiting": _waiting,
    "scheduled": _scheduled,
    "ended": _ended,
    "dead": _dead,
}
_STATES: Final[dict[str, frozenset[State]]] = {
    "running": HOLDING,
    "waiting": frozenset({State.PENDING}),
    "scheduled": frozenset({State.SCHEDULED}),
    "ended": TERMINAL,
    "dead": TERMINAL,
}
