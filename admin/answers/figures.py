"""Documents of figures: actions, users, gates, lanes."""

from pydantic import Field

from ...scheduler.verdicts import Severity, VerdictCode
from .document import Answer, Read


class VerdictAnswer(Answer):
    """Something that somebody should look at."""

    code: str = Field(examples=[VerdictCode.LIMIT_REACHED.value])
    """What it is: the runbook has a section for each. Later releases may know more of them."""
    severity: Severity
    """How soon somebody should look."""
    subject: str = Field(examples=["action:pod"])
    """`lane:NAME` or `action:NAME`; empty: the whole installation."""
    sentence: str
    """What is so, for people."""


class QueueStats(Read):
    """The queue of one action."""

    action: str
    queue_length: int
    active_count: int
    max_concurrent: int | None
    oldest_enqueued_at: str | None
    total_enqueued: int
    total_completed: int
    """Ended, in whatever terminal state."""
    verdicts: list[VerdictAnswer] = Field(default=[])
    """What there is to look at of the action, the worst first."""


class ActionAnswer(Answer):
    """An action with its figures."""

    action: str
    queue_length: int
    active_count: int
    total_enqueued: int
    total_completed: int


class Actions(Read):
    """All actions."""

    actions: list[ActionAnswer]


class UserAnswer(Answer):
    """A user with executions that wait or run."""

    user_id: str
    waiting: int
    running: int


class Users(Read):
    """Users, those with the most waiting first."""

    users: list[UserAnswer]


class GateAnswer(Answer):
    """A gate with a limit, a rate, a weight or a pause."""

    gate: str
    limit: int | None
    limited_by: str | None
    """The gate or kind that the limit was set for."""
    declared: bool
    """Whether an actor declared the limit; else an operator set it."""
    held: int | None
    waiting: int
    """Executions that found it closed."""
    paused: bool
    rate: str | None = None
    """As in `100/m burst 5`; none: it has no rate."""
    rated_by: str | None = None
    """The gate or kind that the rate was set for."""
    rate_declared: bool = False
    """Whether an actor declared the rate; else an operator set it."""
    opens_at: str | None = None
    """When its rate lets the next one of those that wait through; none: it keeps none back."""
    weight: int = 1
    """In fair lanes."""
    auto: str | None = None
    """As in `auto(2,50)`, the bounds within which the limit adjusts itself; none: it does not."""


class GateCounts(Answer):
    """Gates whose names are not shown to the caller."""

    gates: int
    """With a limit, a rate, a weight or a pause."""
    held: int
    waiting: int


class Gates(Read):
    """Gates, the most blocked first."""

    gates: list[GateAnswer]
    others: GateCounts


class LaneAnswer(Answer):
    """A lane, and whether workers ask for it."""

    lane: str
    live: bool
    asked_seconds_ago: float | None
    executions: int
    """Those that wait, are scheduled or run."""
    queue_depth: int
    active_count: int
    scheduled_count: int
    by_priority: dict[str, int]
    """How many wait."""
    bounds: dict[str, float | None]
    """The lane's own settings; none: no bound."""
    fair_by: str | None = None
    """The kind of gates that take turns in it, such as `user`; none: strict order."""


class Lanes(Read):
    """All lanes, and the scheduler that leads."""

    lanes: list[LaneAnswer]
    leader: str | None
    leader_epoch: int | None
    """The number of its leadership; a later leader has a higher one."""


class DemandAnswer(Read):
    """How many threads a lane could keep busy now."""

    lane: str
    admissible: int
    """Executions that could start at once if threads were free, as far as is known."""
    running: int
    """Threads that work on the lane's executions; one that was handed over to a pod takes none."""
    threads: int
    """Both together: what the workers of the lane need."""
