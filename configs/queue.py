"""The settings of queues that are bounded by default: those for slots of code, and that of events."""

from pydantic import Field

from .area import Area


class QueueSettings(Area, frozen=True):
    """How many may wait, and how long, in each queue for slots that code takes; `limits.max_queue_size` and
    `limits.stale_timeout_seconds` of lane `executions` follow these, unless they are set themselves."""

    max_queue_length: int = Field(default=10_000, ge=1)
    """How many may wait in one queue; one more is refused (QueueFull)."""
    queue_timeout_seconds: int = Field(default=3_600, ge=1)
    """How long a wait may take."""
    enable_metrics: bool = True
    """Whether the ledger keeps the figures of each action's queue (`queue_stats`)."""
