"""``Desk``: all that commands ask of the queue and do to it.

In the flow: commands know these protocols and no more; one set stands beside Redis, another goes through the API.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from bandmaster.cli.desk.told import Letter, Listed, Moved, NextTimes, Read, Refusal, Shown, Standing, WaitSums
from bandmaster.middleware.operations.dead_letters import Again
from bandmaster.scheduler.engine.controls import Dropped
from bandmaster.scheduler.engine.grants import Cancellation, Parked
from bandmaster.scheduler.engine.journal import Change
from bandmaster.scheduler.engine.rate_controls import RateInForce
from bandmaster.scheduler.engine.record import Record, Result
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.overview import ActionLoad, LaneLoad
from bandmaster.scheduler.selecting import Wanted
from bandmaster.scheduler.workers import WorkerSigned

if TYPE_CHECKING:
    from bandmaster.admin.answers.schedules import ScheduleAnswer


class Executions(Protocol):
    """Executions: found, listed, shown, sent and changed."""

    reads_a_second: float
    """How many records may be read a second while somebody waits for them."""

    def now_ms(self) -> int:
        """The time of the server's clock."""
        ...

    def find(self, typed: str) -> str:
        """The id that was meant, by itself or by its beginning; raises UnknownExecution or AmbiguousExecution."""
        ...

    def listed(self, group: str, wanted: Wanted, most: int) -> Listed:
        """The first executions of a group that pass the filters."""
        ...

    def every(self, group: str, wanted: Wanted) -> list[Record]:
        """All of them; raises WrongUsage if there are more than can be had."""
        ...

    def shown(self, execution_id: str) -> Shown:
        """All that is told of one; raises UnknownExecution."""
        ...

    def records(self, execution_ids: Sequence[str]) -> dict[str, Record]:
        """The records of those that are known, in order."""
        ...

    def result(self, execution_id: str) -> Result | None:
        """Its stored result."""
        ...

    def pod_waits_for(self, record: Record) -> str:
        """What its pod waits for, in the backend's words; empty: nothing, or it is not known."""
        ...

    def submit(self, events: Sequence[ExecutionRequestedEvent]) -> Iterator[Parked | Refusal]:
        """Send each on its own; one outcome for each, in order, as they come."""
        ...

    def cancel(self, execution_id: str, reason: str) -> Cancellation:
        """End one that waits; ask one that runs to end."""
        ...

    def move(self, execution_id: str, band: Priority) -> Moved:
        """Move one that waits to another priority."""
        ...


class Figures(Protocol):
    """Counts of everything."""

    def standing(self) -> Standing:
        """The queue at a glance."""
        ...

    def missing_worker(self, lane: str) -> str | None:
        """A warning if no worker has lately asked for a lane, as far as that is known; else None."""
        ...

    def gates(self) -> list[GateLoad]:
        """Gates, the most blocked first."""
        ...

    def lanes(self) -> list[LaneLoad]:
        """Lanes, by name."""
        ...

    def workers(self) -> list[WorkerSigned]:
        """Worker processes that live, those that began first before the others."""
        ...

    def actions(self) -> list[ActionLoad]:
        """Actions, the least used first."""
        ...

    def waited(self, by: str, since_ms: int) -> WaitSums:
        """What was waited for since some hour; raises HistoryUnavailable if no ledger answers."""
        ...


class ShardFigures(Figures, Protocol):
    """Those of one of several servers."""

    def answer(self) -> None:
        """Return when the server has answered; raises QueueUnavailable."""
        ...


