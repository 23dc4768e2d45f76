"""The naive model of what holds a slot: releases, retries, leases, pods, cancellations, dead letters, leadership."""

from typing import Final

from bandmaster.scheduler.states import HOLDING, State
from model.execution import Execution
from model.waiting_oracle import WaitingOracle

REAPED_BY_ADMIT: Final = 5
PROMOTED_BY_ADMIT: Final = 50
LIVE_CONSUMER_MS: Final = 6_000
NOTED_EACH_MS: Final = 1_000


class Oracle(WaitingOracle):
    """The whole model; its methods answer (code, state) as the scripts do."""

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.rounds_at: int | None = None
        self.extended_to = -1
        self.asked_at: dict[str, int] = {}
        self.leader: tuple[str, int] | None = None
        self.epoch = 0

    def _finish(self, execution: Execution, state: State, *, dead: bool = False) -> None:
        execution.state, execution.dead = state, dead
        execution.has_payload = execution.has_payload and dead

    def _wait_again(self, execution: Execution, delay_ms: int) -> None:
        execution.pod_uid = ""
        if delay_ms > 0:
            self.enter_scheduled(execution, self.now + delay_ms)
        else:
            self.enter_pending(execution)

    def release(
        self, execution_id: str, attempt: int | None, state: State, *, only: str = "", dead: bool = False
    ) -> tuple[str, str]:
        """Only under the current grant; a cancellation decides unless the body had completed."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", ""
        if execution.ended:
            return "ENDED", execution.state
        if not execution.holds or (only and execution.state != only):
            return "NOT_HELD", execution.state
        if attempt is not None and attempt != execution.attempt:
            return "STALE", execution.state
        completed = execution.state is State.RUNNING and state is State.COMPLETED
        if execution.cancel and not completed:
            self._finish(execution, execution.cancel)
        else:
            self._finish(execution, state, dead=dead)
        return "OK", execution.state

    def retry(self, execution_id: str, attempt: int, kind: str, delay_ms: int, *, message: bool) -> tuple[str, str]:
        """Back to waiting; a cancelled one ends instead."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", ""
        if execution.ended:
            return "ENDED", execution.state
        allowed = HOLDING if kind == "infrastructure" else {State.RUNNING}
        if execution.state not in allowed:
            return "NOT_HELD", execution.state
        if attempt != execution.attempt:
            return "STALE", execution.state
        execution.infrastructure += kind == "infrastructure" and execution.cancel is None
        if execution.cancel:
            self._finish(execution, execution.cancel)
        elif execution.infrastructure > self.settings["max_infrastructure_retries"]:
            self._finish(execution, State.FAILED, dead=True)
        else:
            execution.has_payload |= message
            self._wait_again(execution, delay_ms)
        return "OK", execution.state

    def renew(self, execution_id: str, attempt: int, lease_ms: int) -> str:
        """A lease is never shortened."""
        execution = self.executions.get(execution_id)
        if execution is None or not execution.holds or execution.attempt != attempt:
            return "STALE"
        if execution.state is not State.RUNNING:
            lease_ms = self.settings["pod_lease_ttl_ms"]
        execution.lease = max(execution.lease, self.now + (lease_ms or self.settings["lease_ttl_ms"]))
        return "CANCEL" if execution.cancel else "RENEWED"

    def hand_over(self, execution_id: str, attempt: int, pod_uid: str) -> tuple[str, str]:
        """To a pod, which is to be deleted if a cancellation came first."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", ""
        if execution.ended:
            return "ENDED", execution.state
        if attempt != execution.attempt:
            return "STALE", execution.state
        if execution.state is State.RUNNING:
            execution.state = State.CANCELLING if execution.cancel else State.POD
            execution.pod_uid = pod_uid
            execution.lease = self.now + self.settings["pod_lease_ttl_ms"]
        return ("OK" if execution.pod_uid == pod_uid else "NOT_HELD"), execution.state

    def cancel(self, execution_id: str, outcome: State, attempt: int | None) -> tuple[str, str, int, str]:
        """What waits ends; what holds a slot is asked to, once."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", "", 0, ""
        if execution.ended:
            return "ENDED", execution.state, execution.attempt, ""
        if attempt is not None and (execution.waits or attempt != execution.attempt):
            return "STALE", execution.state, execution.attempt, ""
        if execution.waits:
            self._finish(execution, State.CANCELLED)
        elif execution.cancel is None:
            execution.cancel = outcome
            if execution.state is State.POD:
                execution.state = State.CANCELLING
        return "OK", execution.state, execution.attempt, execution.pod_uid

    def remove(self, execution_id: str) -> tuple[str, str]:
        """By force."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", ""
        if execution.ended:
            return "ENDED", execution.state
        self._finish(execution, State.CANCELLED)
        return "OK", execution.state

    def reprioritise(self, execution_id: str, band: int) -> tuple[str, str]:
        """Only while it waits; its time stays."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", ""
        if execution.ended:
            return "ENDED", execution.state
        if not execution.waits:
            return "NOT_WAITING", execution.state
        execution.band = band
        return "OK", execution.state

    def reap(self, bound: int) -> int:
        """Grants whose lease ran out, unless nobody was there to renew: those are extended, once."""
        ttl = self.settings["lease_ttl_ms"]
        last = self.now if self.rounds_at is None else self.rounds_at
        gap = self.now < last or self.now - last > ttl / 2
        if gap or self.rounds_at is None or self.now - last >= 1_000 or bound > 2 * REAPED_BY_ADMIT:
            self.rounds_at = self.now
        running = self.in_state(State.RUNNING)
        if gap:
            until_ms = self.now + ttl - 1
            for execution in running:
                if self.extended_to < execution.lease < until_ms:
                    execution.lease = until_ms
            self.extended_to = until_ms
        expired = sorted((e for e in running if e.lease <= self.now), key=lambda e: (e.lease, e.execution_id))[:bound]
        for execution in expired:
            execution.crashes += 1
            if execution.cancel:
                self._finish(execution, execution.cancel)
            elif execution.crashes > self.settings["max_crashes"]:
                self._finish(execution, State.FAILED, dead=True)
            else:
                self._wait_again(execution, 0)
        return len(expired)

    def elect(self, leader_id: str, epoch: int | None) -> tuple[int, int]:
        """(1, epoch) for the leader, (0, the other's)."""
        if self.leader is None or (self.leader[0] == leader_id and epoch is None):
            self.epoch += 1
            self.leader = (leader_id, self.epoch)
            return 1, self.epoch
        return int(self.leader == (leader_id, epoch)), self.leader[1]

    def note_consumer(self, lane: str) -> None:
        """A consumer asks for this lane; noted if the last note is not of this second."""
        if not 0 <= self.now - self.asked_at.get(lane, -NOTED_EACH_MS) < NOTED_EACH_MS:
            self.asked_at[lane] = self.now

    def is_live(self, lane: str) -> bool:
        """Whether a consumer asked for this lane of late, and it is not paused."""
        asked = self.asked_at.get(lane)
        return asked is not None and self.now - asked <= LIVE_CONSUMER_MS and f"lane:{lane}" not in self.paused_since
