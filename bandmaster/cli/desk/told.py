"""What commands are told by a desk.

What the API does not tell is None here, or named in `untold`, and is left out of what is shown; nothing is made up for
it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bandmaster.cli.exits import CommandFailed, Exit
from bandmaster.cli.failures import Failure
from bandmaster.ledger.waits.attributing import Cause, Part
from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.engine.record import Record, Result
from bandmaster.scheduler.engine.shares import UNWEIGHED
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.overview import LaneLoad
from bandmaster.scheduler.verdicts import Verdict
from bandmaster.scheduler.views import Leader, QueueStatus


class HistoryUnavailable(CommandFailed):
    """What has ended cannot be told, since there is no ledger that answers."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Listed:
    """The first executions of a group."""

    records: list[Record]
    more: bool
    shards: dict[str, str] = field(default_factory=dict[str, str])
    """Of several servers: the shard of each, by id."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of a move to another priority."""

    code: Code
    state: State | None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An execution that was not accepted; nothing of it was kept."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Wait:
    """What an execution waited for before one of its attempts."""

    attempt: int
    ms: int
    parts: list[Part]
    """The longest first; they sum to the wait."""
    sampled: bool
    """Whether they are estimated."""


@dataclass(frozen=True, slots=True)
class Waits:
    """What an execution waited for, as a ledger tells it."""

    each: list[Wait]
    """In order."""
    complete: bool
    """Whether these are all that are known."""


@dataclass(frozen=True, slots=True)
class SumPart:
    """The part of many waits that one cause explains."""

    cause: Cause
    behind: str | None
    """None: what has no name, or others."""
    ms: int
    waits: int


@dataclass(frozen=True, slots=True)
class WaitSum:
    """How long an action, a user's executions, or those behind a gate waited."""

    name: str | None
    """None: all others."""
    ms: int
    waits: int
    summed: int
    parts: list[SumPart]


@dataclass(frozen=True, slots=True)
class WaitSums:
    """What was waited for in some hours."""

    waits: int
    summed: int
    """Of so many of them it is known."""
    sampled: int
    incomplete: int
    sums: list[WaitSum]
    """The longest first."""


@dataclass(frozen=True, slots=True)
class Shown:
    """All that is told of one execution."""

    record: Record
    reasons: list[str]
    """Why it waits."""
    timeline: list[JournalEntry]
    event: ExecutionRequestedEvent | None
    result: Result | None
    now_ms: int
    waits_for: str = ""
    """What its pod waits for."""
    waits: Waits | None = None
    """What it waited for; None: no ledger tells of it."""
    failure: Failure | None = None
    untold: frozenset[str] = field(default=frozenset())
    """The members of the JSON document that are not known here, whether there is something or not."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter."""

    record: Record
    result: Result | None
    failure: Failure | None


class LetterRefused(CommandFailed):
    """A dead letter cannot be run again, or not now."""


@dataclass(frozen=True, slots=True)
class NextTimes:
    """The next times of a schedule."""

    tz: str
    paused: bool
    times_ms: list[int]


@dataclass(frozen=True, slots=True)
class Read:
    """An output and its source: the attempt's pod, or only the stored result."""

    source: str
    pieces: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Backend:
    """The backend that runs executions, and its problem if it does not answer."""

    description: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """The history in SQL."""

    is_read: bool
    """Whether it can be read."""
    is_written: bool
    """Whether somebody writes it."""


@dataclass(frozen=True, slots=True)
class Server:
    """The server of the queue, as it describes itself."""

    url: str
    """Without a password."""
    kind: str
    version: str
    eviction_policy: str | None
    """The policy by which it may evict keys; None if it evicts none, or does not say."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The queue at a glance."""

    lanes: list[tuple[LaneLoad, QueueStatus]]
    """The lane of executions is among them."""
    gates: list[GateLoad]
    """The most blocked first."""
    paused: dict[str, int]
    """By name, since when in Unix milliseconds."""
    settings: dict[str, float | None]
    dead_count: int
    leader: Leader | None
    now_ms: int
    worker_asked_ms_ago: int | None
    """When a worker last asked for the lane of executions."""
    api: str | None
    """The address of the API that told this; None: nobody between."""
    server: Server | None
    backend: Backend | None
    """This and `server` are known beside Redis only."""
    ledger: Ledger | None
    """None: there is none here."""
    verdicts: list[Verdict]
    """What somebody should look at, the worst first."""

    @property
    def limits(self) -> list[GateLoad]:
        """The gates and kinds with a limit."""
        return [each for each in self.gates if each.limit is not None]

    @property
    def rates(self) -> list[GateLoad]:
        """Those with a rate."""
        return [each for each in self.gates if each.rate is not None]

    @property
    def weighted(self) -> list[GateLoad]:
        """Those with a weight."""
        return [each for each in self.gates if each.weight != UNWEIGHED]
