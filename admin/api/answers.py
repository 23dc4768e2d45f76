"""What the API answers with: the models of its documents. Those that were read say from where, and of when they are."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...scheduler.model.states import State

Source = Literal["redis", "ledger"]


class Answer(BaseModel):
    """A document."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Read(Answer):
    """A document that was read."""

    source: Source
    """`redis`: what is so now; `ledger`: the history, which follows within a second."""
    as_of: str
    """Of when it is, by the clock of the Redis server; RFC 3339."""


class ExecutionAnswer(Answer):
    """An execution."""

    execution_id: str
    state: State
    position: int | None = None
    """How many wait before it in its lane; none unless it waits."""
    priority: str | None = None
    lane: str | None = None
    action: str | None = None
    user_id: str | None = None
    gates: list[str] = []
    """The gates that its sender named, besides those of its action and its user."""
    attempt: int = 0
    reason: str | None = None
    exit_code: int | None = None
    pod: str | None = None
    dead: bool = False
    """Whether it used up its tries, and is kept to be tried again."""
    lost: bool = False
    """Whether Redis lost it before it had ended."""
    cancel_requested: bool = False
    waits_for: list[str] = []
    """Why it waits: sentences for people."""
    accepted_at: str | None = None
    due_at: str | None = None
    granted_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None


class OneExecution(Read, ExecutionAnswer):
    """One execution."""


class ExecutionPage(Read):
    """A page of executions, the latest accepted first."""

    executions: list[ExecutionAnswer]
    next: str | None
    """The cursor of the page with earlier ones; none if there are none."""
    previous: str | None
    """The cursor of the page with later ones; none on the first page."""
    total: int | None = None
    """How many there are on all pages; only if it was asked for."""


class DeadLetters(Read):
    """Dead letters, the latest first."""

    executions: list[ExecutionAnswer]
    dead_count: int
    """How many there are in all."""


class Accepted(Answer):
    """An execution that was accepted."""

    execution_id: str
    state: State
    position: int | None = None
    """How many wait before it; none if it is not yet due, or has begun already."""


class QueueAnswer(Read):
    """The queue as it is now."""

    queue_depth: int
    """How many wait."""
    active_count: int
    """How many hold a slot."""
    max_concurrent: int | None
    """How many may; none: any number."""
    by_priority: dict[str, int]
    scheduled_count: int
    dead_count: int
    own_waiting: int
    """How many of them are the caller's."""


class Step(Answer):
    """One transition of an execution."""

    at: str
    verb: str
    state: str | None
    attempt: int
    reason: str | None
    by: str | None
    """Who asked for it; none: nobody."""
    details: dict[str, Any]


class Timeline(Read):
    """What happened to an execution, in order."""

    execution_id: str
    steps: list[Step]
    complete: bool
    """Whether these are all that are known."""


class PayloadAnswer(Read):
    """What an execution runs."""

    execution_id: str
    event: dict[str, Any]


class LogAnswer(Answer):
    """The end of what an execution printed."""

    execution_id: str
    source: Literal["pod", "result", "none"]
    output: str
    truncated: bool
    """Whether there was more before it."""


class Cancelled(Answer):
    """An execution that was cancelled."""

    execution_id: str
    state: State
    """CANCELLED, or what it is in until its pod or thread is gone."""


class Moved(Answer):
    """An execution that has another priority."""

    execution_id: str
    priority: str
    state: State
    position: int | None


class Retried(Answer):
    """A dead letter that runs again, under a new id."""

    execution_id: str
    new_execution_id: str
    position: int | None
    """None: a worker of its lane has to check it first."""


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
    """A gate with a limit or a pause."""

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


class Gates(Read):
    """Gates, the most blocked first."""

    gates: list[GateAnswer]


class LaneAnswer(Answer):
    """A lane, and whether workers ask for it."""

    lane: str
    live: bool
    asked_seconds_ago: float | None
    executions: int
    """Those that wait, are scheduled or run."""


class Lanes(Read):
    """All lanes, and the scheduler that leads."""

    lanes: list[LaneAnswer]
    leader: str | None


class LimitAnswer(Answer):
    """The limit that holds for a gate, or for each gate of a kind."""

    gate: str
    limit: int | None
    limited_by: str | None
    declared: bool
    held: int | None


class Limits(Read):
    """All limits."""

    limits: list[LimitAnswer]


class Pauses(Read):
    """Everything that is paused, by name, with the time since when."""

    paused: dict[str, str]


class Changed(Answer):
    """What a change did."""

    name: str
    changed: bool
    """False: it was so before."""


class SettingAnswer(Answer):
    """A runtime setting."""

    name: str
    lane: str | None
    """The lane whose bound it is; none if it is no lane's."""
    value: float | None
    """None: no bound."""


class Settings(Read):
    """All runtime settings in force."""

    settings: list[SettingAnswer]


class AuditEntry(Answer):
    """One change by somebody."""

    at: str
    by: str
    """Who: the owner of a token, its id and its address; or a user and host."""
    verb: str
    subject: str
    """The gate, lane or setting; or the execution."""
    kind: Literal["control", "execution"]
    before: str | None
    after: str | None
    """The new value; of an execution, its state."""


class Audit(Read):
    """Who changed what, the latest first."""

    entries: list[AuditEntry]
    next: str | None


class TokenAnswer(Answer):
    """A token, without its secret."""

    token_id: str
    owner: str
    scopes: list[str]
    max_band: str
    gates: list[str] | None
    """Patterns of the gates that its executions may name; none: any."""
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class NewToken(TokenAnswer):
    """A token that was just made."""

    token: str = Field(repr=False)
    """Its text, which is shown this once."""


class Tokens(Answer):
    """All tokens, the latest first."""

    tokens: list[TokenAnswer]


class Whoami(Answer):
    """Who the caller is."""

    owner: str
    token_id: str
    scopes: list[str]
    max_band: str
    gates: list[str] | None
    expires_at: str | None


class Health(Answer):
    """That the process answers."""

    status: Literal["ok"]


class Readiness(Answer):
    """Whether the API can do its work."""

    status: Literal["ready", "degraded", "unready"]
    """`degraded`: all but the history."""
    redis: bool
    ledger: bool


class BulkPlan(Answer):
    """What a change of many would change."""

    ticket: str
    """For those that were counted, within the time below, once."""
    count: int
    more: bool
    """Whether there are more than one ticket can be for."""
    execution_ids: list[str]
    """The first of them."""
    expires_seconds: int


class BulkFailure(Answer):
    """One that could not be changed."""

    execution_id: str
    detail: str


class BulkDone(Answer):
    """What a change of many did."""

    changed: int
    skipped: int
    """Those that had begun or ended meanwhile."""
    failed: list[BulkFailure]
