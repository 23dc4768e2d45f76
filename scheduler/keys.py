"""The names of all Redis keys, which no other Python module spells.

`lua/include/keys.lua` spells the same keys for the scripts; a test compares the two. With the prefix ``{exec_queue}``
every key falls into one cluster slot. Nothing here does I/O.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

DEFAULT_LANE: Final = "executions"
"""The lane to which keys and settings that name no lane belong."""
FIXED: Final = (
    "pending",
    "active",
    "lease",
    "lease:pods",
    "lanes",
    "scheduled",
    "limits",
    "paused",
    "settings",
    "users",
    "clock",
    "dead",
    "journal",
    "leader",
    "epoch",
    "rounds",
    "changes",
    "actions",
    "deadlines",
    "incarnation",
    "refusals",
    "behind",
    "crowded",
    "weights",
    "rates",
    "later",
    "owners",
    "ageing",
    "auto_limits",
    "due",
    "schedules",
    "schedule_names",
    "schedule_times",
)
"""The keys that exist once under each prefix."""


@dataclass(frozen=True)
class Keys:
    """The keys under one prefix."""

    prefix: str = "exec_queue"

    @cached_property
    def declared(self) -> bytes:
        """The one key that every call declares in KEYS; the scripts derive all other keys from its prefix."""
        return self.named("settings").encode()

    def named(self, name: str) -> str:
        """One of FIXED."""
        if name not in FIXED:
            raise KeyError(name)
        return f"{self.prefix}:{name}"

    def event(self, execution_id: str) -> str:
        """String: ExecutionRequestedEvent JSON."""
        return f"{self.prefix}:event:{execution_id}"

    def message(self, execution_id: str) -> str:
        """String: the Dramatiq message as sent."""
        return f"{self.prefix}:message:{execution_id}"

    def meta(self, execution_id: str) -> str:
        """Hash: state, lane, band, score, attempt, timestamps, pod."""
        return f"{self.prefix}:meta:{execution_id}"

    def result(self, execution_id: str) -> str:
        """String: the outcome as JSON."""
        return f"{self.prefix}:result:{execution_id}"

    def ended(self, execution_id: str) -> str:
        """String: the tombstone of an ended execution whose meta is gone, as ``COMPLETED 1``: its state and attempt."""
        return f"{self.prefix}:end:{execution_id}"

    def reply(self, caller: str) -> str:
        """String: the last answer to a caller."""
        return f"{self.prefix}:reply:{caller}"

    def ready(self, lane: str) -> str:
        """Sorted set: a lane's flows that no gate is known to hold back, by their best score."""
        return f"{self.prefix}:ready:{lane}"

    def flow(self, lane: str, gates: str) -> str:
        """Sorted set: a lane's waiting executions that pass the same gates, one a line, by score."""
        return f"{self.prefix}:flow:{lane}:{gates}"

    def open(self, lane: str) -> str:
        """Sorted set: gates that have room and waiting flows of this lane, by their best flow's score."""
        return f"{self.prefix}:open:{lane}"

    def pending(self, lane: str) -> str:
        """Sorted set: a lane's waiting executions, by score."""
        return self._of(lane, "pending")

    def active(self, lane: str) -> str:
        """Set: a lane's executions that hold a slot."""
        return self._of(lane, "active")

    def users(self, lane: str) -> str:
        """Hash: user → how many of the lane's executions wait."""
        return self._of(lane, "users")

    @property
    def items_channel(self) -> str:
        """Channel, and no key: API processes tell each other the id of a queue to which an item came."""
        return f"{self.prefix}:items"

    def _of(self, lane: str, name: str) -> str:
        return self.named(name) if lane == DEFAULT_LANE else f"{self.prefix}:lane:{lane}:{name}"

    def times(self, lane: str) -> str:
        """Sorted set: a fair lane's waiting executions, by the time that orders them in other lanes."""
        return f"{self.prefix}:lane:{lane}:times"

    def tags(self, lane: str, band: int) -> str:
        """Hash: of a fair lane's band, the last tags of each key with waiters, and the highest tag admitted; it
        stays alone until the clock has passed it."""
        return f"{self.prefix}:lane:{lane}:tags:{band}"

    def idle_tags(self, lane: str, band: int) -> str:
        """Sorted set: of a fair lane's band, the keys without waiters by the tag that was admitted last."""
        return f"{self.prefix}:lane:{lane}:tags:{band}:idle"

    def wake(self, lane: str) -> str:
        """List: wake tokens."""
        return f"{self.prefix}:wake:{lane}"

    def outbox(self, lane: str) -> str:
        """Sorted set: a lane's ended executions whose end is not reported yet, by when each may be collected."""
        return f"{self.prefix}:lane:{lane}:outbox"

    def members(self, lane: str) -> str:
        """Set: a lane's live executions."""
        return f"{self.prefix}:lane:{lane}:members"

    def held(self, gate: str) -> str:
        """Set: executions that hold a gate."""
        return f"{self.prefix}:gate:{gate}:held"

    def gate_lanes(self, gate: str) -> str:
        """Sorted set: lanes of which flows wait behind this gate, by the best one's score."""
        return f"{self.prefix}:gate:{gate}:lanes"

    def kind_lanes(self, kind: str) -> str:
        """Set: lanes of which flows wait behind gates that this kind's limit keeps closed."""
        return f"{self.prefix}:gate:{kind}:closed-lanes"

    def waiting(self, gate: str, lane: str) -> str:
        """Sorted set: a lane's flows that found a gate closed, by their best score."""
        return f"{self.prefix}:gate:{gate}:waiting:{lane}"

    def closed(self, kind: str, lane: str) -> str:
        """Sorted set: gates that their kind's limit keeps closed to a lane, by their best waiter's score."""
        return f"{self.prefix}:gate:{kind}:closed:{lane}"

    def later(self, lane: str) -> str:
        """Sorted set: gates that their rate keeps closed to waiting flows of a lane, by when they open."""
        return f"{self.prefix}:later:{lane}"

    def rate_time(self, gate: str) -> str:
        """String with a TTL: the time by which a gate's rate is measured, in unix milliseconds."""
        return f"{self.prefix}:gate:{gate}:rate"

    def default_limits(self) -> str:
        """Hash: the limits of kinds that operators set, and the limits that lanes declare, as `name\\nlane`."""
        return f"{self.prefix}:limits:defaults"

    def pauses(self, name: str) -> str:
        """Sorted set with a TTL: the starts of ended pauses of a gate, a lane or everything, scored by their ends."""
        return f"{self.prefix}:pauses:{name}"

    def action_pending(self, action: str) -> str:
        """Sorted set: an action's waiting executions, by the time they were accepted."""
        return f"{self.prefix}:action:{action}:pending"

    def action_stats(self, action: str) -> str:
        """Hash: an action's lifetime counters."""
        return f"{self.prefix}:action:{action}:stats"

    def unique(self, key: str) -> str:
        """String: the execution that took a unique key last; if for some time, until when, with a TTL."""
        return f"{self.prefix}:unique:{key}"

    def request(self, digest: str) -> str:
        """String with a TTL: the execution that a request to the API made, by the digest of who sent it and its key."""
        return f"{self.prefix}:request:{digest}"

    def quota(self, digest: str) -> str:
        """String with a TTL: what all API processes took of a caller's quota, by the digest of which and whose."""
        return f"{self.prefix}:quota:{digest}"

    def session(self, digest: str) -> str:
        """String with a TTL: who a browser that signed in to the API is, by the digest of the session's id."""
        return f"{self.prefix}:session:{digest}"

    def sessions(self, whose: str) -> str:
        """Sorted set with a TTL: the sessions of a token, or of a user of a provider, by when they began."""
        return f"{self.prefix}:sessions:{whose}"

    def login(self, digest: str) -> str:
        """String with a TTL: for whom a one-time login code stands, by its digest."""
        return f"{self.prefix}:login:{digest}"

    def slot_members(self, owner: str) -> str:
        """Set: the executions of a process that wait for slots of its code or hold some."""
        return f"{self.prefix}:slots:{owner}"

    def slot_news(self, owner: str) -> str:
        """Hash with a TTL: execution → what its process is to be told of it."""
        return f"{self.prefix}:slots:{owner}:news"

    def worker(self, worker_id: str) -> str:
        """String with a TTL: how a worker process that lives signed last, as JSON."""
        return f"{self.prefix}:worker:{worker_id}"

    def workers(self) -> str:
        """Set with a TTL: the ids of worker processes, some of which may live no more."""
        return f"{self.prefix}:workers"

    def ledger(self) -> str:
        """Hash with a TTL: who wrote the ledger last, or since when and why nobody can."""
        return f"{self.prefix}:ledger"

    def lock(self, name: str) -> str:
        """String with a TTL: a lock between processes, such as the watcher's."""
        return f"{self.prefix}:lock:{name}"


def fair_field(lane: str) -> str:
    """The field of the settings that says by which kind of gates a lane is fair, if it is."""
    return "fair_by" if lane == DEFAULT_LANE else f"lane:{lane}:fair_by"


def fair_kind(value: bytes | None) -> str | None:
    """Read that field: the kind of gates; None: nobody has said anything, or an operator that the lane is strict."""
    return value.decode() if value else None


def fair_lane(field: str) -> str | None:
    """The lane of which a field of the settings says that; None: it says something else."""
    if field == fair_field(DEFAULT_LANE):
        return DEFAULT_LANE
    lane = field.removeprefix("lane:").removesuffix(":fair_by")
    return lane if field == fair_field(lane) else None
