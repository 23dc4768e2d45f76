"""Read-only views of the queue: status, one execution's whole record, why it waits, lists, an action's statistics.

In the flow: the command line and applications call these; nothing here changes anything. Figures that belong together
are read by one script, in one moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .keys import DEFAULT_LANE
from .model.errors import UnknownExecution
from .model.priority import Priority
from .model.states import State
from .transport.reading import Reader, repeated
from .transport.scripts import Scripts

LISTED_A_PAGE: Final = 200
LIVE_CONSUMER_MS: Final = 6000
"""A lane has live workers if one asked in this time. Each asks every second; Redis notes it once a second at most."""


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The figures of a lane at one moment."""

    lane: str
    queue_depth: int
    active_count: int
    scheduled_count: int
    dead_count: int
    """Of all lanes."""
    pending_by_priority: dict[str, int]
    settings: dict[str, float | None]
    """Runtime settings in force, by name, the lane's bounds among them; None: no bound."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An execution's record, and why it waits, at one moment."""

    state: State
    position: int | None
    """How many wait before it in its lane; None unless it is PENDING."""
    lane: str
    """Empty if only the end of the execution is still known."""
    reasons: list[str]
    """Sentences; empty if the execution does not wait."""
    meta: dict[str, str]
    """The record; state and attempt alone where no more is left of it."""
    at_ms: int
    """The moment, by the server's clock."""
    stands_still: bool
    """Whether it waits, and as things are for ever: behind a pause, or where no worker asks."""


@dataclass(frozen=True, slots=True)
class ActionStatistics:
    """The figures of one action at one moment."""

    queue_length: int
    active_count: int
    max_concurrent: int | None
    """The limit of the action's own gate; None: it has none, and only other limits hold."""
    oldest_enqueued_at: float | None
    """Unix milliseconds."""
    total_enqueued: int
    total_completed: int
    """Ended, in whatever terminal state."""


@dataclass(frozen=True, slots=True)
class Leader:
    """Which scheduler process leads."""

    leader_id: str
    epoch: int