class Controls(Protocol):
    """An operator's controls, which take effect at once everywhere."""

    def pause(self, name: str) -> bool:
        """Begin a pause; whether there was none."""
        ...

    def resume(self, name: str) -> bool:
        """End a pause; whether there was one."""
        ...

    def paused(self) -> list[str]:
        """All names that are paused."""
        ...

    def settings(self, lane: str | None) -> dict[str, float | None]:
        """All runtime settings; of a lane, its bounds."""
        ...

    def change_setting(self, name: str, value: int | None, lane: str | None) -> None:
        """Change one, whatever it is; None: its default."""
        ...

    def limited(self, gates: list[str] | None) -> list[GateLoad]:
        """These gates with the limits that hold for them; None: all that are limited."""
        ...

    def set_limit(self, gate: str, limit: int | Auto | None) -> None:
        """Set or lift the limit of a gate or a kind."""
        ...

    def rates(self) -> dict[str, RateInForce]:
        """Every gate and kind with a rate of its own, by name."""
        ...

    def rate_of(self, gate: str) -> RateInForce | None:
        """The rate that holds for a gate or a kind; None: it has none."""
        ...

    def set_rate(self, gate: str, rate: Rate | None) -> None:
        """Set or lift the rate of a gate or a kind."""
        ...

    def fair_lanes(self) -> dict[str, str]:
        """The kind of gates by which each fair lane is so, by lane."""
        ...

    def share(self, lane: str, kind: str | None) -> None:
        """Make a lane fair by a kind of gates; None: strict again."""
        ...

    def weights(self) -> dict[str, int]:
        """Every weight that was set, by gate."""
        ...

    def weigh(self, gate: str, weight: int | None) -> None:
        """Set the weight of a gate in fair lanes; None: 1."""
        ...

    def drop_action(self, action: str) -> Dropped:
        """Forget what was counted of an action."""
        ...

    def changes(self, most: int) -> list[Change]:
        """Who changed what, the latest first."""
        ...

    def unused_name(self, name: str) -> str | None:
        """A warning if nothing has used a name so far, as far as that is known; else None."""
        ...


class Letters(Protocol):
    """Dead letters."""

    untold: ClassVar[frozenset[str]]
    """The members of their JSON documents that are not known here, whether there is something or not."""

    def listed(self, most: int) -> list[Letter]:
        """The latest."""
        ...

    def ids(self) -> list[str]:
        """The ids of all that can be named, those too of which nothing else is left."""
        ...

    def find(self, typed: str) -> str:
        """The id that was meant, by itself or by its beginning; raises UnknownExecution or AmbiguousExecution."""
        ...

    def retry(self, execution_id: str) -> Again:
        """Run one again, under a new id, and drop it; raises LetterRefused."""
        ...

    def refused_again(self, retried: Sequence[Again]) -> dict[str, str]:
        """Those that their workers refuse once more, and why, as far as that is known."""
        ...

    def drop(self, execution_id: str) -> bool:
        """Forget one; whether there was one."""
        ...


class Output(Protocol):
    """What executions print."""

    is_raw: bool
    """Whether the bytes are those that were printed; else what is no UTF-8 is escaped."""
    is_followed: bool
    """Whether it can be followed."""

    def reads(self, execution_id: str, tail_bytes: int | None, *, follow: bool) -> Iterator[Read]:
        """The output of the latest attempt, or its last so many bytes; followed, of each attempt until it has ended."""
        ...


class Schedules(Protocol):
    """What is run again and again."""

    def page(self, after: str, most: int) -> "list[ScheduleAnswer]":
        """The next by name, after a name."""
        ...

    def one(self, name: str) -> "ScheduleAnswer":
        """One; raises UnknownSchedule, as do the others that name one."""
        ...

    def put(self, schedule: Schedule, *, paused: bool, only_new: bool) -> "ScheduleAnswer":
        """Add or replace one; with `only_new`, raises ScheduleExists."""
        ...

    def remove(self, name: str) -> bool:
        """Remove one; whether an application declares it."""
        ...

    def pause(self, name: str) -> bool:
        """Pause one; whether it was active."""
        ...

    def resume(self, name: str) -> bool:
        """Resume one; whether it was paused."""
        ...

    def run_now(self, name: str, key: str) -> Parked:
        """Run one once; the same key again is the same execution, which may raise DuplicateExecution."""
        ...

    def next(self, name: str, most: int) -> NextTimes:
        """Its next times."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a command sees and steers the queue."""

    executions: Executions
    figures: Figures
    controls: Controls
    letters: Letters
    output: Output
    schedules: Schedules
    shards: Mapping[str, ShardFigures] = field(default_factory=dict[str, ShardFigures])
    """Of several servers: the figures of each, by its shard's name; empty: there is one."""
