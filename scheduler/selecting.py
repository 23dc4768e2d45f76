"""Selects executions by state, user and action, group by group.

In the flow: `list`, `cancel`, `priority` and `dead` of the command line use this, and the API's list of what lives and
its changes of many. It reads page by page, as far as somebody asks, so that showing the head of a long queue does not
read all of it; of dead letters, whose number is bounded, the ids are read at once. Ended executions are found in the
journal, as far back as it reaches; all others in the sets that the scripts maintain.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Final

from .engine.record import Record, read_records
from .model.priority import Priority
from .model.states import HOLDING, TERMINAL, State
from .queue import ExecutionQueueService

PAGE: Final = 200
JOURNAL_SEARCHED: Final = 20_000
"""How many of the latest transitions are searched for ended executions."""
AFTER_THE_END: Final = frozenset({"drop", "tell"})
"""Verbs of journal entries about executions that had ended before: their time, and perhaps their reason, differs."""

STATES_OF: Final[Mapping[str, frozenset[State]]] = MappingProxyType(
    {
        "running": HOLDING,
        "waiting": frozenset({State.PENDING}),
        "scheduled": frozenset({State.SCHEDULED}),
        "ended": TERMINAL,
        "dead": TERMINAL,
    }
)
"""Group → the states in which its executions can be."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of a selection; None: no filter."""

    states: frozenset[State] | None
    user_id: str | None
    action: str | None
    priorities: frozenset[Priority] | None = None
    lane: str | None = None
    gate: str | None = None
    """One that its sender named."""

    def fits(self, record: Record) -> bool:
        """Whether an execution passes the filters."""
        return (
            (self.states is None or record.state in self.states)
            and (self.user_id is None or record.user_id == self.user_id)
            and (self.action is None or record.action == self.action)
            and (self.priorities is None or record.priority in {each.name for each in self.priorities})
            and (self.lane is None or record.lane == self.lane)
            and (self.gate is None or self.gate in record.gates)
        )


ANY: Final = Wanted(states=None, user_id=None, action=None)


def selected(queue: ExecutionQueueService, group: str, wanted: Wanted) -> Iterator[Record]:
    """The executions of a group that pass the filters."""
    return filter(wanted.fits, _READERS[group](queue))


def _running(queue: ExecutionQueueService) -> Iterator[Record]:
    records = read_records(queue.views, queue.ids.active()).values()
    yield from sorted(records, key=lambda record: record.granted_ms or 0)


def _waiting(queue: ExecutionQueueService) -> Iterator[Record]:
    for position, record in enumerate(_paged(queue, queue.ids.waiting())):
        yield replace(record, position=position)


def _scheduled(queue: ExecutionQueueService) -> Iterator[Record]:
    return _paged(queue, queue.ids.scheduled())


def _dead(queue: ExecutionQueueService) -> Iterator[Record]:
    return _paged(queue, queue.views.dead(0))


def _ended(queue: ExecutionQueueService) -> Iterator[Record]:
    """Ended executions, the latest first; fields that their record lacks by now come from the journal."""
    seen: set[str] = set()
    for entry in queue.journal.entries(newest_first=True, limit=JOURNAL_SEARCHED):
        is_end = entry.fields.get("state") in TERMINAL and entry.verb not in AFTER_THE_END
        if is_end and entry.execution_id not in seen:
            seen.add(entry.execution_id)
            told = entry.fields | {"ended_at": str(entry.at_ms)}
            yield Record.from_meta(entry.execution_id, told | queue.views.meta(entry.execution_id))


def _paged(queue: ExecutionQueueService, execution_ids: Iterable[str]) -> Iterator[Record]:
    # One that is moved meanwhile comes a second time.
    seen: set[str] = set()
    left = iter(execution_ids)
    while page := list(islice(left, PAGE)):
        yield from read_records(queue.views, [each for each in page if each not in seen]).values()
        seen.update(page)


_READERS: Final[dict[str, Callable[[ExecutionQueueService], Iterator[Record]]]] = {
    "running": _running,
    "waiting": _waiting,
    "scheduled": _scheduled,
    "ended": _ended,
    "dead": _dead,
}
