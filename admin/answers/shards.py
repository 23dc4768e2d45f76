"""Documents about shards."""

from typing import Literal

from .document import Answer


class ShardFiguresAnswer(Answer):
    """What there is on a shard, over all its lanes."""

    as_of: str
    """By the clock of its own server; RFC 3339."""
    queue_depth: int
    """Executions that are due and wait."""
    active_count: int
    scheduled_count: int
    dead_count: int
    oldest_wait_seconds: float
    """How long the one waits that waits longest; 0: none waits."""
    paused: list[str]
    """Gates, lanes (`lane:NAME`), or everything (`*`); of users, only the caller, unless it is an operator."""
    leader: str | None
    """The scheduler process that leads it; none: nobody does."""
    workers: int
    """Worker processes that live."""
    threads: int
    """Of all its workers."""


class ShardAnswer(Answer):
    """One server, and what lives there."""

    shard: str
    bands: list[str]
    """The priorities that are there, of all lanes that no shard claims."""
    lanes: list[str]
    """The lanes that it claims; none of `default`, which has all lanes that no other one claims."""
    is_own: bool
    """Whether it is the one that this API works on."""
    url: str | None
    """Of its server, without a password; none: the caller is no operator."""
    is_away: bool
    """Whether it did not answer in time, or refused."""
    away_because: str | None
    """Why, in a sentence; to operators in full. None: it answered."""
    figures: ShardFiguresAnswer | None
    """None: it is away."""


class ShardsAnswer(Answer):
    """All shards, `default` first; without shards that one alone."""

    shards: list[ShardAnswer]
    source: Literal["redis"]
    as_of: str
    """When they were asked, by the clock of the API's machine; RFC 3339. Each server's own is in its figures."""