class Views(Reader):
    """Reads the queue on one server. Each method raises QueueUnavailable if the server does not answer."""

    def __init__(self, scripts: Scripts, lane: str = DEFAULT_LANE) -> None:
        """Args: `lane`, the lane whose waiting and running executions are read."""
        super().__init__(scripts)
        self._lane = lane
        self._keys = scripts.keys
        self._status = scripts.script("status", "lane")
        self._explain = scripts.script("explain", "id")
        self._action_statistics = scripts.script("action_statistics", "action")

    def status(self) -> QueueStatus:
        """How many executions of the lane wait (also by priority) and run, and the runtime settings in force."""
        (status,) = self.status_of([self._lane])
        return status

    def status_of(self, lanes: Sequence[str]) -> list[QueueStatus]:
        """The status of several lanes at one moment, in order."""
        dead, settings, figures = self._scripts.call(self._status, *lanes)
        return [
            QueueStatus(
                lane=lane,
                queue_depth=depth,
                active_count=active,
                scheduled_count=max(0, living - depth - active),
                dead_count=dead,
                pending_by_priority={priority.name: bands[priority] for priority in Priority},
                settings=dict(sorted((_values(settings) | _values(bounds)).items())),
            )
            for lane, (depth, active, living, bands, bounds) in zip(lanes, figures, strict=True)
        ]

    def explain(self, execution_id: str) -> Explanation:
        """Its record, and why it waits: a pause, a closed gate, the limit over everything, its due time, or how many
        are before it. One round trip.

        Raises:
            UnknownExecution: If no such execution is known.
        """
        state, *rest = self._scripts.call(self._explain, execution_id)
        if not state:
            raise UnknownExecution(execution_id=execution_id)
        position, lane, consumer_age_ms, reasons, at_ms, fields = rest
        sentences = [_sentence(reason.decode()) for reason in reasons]
        is_asked_for = 0 <= consumer_age_ms <= LIVE_CONSUMER_MS
        waits = State(state.decode()) is State.PENDING
        if waits and not is_asked_for:
            ago = "yet" if consumer_age_ms < 0 else f"for {consumer_age_ms // 1000} s"
            sentences.append(f"no worker has asked for lane {lane.decode()} {ago}")
        meta = {name.decode(): value.decode() for name, value in zip(fields[::2], fields[1::2], strict=True)}
        return Explanation(
            State(state.decode()),
            position if position >= 0 else None,
            lane.decode(),
            sentences,
            meta,
            at_ms,
            waits and (not is_asked_for or any(reason.startswith(b"paused:") for reason in reasons)),
        )

    def action_statistics(self, action: str) -> ActionStatistics:
        """The statistics of one action; all zero for one that was never used."""
        length, active, limit, oldest, enqueued, completed = self._scripts.call(self._action_statistics, action)
        most = None if limit == b"" else int(limit)
        return ActionStatistics(length, active, most, float(oldest) if oldest else None, enqueued, completed)

    def meta(self, execution_id: str) -> dict[str, str]:
        """An execution's record: state, lane, band, action, user, attempt, timestamps, pod; empty if unknown.

        Once an execution has ended on a lane other than the default one, only state and attempt are left.
        """
        (meta,) = self.metas([execution_id])
        return meta

    @repeated
    def metas(self, execution_ids: list[str]) -> list[dict[str, str]]:
        """Many records, in order, in one round trip; in two if some have ended or are unknown."""
        pipeline = self._client.pipeline(transaction=False)
        for execution_id in execution_ids:
            pipeline.hgetall(self._keys.meta(execution_id))
        metas = [{n.decode(): v.decode() for n, v in raw.items()} for raw in pipeline.execute()]
        # Tombstones are read after the records: an execution that ends in between has its tombstone by then.
        gone = [number for number, meta in enumerate(metas) if not meta]
        if gone:
            tombstones = self._client.mget([self._keys.ended(execution_ids[number]) for number in gone])
            for number, tombstone in zip(gone, tombstones, strict=True):
                metas[number] = _read_tombstone(tombstone)
        return metas

    @repeated
    def result(self, execution_id: str) -> bytes | None:
        """The outcome as JSON, if it is still kept."""
        return self._client.get(self._keys.result(execution_id))

    @repeated
    def event(self, execution_id: str) -> bytes | None:
        """The event as JSON, while the execution lives or is a dead letter."""
        return self._client.get(self._keys.event(execution_id))

    @repeated
    def message(self, execution_id: str) -> bytes | None:
        """The Dramatiq message, while the execution lives or is a dead letter; one parked as an event has none before
        its first grant.
        """
        return self._client.get(self._keys.message(execution_id))

    @repeated
    def pending(self, limit: int = LISTED_A_PAGE) -> list[str]:
        """Ids of the lane's waiting executions, in the order of their scores."""
        return [raw.decode() for raw in self._client.zrange(self._keys.pending(self._lane), 0, limit - 1)]

    @repeated
    def scheduled(self, limit: int = LISTED_A_PAGE) -> list[str]:
        """Ids of executions that are not yet due, of all lanes, the next first."""
        return [raw.decode() for raw in self._client.zrange(self._keys.named("scheduled"), 0, limit - 1)]

    @repeated
    def active(self) -> list[str]:
        """Ids of the lane's executions that hold a slot, in no order."""
        return [raw.decode() for raw in self._client.smembers(self._keys.active(self._lane))]

    @repeated
    def dead(self, limit: int = LISTED_A_PAGE) -> list[str]:
        """Ids of dead letters, the latest first; with a limit of 0 all."""
        return [raw.decode() for raw in self._client.zrevrange(self._keys.named("dead"), 0, limit - 1)]

    @repeated
    def before_in_action(self, execution_id: str, action: str) -> int | None:
        """How many of its action were accepted before it and wait; None unless it waits."""
        return self._client.zrank(self._keys.action_pending(action), execution_id)

    @repeated
    def is_dead(self, execution_id: str) -> bool:
        """Whether the execution is a dead letter."""
        return self._client.zscore(self._keys.named("dead"), execution_id) is not None

    @repeated
    def pod_leases(self, limit: int = LISTED_A_PAGE) -> dict[str, str]:
        """Id → lease of executions in POD or CANCELLING, the earliest end first, for comparing with the real pods."""
        leases = [raw.decode() for raw in self._client.zrange(self._keys.named("lease:pods"), 0, limit - 1)]
        return {lease.partition("\n")[0]: lease for lease in leases}

    @repeated
    def queued_of(self, lane: str, user_ids: list[str]) -> list[int]:
        """How many executions each of these users has waiting in a lane, in order."""
        return [int(count or 0) for count in self._client.hmget(self._keys.users(lane), user_ids)]

    @repeated
    def members(self, lane: str) -> set[str]:
        """Ids of a lane's live executions."""
        return {raw.decode() for raw in self._client.smembers(self._keys.members(lane))}

    @repeated
    def lane_size(self, lane: str) -> int:
        """How many live executions a lane has: those that wait, are scheduled or run."""
        return self._client.scard(self._keys.members(lane))

    @repeated
    def untold(self, lane: str) -> int:
        """How many ends a lane's outbox holds, which are not reported yet."""
        return self._client.zcard(self._keys.outbox(lane))

    @repeated
    def asked_ms_ago(self, lane: str) -> int | None:
        """How long ago a worker last asked for a lane; None: never."""
        asked = self._client.hget(self._keys.named("rounds"), f"lane:{lane}")
        return None if asked is None else abs(self.server_time_ms() - int(asked))

    @repeated
    def leader(self) -> Leader | None:
        """The scheduler process that leads; None if none does."""
        raw = self._client.get(self._keys.named("leader"))
        if raw is None:
            return None
        epoch, _, leader_id = raw.decode().partition(" ")
        return Leader(leader_id, int(epoch))

    @repeated
    def held(self, gates: list[str]) -> list[int]:
        """How many executions hold each of these gates, in order."""
        pipeline = self._client.pipeline(transaction=False)
        for gate in gates:
            pipeline.scard(self._keys.held(gate))
        return pipeline.execute()


def _read_tombstone(raw: bytes | None) -> dict[str, str]:
    # A third word identifies the sending, if the sender chose the execution id.
    return {} if raw is None else dict(zip(("state", "attempt", "lasting"), raw.decode().split(), strict=False))


def _values(flat: list[bytes]) -> dict[str, float | None]:
    names = [name.decode() for name in flat[::2]]
    return {name: float(value) if value else None for name, value in zip(names, flat[1::2], strict=True)}


def _sentence(reason: str) -> str:
    kind, _, rest = reason.partition(":")
    if kind == "paused":
        return "everything is paused" if rest == "*" else f"{rest} is paused"
    if kind == "gate":
        gate, held, limit = rest.rsplit(":", 2)
        return f"gate {gate} is full: {held} of {limit} held"
    if kind == "rate":
        gate, wait_ms = rest.rsplit(":", 1)
        return f"gate {gate} has reached its rate: the next one passes in {int(wait_ms) / 1000:g} s"
    if kind == "full":
        active, limit, setting = rest.split(":")
        return f"all slots are taken: {active} of {limit} ({setting})"
    if kind == "due":
        return f"it is due at {rest} (unix milliseconds)"
    return "it is the next of its lane" if rest == "0" else f"{rest} of its lane are before it"
