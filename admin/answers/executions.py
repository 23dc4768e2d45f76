"""Documents about executions."""

from typing import Any, Literal

from pydantic import Field

from ...scheduler.model.states import State
from .document import Answer, Read
from .figures import VerdictAnswer


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
    gates: list[str] = Field(default=[])
    """The gates that its sender named, besides those of its action and its user."""
    attempt: int = 0
    reason: str | None = None
    exit_code: int | None = None
    pod: str | None = None
    dead: bool = False
    """Whether it used up its tries, and is kept to be tried again."""
    lost: bool = False
    """Whether Redis does not know it any more, though no end of it was read. With `ended_at`: by then it had ended."""
    cancel_requested: bool = False
    eta_seconds: float | None = None
    """An estimate of when it may begin: as many of its action as were accepted before it, at the rate at which its
    action's executions began since the first of the last ten minutes, as the ledger has it. None: it does not wait, it
    is paused, no worker asks for its lane, fewer than two began, or there is no ledger, or it has not answered yet."""
    waits_for: list[str] = Field(default=[])
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
    written: bool
    """Whether somebody writes the history; if not, what happened after `as_of` is missing."""


class LivingExecutions(Read):
    """What runs, waits or is scheduled."""

    executions: list[ExecutionAnswer]
    complete: bool
    """Whether these are all there are; else there may be more."""


class DeadLetters(Read):
    """Dead letters, the latest first."""

    executions: list[ExecutionAnswer]
    complete: bool
    """Whether these are all there are; else there may be more."""
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
    verdicts: list[VerdictAnswer] = Field(default=[])
    """What there is to look at, the worst first: of the lane, and of the whole installation. If no lane is named,
    operators are told of all lanes. What is said of the ledger may be some seconds old."""


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
    withheld: bool = False
    """Whether the API may not read what pods print: there is something to show only when it has ended."""


class ResultAnswer(Read):
    """How an execution ended, as it is kept."""

    execution_id: str
    exit_code: int | None
    reason: str | None
    duration_seconds: float | None
    output_tail: str
    """The end of what it printed."""
    output_truncated: bool
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


class BulkPlan(Answer):
    """What a change of many would change."""

    ticket: str
    """For those that were counted, within the time below, once."""
    count: int
    more: bool
    """Whether there may be more: than one ticket can be for, or behind those that were looked at."""
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
    """Those that no longer were what was asked for: ended, begun, moved, another's."""
    failed: list[BulkFailure]
