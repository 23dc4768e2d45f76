"""``bandmaster list``: what runs, what waits in the order in which it will start, what is scheduled, what has ended.

In the flow: reads only, page by page, so that a long queue is not read whole to show its head. What has ended is found
in the journal, as far back as it reaches; the rest in the sets that the scripts keep.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Final

import typer

from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.finding import EVERYTHING
from bandmaster.cli.opening import opened
from bandmaster.cli.records import Record, read_records
from bandmaster.cli.screen import Column, note, say, say_json, say_table
from bandmaster.scheduler.errors import shown
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.states import HOLDING, TERMINAL, State

PAGE: Final = 200
JOURNAL_SEARCHED: Final = 20_000
"""So many of the latest transitions are searched for what has ended."""

ENDED_UNASKED: Final = 5
"""So many that ended are shown at the end of an unfiltered list."""

GROUPS: Final = ("running", "waiting", "scheduled", "ended", "dead")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which executions are asked for; None: all."""

    states: frozenset[State] | None
    user_id: str | None
    action: str | None

    def fits(self, record: Record) -> bool:
        """Whether an execution is one of them."""
        return (
            (self.states is None or record.state in self.states)
            and (self.user_id is None or record.user_id == self.user_id)
            and (self.action is None or record.action == self.action)
        )


def list_executions(
    state: Annotated[
        list[str] | None,
        typer.Option("--state", "-s", metavar="STATE", help=f"{', '.join(GROUPS)}, or a state's name; repeatable."),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Only this user's.")] = None,
    action: Annotated[str | None, typer.Option(help="Only of this action.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many of each kind.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List what runs, waits (in order), is scheduled, and has ended.

    \b
    Examples:
      bandmaster list
      bandmaster list --state waiting --user ann --limit 100
      bandmaster list --state failed --json
    """
    groups, states = read_states(state or [])
    wanted = Wanted(states, user, action)
    with opened() as bandmaster:
        queue = bandmaster.queue
        records: list[Record] = []
        cut: list[str] = []
        for group in groups:
            most = min(limit, ENDED_UNASKED) if group == "ended" and not state else limit
            found = list(islice(filter(wanted.fits, _READERS[group](queue)), most + 1))
            records += found[:most]
            if len(found) > most:
                cut.append(group)
        now_ms = queue.views.server_time_ms()
    if as_json:
        say_json({"executions": [record.as_json() for record in records], "more": cut})
        return
    if not records:
        say("nothing")
        return
    say_records(records, now_ms)
    if cut:
        note(f"there is more: {', '.join(cut)}; see --state and --limit")


def read_states(typed: list[str]) -> tuple[list[str], frozenset[State] | None]:
    """The groups to read and the states to keep, of what was typed; none: all groups but `dead`.

    Raises:
        WrongUsage: If one is neither a group nor a state.
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


def say_records(records: Sequence[Record], now_ms: int) -> None:
    """A table of executions."""
    columns = [
        *(Column("EXECUTION", folds=True), Column("STATE"), Column("PRIORITY"), Column("TIME", right=True)),
        *(Column("USER", gives=True, drops=True), Column("ACTION", gives=True, drops=True)),
    ]
    rows = [
        [
            record.execution_id,
            record.state,
            record.priority.lower(),
            record.took(now_ms),
            record.user_id or "",
            record.action,
        ]
        for record in records
    ]
    if any(record.position is not None for record in records):
        columns.insert(0, Column("#", right=True))
        for row, record in zip(rows, records, strict=True):
            row.insert(0, "" if record.position is None else str(record.position))
    say_table(columns, rows)


def _running(queue: ExecutionQueueService) -> Iterator[Record]:
    records = read_records(queue, queue.views.active()).values()
    yield from sorted(records, key=lambda record: record.granted_ms or 0)


def _waiting(queue: ExecutionQueueService) -> Iterator[Record]:
    for position, record in enumerate(_paged(queue, queue.views.pending(EVERYTHING))):
        yield replace(record, position=position)


def _scheduled(queue: ExecutionQueueService) -> Iterator[Record]:
    return _paged(queue, queue.views.scheduled(EVERYTHING))


def _dead(queue: ExecutionQueueService) -> Iterator[Record]:
    return _paged(queue, queue.views.dead(EVERYTHING))


def _ended(queue: ExecutionQueueService) -> Iterator[Record]:
    """What has ended, the latest first; where the record is gone already, as the journal tells it."""
    seen: set[str] = set()
    for entry in queue.views.journal(newest_first=True, limit=JOURNAL_SEARCHED):
        if entry.fields.get("state") in TERMINAL and entry.execution_id not in seen:
            seen.add(entry.execution_id)
            told = entry.fields | {"ended_at": str(entry.at_ms)}
            yield Record.from_meta(entry.execution_id, queue.views.meta(entry.execution_id) or told)


def _paged(queue: ExecutionQueueService, execution_ids: list[str]) -> Iterator[Record]:
    for start in range(0, len(execution_ids), PAGE):
        yield from read_records(queue, execution_ids[start : start + PAGE]).values()


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
