"""The naive model of waiting and admission: sort what is pending, take the first whose gates are all open.

No index, no queue behind a gate, no wake-ups: every question is answered by looking at everything. It is slow and
evidently right; the scripts must agree with it after every step.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable

from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.model.unique import Conflict, Until
from model.execution import Execution
from model.fair_oracle import Fair
from model.rate_oracle import RateOracle

STEP_MS = 1 / 1024
DEFAULT_LANE = "executions"
DEFAULT_BOUNDS = {
    "max_concurrent_executions": 10,
    "max_queue_size": 10_000,
    "max_executions_per_user": 100,
    "stale_timeout_seconds": 3_600,
}
BAND_WINDOW_MS = 5 * 10**11


class WaitingOracle(RateOracle, ABC):
    """Settings, gates, pauses, the order, and what waits."""

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.last_time = 0.0
        self.went_back = False
        self.executions: dict[str, Execution] = {}
        self.outlived: list[Execution] = []
        """Forgotten before their ends were told; they stand in the outboxes still."""
        self.asked_at: dict[str, int] = {}
        """Lane → when a consumer last asked for it, to the second."""
        self.max_concurrent: int | None = None
        self.bounds: dict[str, dict[str, int]] = defaultdict(dict)
        """Of each lane; only `executions` has any that nobody set."""
        self.bounds[DEFAULT_LANE] = dict(DEFAULT_BOUNDS)
        self.settings = {
            "lease_ttl_ms": 30_000,
            "pod_lease_ttl_ms": 60_000,
            "start_deadline_ms": 300_000,
            "grace_ms": 30_000,
            "max_crashes": 3,
            "max_infrastructure_retries": 5,
            "max_dead_messages": 10_000,
            "dead_message_ttl_seconds": 604_800,
        }
        self.limits: dict[str, int] = {}
        """By gate or kind."""
        self.declared: dict[str, dict[str, int]] = {}
        """The same, by lane."""
        self.fair = Fair()
        self.before_place: Callable[[tuple[str, ...], tuple[str, ...]], None] = lambda verbs, names: None
        """Told of each placing, by the journal's verbs and the names that it may have."""
        self.paused_since: dict[str, int] = {}
        self.pauses: list[tuple[str, int, int]] = []
        """Those that ended: name, began, ended."""
        self.took: list[tuple[str, Execution, int]] = []
        """Key, who took it, and when, in order."""

    def in_state(self, *states: State) -> list[Execution]:
        """In no order."""
        return [e for e in self.executions.values() if e.state in states]

    def pending(self, lanes: tuple[str, ...] | None = None) -> list[Execution]:
        """In the order in which they may start."""
        found = [e for e in self.in_state(State.PENDING) if lanes is None or e.lane in lanes]
        return sorted(found, key=lambda e: e.order)

    def active(self, lane: str | None = None) -> int:
        """Slots held, of a lane or of all."""
        return sum(e.holds and lane in (None, e.lane) for e in self.executions.values())

    def queued(self, lane: str, user: str | None = None) -> int:
        """What of a lane waits, of a user or of all."""
        own = (e for e in self.executions.values() if e.lane == lane)
        return sum(e.waits and user in (None, e.user) for e in own)

    def next_time(self, at_least: float) -> float:
        """The rising clock of the order (D2)."""
        given = float(math.floor(at_least))
        self.last_time = given if given > self.last_time else self.last_time + STEP_MS
        return self.last_time

    def limit_of(self, gate: str) -> float:
        """Its own, or its kind's; an operator's, or the lowest that a lane declares."""
        for name in (gate, gate.split(":")[0] + ":*"):
            if name in self.limits:
                return self.limits[name]
            if declared := [limits[name] for limits in self.declared.values() if name in limits]:
                return min(declared)
        return math.inf

    def has_room(self, gate: str) -> bool:
        """Not paused, below its limit, and within its rate."""
        held = sum(e.holds and gate in e.gates for e in self.executions.values())
        return gate not in self.paused_since and held < self.limit_of(gate) and self.is_in_rate(gate)

    def is_open_to(self, execution: Execution) -> bool:
        """Whether every gate has room."""
        return all(self.has_room(gate) for gate in execution.gates)

    def has_slots(self) -> bool:
        """Of the limit over everything."""
        if "*" in self.paused_since:
            return False
        return self.max_concurrent is None or self.active() < self.max_concurrent

    def with_slots(self, lanes: tuple[str, ...], max_active: int | None = None) -> tuple[str, ...]:
        """Those below their own bound."""
        bounds = {lane: self.bounds[lane].get("max_concurrent_executions") for lane in lanes}
        most = bounds if max_active is None else dict.fromkeys(lanes, max_active)
        return tuple(lane for lane in lanes if (bound := most[lane]) is None or self.active(lane) < bound)

    def paused_ms(self, execution: Execution) -> int:
        """How long of its wait stood still: the time in which anything that it has to pass was paused."""
        running = [(name, since, self.now) for name, since in self.paused_since.items()]
        names = {*execution.gates, "*", f"lane:{execution.lane}"}
        own = [(began, min(ended, self.now)) for name, began, ended in self.pauses + running if name in names]
        edges = sorted({execution.waiting_since, self.now, *(edge for span in own for edge in span)})
        return sum(
            after - before
            for before, after in itertools.pairwise(edges)
            if before >= execution.waiting_since and any(began <= before and after <= ended for began, ended in own)
        )

    def is_stale(self, execution: Execution) -> bool:
        """Whether it waited, pauses not counted, longer than the stale timeout, or is older than it may be."""
        if execution.expires_at is not None and self.now > execution.expires_at:
            return True
        timeout = self.bounds[execution.lane].get("stale_timeout_seconds")
        if timeout is None:
            return False
        waited, allowed = self.now - execution.waiting_since, timeout * 1000
        return waited > allowed and waited - self.paused_ms(execution) > allowed

    def place(self, execution: Execution, at_least: float) -> None:
        """Give it its place in the order."""
        self.fair.place(execution, self.next_time(at_least), self.now, self.pending((execution.lane,)))

    def enter_pending(self, execution: Execution) -> None:
        """From now on it waits, at its place."""
        execution.state = State.PENDING
        execution.waiting_since = self.now

    def enter_scheduled(self, execution: Execution, due: int) -> None:
        """Behind those that are due in the same millisecond."""
        places = [e.due for e in self.in_state(State.SCHEDULED)]
        place = due - STEP_MS
        for millisecond in itertools.count(due):
            place = max(
                (each for each in places if millisecond <= each < millisecond + 1), default=millisecond - STEP_MS
            )
            if place < millisecond + 1 - STEP_MS:
                break
        execution.state = State.SCHEDULED
        execution.due = place + STEP_MS

    def was_sent(self, execution: Execution) -> bool:
        """Whether its parent, as long as that is known, remembers that it has sent it already."""
        parent = self.executions.get(execution.parent)
        return parent is not None and parent.has_record and execution.execution_id in parent.sent

    def accept(self, execution: Execution) -> None:
        """From now on it is known."""
        parent = self.executions.get(execution.parent)
        if parent is not None and parent.has_record:
            parent.sent.add(execution.execution_id)
        self.executions[execution.execution_id] = execution

    @abstractmethod
    def finish(self, execution: Execution, state: State, *, dead: bool = False, unseen: bool = False) -> None:
        """It ends."""

    def having_key(self, key: str) -> Execution | None:
        """Who keeps others with this key out: the last who took it, as long as it said that it would."""
        for taken, execution, at in reversed(self.took):
            if taken == key and execution.unique is not None:
                until = execution.unique.scope
                if isinstance(until, int):
                    return execution if self.now < at + until else None
                is_known = self.executions.get(execution.execution_id) is execution
                keeps = execution.waits or (until is Until.ENDED and not execution.ended)
                is_stale = execution.state is State.PENDING and self.is_stale(execution)
                return execution if is_known and keeps and not is_stale else None
        return None

    def park(
        self, execution: Execution, due: int | None, max_age_ms: int | None
    ) -> tuple[str, ...] | tuple[str, str, int]:
        """The answer: OK with state and position, or a refusal with its detail. What was stale is out already."""
        known = self.executions.get(execution.execution_id)
        if known is not None:
            return "DUPLICATE", known.state
        if self.was_sent(execution):
            return "DUPLICATE", ""
        unique = execution.unique
        other = None if unique is None else self.having_key(unique.key)
        replaces = unique is not None and unique.on_conflict is Conflict.REPLACE
        if other is not None and not (replaces and other.waits):
            return "NOT_UNIQUE", other.execution_id
        bounds = self.bounds[execution.lane]
        most = bounds.get("max_queue_size")
        has_its_place = other is not None and other.lane == execution.lane
        if most is not None and not has_its_place and self.queued(execution.lane) >= most:
            return "QUEUE_FULL", str(most)
        most = bounds.get("max_executions_per_user")
        has_its_users = has_its_place and other is not None and other.user == execution.user
        is_bounded = execution.user and not has_its_users
        if is_bounded and most is not None and self.queued(execution.lane, execution.user) >= most:
            return "USER_LIMIT", str(most)
        if other is not None:
            self.finish(other, State.CANCELLED, unseen=True)
        if unique is not None:
            self.took.append((unique.key, execution, self.now))
        self.accept(execution)
        execution.expires_at = None if max_age_ms is None else self.now + max_age_ms
        if due is not None and due > self.now:
            self.enter_scheduled(execution, due)
            return "OK", State.SCHEDULED, -1
        self.place(execution, self.now)
        self.enter_pending(execution)
        return "OK", State.PENDING, self.pending((execution.lane,)).index(execution)

    def promote(self, bound: int) -> int:
        """What is due, the earliest first."""
        due = sorted(
            (e for e in self.in_state(State.SCHEDULED) if e.due < self.now + 1), key=lambda e: (e.due, e.execution_id)
        )
        for execution in due[:bound]:
            self.before_place(("promote",), (execution.execution_id,))
            self.place(execution, execution.due)
            self.enter_pending(execution)
        return len(due[:bound])

    def eligible(self, lanes: tuple[str, ...]) -> list[Execution]:
        """What the gates let through now, the best first."""
        return [e for e in self.pending(lanes) if not self.is_stale(e) and e.has_payload and self.is_open_to(e)]

    def admissible(self, lanes: tuple[str, ...], max_active: int | None = None) -> list[Execution]:
        """What may start now, the best first."""
        if not self.has_slots():
            return []
        open_lanes = tuple(lane for lane in lanes if f"lane:{lane}" not in self.paused_since)
        eligible = self.eligible(self.with_slots(open_lanes, max_active))
        bests = {e.lane: self.fair.claim(e) for e in reversed(eligible)}
        return sorted(eligible, key=lambda e: bests[e.lane])

    def admit(
        self, lanes: tuple[str, ...], count: int, lease_ms: int, max_active: int | None = None
    ) -> list[tuple[str, int, str, int]]:
        """Grants as (id, attempt, lane, lease length)."""
        grants: list[tuple[str, int, str, int]] = []
        while len(grants) < count and (admissible := self.admissible(lanes, max_active)):
            best = admissible[0]
            self.fair.leave(best, self.now, is_granted=True)
            best.attempt += 1
            best.state = State.RUNNING
            unrenewed = self.settings["start_deadline_ms"] + best.timeout_ms + self.settings["grace_ms"]
            length = lease_ms or unrenewed
            best.lease = self.lease_now + length
            self.note_grant(tuple(best.gates))
            grants.append((best.execution_id, best.attempt, best.lane, length))
        return grants

    def expirable(self) -> Iterable[Execution]:
        """Stale, and so found by a sweep."""
        # What was put off by a pause that, by a clock gone back, has not been that long, is found later.
        return (e for e in self.pending() if self.is_stale(e) and not (self.went_back and self.paused_ms(e)))

    def last_start(self, execution: Execution) -> int | None:
        """The last millisecond in which it may start, if nothing is paused from now on; None: whenever."""
        timeout = self.bounds[execution.lane].get("stale_timeout_seconds")
        of_lane = None if timeout is None else execution.waiting_since + timeout * 1000 + self.paused_ms(execution)
        return min((at for at in (of_lane, execution.expires_at) if at is not None), default=None)
