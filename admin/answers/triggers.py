"""Documents about triggers: what starts executions for items of a queue, or at times."""

from pydantic import Field

from .document import Answer, Read


class TriggerExecution(Answer):
    """An execution that a trigger started."""

    execution_id: str
    fired_at: str
    sent_at: str | None
    """When the queue of executions had accepted it; none: it has not."""
    ended_at: str | None
    state: str | None
    """Of the execution; `REFUSED`: it can never be accepted; `LOST`: nobody knows it any more; none: not known yet."""


class TriggerAnswer(Answer):
    """A trigger."""

    id: int
    name: str
    type: str
    """`QUEUE`: for the items of its queue; `TIME`: at the times of its line of cron."""
    queue_id: int | None
    batch_size: int
    """How many items an execution works on at most."""
    polling_interval: int
    """After so many seconds it looks again, if no item's arrival is told."""
    enabled: bool
    state: str
    """`active`, `disabled`, or `backing_off`: its last firing could not be sent, it waits until `backoff_until`."""
    max_jobs: int
    """How many of its executions may live at once."""
    live_jobs: int
    """How many do."""
    cron: str | None
    tz: str
    command: list[str] | None = Field(default=None, repr=False)
    """Told to admins."""
    image: str | None
    action: str
    user_id: str | None
    priority: str
    """The band of its executions, of which the smaller goes first."""
    timeout_seconds: int
    fired: int
    """How often it has fired."""
    last_fired_at: str | None
    next_fire_at: str | None
    """When it looks again, or fires; none: never, as when it is disabled."""
    last_processed_item_id: str | None
    """The item that it claimed last."""
    failures: int
    """How many of its firings could not be sent, one after the other."""
    backoff_until: str | None
    """It does not fire before."""
    last_error: str | None
    """Why the last one could not be sent."""
    notify_url: str | None
    """Who is told when it begins to fail; without its path to whoever is no admin."""
    executions: list[TriggerExecution]
    """What it started last, the latest first: in a list of triggers one, elsewhere at most 10."""
    revision: int
    created_at: str
    updated_at: str


class TriggerList(Read):
    """All triggers, by name."""

    triggers: list[TriggerAnswer]


class TriggerDeleted(Answer):
    """That a trigger is gone."""

    name: str
    live_jobs: int
    """How many of its executions go on."""
