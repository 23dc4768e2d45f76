"""The naive model of waiting and admission: sort what is pending, take the first whose gates are all open.

No index, no queue behind a gate, no wake-ups: every question is answered by looking at everything. It is slow and
evidently right; the scripts must agree with it after every step.
"""

import math
from collections.abc import Iterable

from bandmaster.scheduler.states import State
from model.execution import Execution

STEP_MS = 1 / 1024
BAND_WINDOW_MS = 5 * 10**11


class WaitingOracle:
    """Settings, gates, pauses, the order, and what waits."""

    def __init__(self, now_ms: int) -> None:
        self.now = now_ms
        self.last_time = 0.0
        self.executions: dict[str, Execution] = {}
        self.settings = {
            "max_concurrent_executions": 10,
            "max_queue_size": 10_000,
            "max_executions_per_user": 100,
            "stale_timeout_seconds": 3_600,
            "lease_ttl_ms": 30_000,
            "pod_lease_ttl_ms": 60_000,
            "grace_ms": 30_000,
            "max_crashes": 3,
            "max_infrastructure_retries": 5,
        }
        self.limits: dict[str, int] = {}
        self.paused_since: dict[str, int] = {}
        self.paused_total: dict[str, int] = {}

    def in_state(self, *states: State) -> list[Execution]:
        """In no order."""
        return [e for e in self.executions.values() if e.state in states]

    def pending(self, lane: str | None = None) -> list[Execution]:
        """In the order in which they may start."""
        found = [e for e in self.in_state(State.PENDING) if lane is None or e.lane == lane]
        return sorted(found, key=lambda e: e.order)

    def active(self) -> int:
        """Slots held."""
        return sum(e.holds for e in self.executions.values())

    def queued_of(self, user: str) -> int:
        """What of this user waits."""
        return sum(e.waits and e.user == user for e in self.executions.values())

    def next_time(self, at_least: float) -> float:
        """The rising clock of the order (D2)."""
        given = float(math.floor(at_least))
        self.last_time = given if given > self.last_time else self.last_time + STEP_MS
        return self.last_time

    def has_room(self, gate: str) -> bool:
        """Not paused, and below its limit."""
        held = sum(e.holds and gate in e.gates for e in self.executions.values())
        return gate not in self.paused_since and (gate not in self.limits or held < self.limits[gate])

    def is_open_to(self, execution: Execution) -> bool:
        """Whether every gate has room."""
        return all(self.has_room(gate) for gate in execution.gates)

    def free_slots(self, max_active: int | None = None) -> int:
        """Of the limit over everything."""
        if "*" in self.paused_since:
            return 0
        limit = self.settings["max_concurrent_executions"] if max_active is None else max_active
        return limit - self.active()

    def paused_so_far(self, execution: Execution) -> int:
        """Milliseconds that stood still for this execution, each pause for itself."""
        names = [*execution.gates, "*", f"lane:{execution.lane}"]
        running = sum(max(0, self.now - self.paused_since[name]) for name in names if name in self.paused_since)
        return running + sum(self.paused_total.get(name, 0) for name in names)

    def is_stale(self, execution: Execution) -> bool:
        """Whether it waited, pauses not counted, longer than the stale timeout."""
        waited = self.now - execution.waiting_since
        allowed = self.settings["stale_timeout_seconds"] * 1000
        stood_still = self.paused_so_far(execution) - execution.paused_before
        return waited > allowed and waited - stood_still > allowed

    def enter_pending(self, execution: Execution) -> None:
        """From now on it waits, at its place."""
        execution.state = State.PENDING
        execution.waiting_since = self.now
        execution.paused_before = self.paused_so_far(execution)

    def enter_scheduled(self, execution: Execution, due: int) -> None:
        """Behind those that are due in the same millisecond."""
        same = [e.due for e in self.in_state(State.SCHEDULED) if due <= e.due < due + 1]
        execution.state = State.SCHEDULED
        execution.due = min(max(same) + STEP_MS, due + 1 - STEP_MS) if same else float(due)

    def park(self, execution: Execution, due: int | None) -> tuple[str, ...] | tuple[str, str, int]:
        """The answer: OK with state and position, or a refusal with its detail. What was stale is out already."""
        known = self.executions.get(execution.execution_id)
        if known is not None:
            return "DUPLICATE", known.state
        waiting = sum(e.waits for e in self.executions.values())
        if waiting >= self.settings["max_queue_size"]:
            return "QUEUE_FULL", str(self.settings["max_queue_size"])
        allowed = self.settings["max_executions_per_user"]
        if execution.user and self.queued_of(execution.user) >= allowed:
            return "USER_LIMIT", str(allowed)
        self.executions[execution.execution_id] = execution
        if due is not None and due > self.now:
            self.enter_scheduled(execution, due)
            return "OK", State.SCHEDULED, -1
        execution.accepted_at = self.next_time(self.now)
        self.enter_pending(execution)
        return "OK", State.PENDING, self.pending().index(execution)

    def promote(self, bound: int) -> int:
        """What is due, the earliest first."""
        due = sorted(
            (e for e in self.in_state(State.SCHEDULED) if e.due < self.now + 1), key=lambda e: (e.due, e.execution_id)
        )
        for execution in due[:bound]:
            execution.accepted_at = self.next_time(execution.due)
            self.enter_pending(execution)
        return len(due[:bound])

    def eligible(self, lane: str) -> list[Execution]:
        """What the gates let through now, the best first."""
        return [e for e in self.pending(lane) if not self.is_stale(e) and e.has_payload and self.is_open_to(e)]

    def admissible(self, lane: str, max_active: int | None = None) -> list[Execution]:
        """What may start now, the best first."""
        if f"lane:{lane}" in self.paused_since or self.free_slots(max_active) < 1:
            return []
        return self.eligible(lane)

    def admit(self, lane: str, count: int, lease_ms: int, max_active: int | None = None) -> list[tuple[str, int, int]]:
        """Grants as (id, attempt, lease length)."""
        grants: list[tuple[str, int, int]] = []
        while len(grants) < count and (admissible := self.admissible(lane, max_active)):
            best = admissible[0]
            best.attempt += 1
            best.state = State.RUNNING
            length = lease_ms or best.timeout_ms + self.settings["grace_ms"]
            best.lease = self.now + length
            grants.append((best.execution_id, best.attempt, length))
        return grants

    def expirable(self) -> Iterable[Execution]:
        """Stale, and found by a sweep, which looks for old places in the order."""
        oldest = self.now - self.settings["stale_timeout_seconds"] * 1000
        return (e for e in self.pending() if self.is_stale(e) and e.accepted_at <= oldest)

    def ended_by_script(self, execution_id: str, verb: str) -> None:
        """A script says that it ended this one while it looked for others; it must have had the right to."""
        execution = self.executions[execution_id]
        assert execution.state is State.PENDING
        if verb == "expire":
            assert self.is_stale(execution), "expired, and not stale"
            execution.state = State.EXPIRED
        else:
            assert not execution.has_payload, "lost, and its event is there"
            execution.state = State.FAILED
        execution.has_payload = False
