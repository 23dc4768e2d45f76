"""The naive model of what holds a slot: releases, retries, leases, pods, cancellations, dead letters, leadership."""

from typing import Final

from bandmaster.scheduler.engine.settlements import Retry, Settlement
from bandmaster.scheduler.model.states import HOLDING, State
from model.ends_oracle import EndsOracle
from model.execution import Execution
from model.lease_clock import NOTED_EACH_MS, REPAIRED_EACH_MS

REAPED_A_CALL: Final = 5
PROMOTED_A_CALL: Final = 50
LIVE_CONSUMER_MS: Final = 6_000


class Oracle(EndsOracle):
    """The whole model; its methods answer (code, state) as the scripts do."""

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.leader: tuple[str, int] | None = None
        self.epoch = 0

    @staticmethod
    def is_holder(execution: Execution, attempt: int | None, holder: str) -> bool:
        """Whether a caller who gives this attempt, and names itself so, may act."""
        if attempt is not None and attempt != execution.attempt:
            return False
        kind, _, uid = holder.partition(":")
        if kind == "pod":
            return execution.pod_uid in ("", uid)
        return holder in ("", execution.nonce)

    def repair(self) -> bool:
        """What every admission does beside its own work; returns whether nothing was left for another call."""
        promoted = self.promote(PROMOTED_A_CALL)
        return self.reap(REAPED_A_CALL) < REAPED_A_CALL and promoted < PROMOTED_A_CALL

    def repair_now_and_then(self) -> None:
        """What a settlement does beside its own work, unless another did just now."""
        if self._repaired_at is None or abs(self.now - self._repaired_at) >= REPAIRED_EACH_MS:
            self._repaired_at = self.now if self.repair() else None

    def _wait_again(self, execution: Execution, delay_ms: int, *, at_end: bool = False) -> None:
        execution.pod_uid = ""
        self.before_place(("retry", "hand_back", "reap"), (execution.execution_id,))
        if delay_ms > 0:
            self.enter_scheduled(execution, self.now + delay_ms)
        else:
            if at_end:
                self.place(execution, self.now)
            else:
                self.fair.place_again(execution, self.pending((execution.lane,)))
            self.enter_pending(execution)

    def settle(self, settlement: Settlement) -> tuple[str, str]:
        """One slot is given back, whatever else the same call does."""
        name, attempt, holder = settlement.execution_id, settlement.attempt, settlement.holder
        if isinstance(settlement, Retry):
            message, delay_ms = bool(settlement.message), settlement.delay_ms
            return self.retry(name, settlement.attempt, settlement.kind, delay_ms, holder=holder, message=message)
        only, dead = settlement.only or "", settlement.dead
        return self.release(name, attempt, settlement.state, holder=holder, only=only, dead=dead)

    def release(
        self,
        execution_id: str,
        attempt: int | None,
        state: State,
        *,
        holder: str = "",
        only: str = "",
        dead: bool = False,
    ) -> tuple[str, str]:
        """Only under the current grant; a cancellation decides unless the body had completed."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", ""
        if execution.ended:
            return "ENDED", execution.state
        if not execution.holds or (only and execution.state != only):
            return "NOT_HELD", execution.state
        if not self.is_holder(execution, attempt, holder):
            return "STALE", execution.state
        completed = execution.state is State.RUNNING and state is State.COMPLETED
        if execution.cancel and not completed:
            self.finish(execution, execution.cancel)
        else:
            self.finish(execution, state, dead=dead)
        return "OK", execution.state

    def retry(
        self, execution_id: str, attempt: int, kind: str, delay_ms: int, *, holder: str = "", message: bool
    ) -> tuple[str, str]:
        """Back to waiting; a cancelled one ends instead."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", ""
        if execution.ended:
            return "ENDED", execution.state
        allowed = HOLDING if kind == "infrastructure" else {State.RUNNING}
        if execution.state not in allowed:
            return "NOT_HELD", execution.state
        if not self.is_holder(execution, attempt, holder):
            return "STALE", execution.state
        execution.infrastructure += kind == "infrastructure" and execution.cancel is None
        if execution.cancel:
            self.finish(execution, execution.cancel, unseen=True)
        elif execution.infrastructure > self.settings["max_infrastructure_retries"]:
            self.finish(execution, State.FAILED, dead=True)
        else:
            execution.has_message |= message
            self._wait_again(execution, delay_ms, at_end=kind == "requeue")
        return "OK", execution.state

    def renew(self, execution_id: str, attempt: int, holder: str, lease_ms: int) -> str:
        """A lease is never shortened."""
        execution = self.executions.get(execution_id)
        if execution is None or not execution.holds or not self.is_holder(execution, attempt, holder):
            return "STALE"
        if execution.state is not State.RUNNING:
            lease_ms = self.settings["pod_lease_ttl_ms"]
        execution.lease = max(execution.lease, self.lease_now + (lease_ms or self.settings["lease_ttl_ms"]))
        return "CANCEL" if execution.cancel else "RENEWED"

    def hand_over(self, execution_id: str, attempt: int, holder: str, pod_uid: str) -> tuple[str, str, int]:
        """To a pod; the last answer is whether that one shall run."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", "", 0
        if execution.ended:
            return "ENDED", execution.state, 0
        wanted = int(
            execution.state in (State.RUNNING, State.POD)
            and execution.cancel is None
            and attempt == execution.attempt
            and execution.pod_uid in ("", pod_uid)
        )
        if not self.is_holder(execution, attempt, holder):
            return "STALE", execution.state, wanted
        if execution.state is State.RUNNING:
            execution.state = State.CANCELLING if execution.cancel else State.POD
            execution.pod_uid = pod_uid
            execution.lease = self.lease_now + self.settings["pod_lease_ttl_ms"]
        return ("OK" if execution.pod_uid == pod_uid else "NOT_HELD"), execution.state, wanted

    def cancel(
        self, execution_id: str, outcome: State, attempt: int | None, among: tuple[State, ...] | None
    ) -> tuple[str, str, int, str]:
        """What waits ends; what holds a slot is asked to, once; only one in these states, if they are given."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", "", 0, ""
        if execution.ended:
            return "ENDED", execution.state, execution.attempt, ""
        if among is not None and execution.state not in among:
            return "STALE", execution.state, execution.attempt, ""
        if attempt is not None and (execution.waits or attempt != execution.attempt):
            return "STALE", execution.state, execution.attempt, ""
        if execution.waits:
            self.finish(execution, State.CANCELLED, unseen=True)
        elif execution.cancel is None:
            execution.cancel = outcome
            if execution.state is State.POD:
                execution.state = State.CANCELLING
        return "OK", execution.state, execution.attempt, execution.pod_uid

    def remove(self, execution_id: str, *, silent: bool) -> tuple[str, str]:
        """By force."""
        execution = self.executions.get(execution_id)
        if execution is None:
            return "UNKNOWN", ""
        if execution.ended:
            return "ENDED", execution.state
        self.finish(execution, State.CANCELLED, unseen=not silent)
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
        if execution.state is State.PENDING:
            self.move(execution, band)
        execution.band = band
        return "OK", execution.state

    def reap(self, bound: int) -> int:
        """Grants whose lease ran out."""
        ended = [e for e in self.in_state(State.RUNNING) if e.lease <= self.lease_now]
        expired = sorted(ended, key=lambda e: (e.lease, e.execution_id))[:bound]
        for execution in expired:
            execution.crashes += 1
            if execution.cancel:
                self.finish(execution, execution.cancel, unseen=True)
            elif execution.crashes > self.settings["max_crashes"]:
                self.finish(execution, State.FAILED, dead=True, unseen=True)
            else:
                self._wait_again(execution, 0)
        return len(expired)

    def untold(self, lane: str) -> list[Execution]:
        """Whose end may be collected from a lane's outbox now, in the order of collecting."""
        ready = [e for e in self.posted(lane) if (e.untold_from or 0) <= self.lease_now]
        return sorted(ready, key=lambda e: (e.untold_from, e.execution_id))

    def collect(self, lane: str, count: int, taken_ms: int) -> list[tuple[str, str]]:
        """(id, state) of what is taken; nobody else is given it for a while."""
        taken: list[Execution] = []
        for execution in self.untold(lane):
            if len(taken) == count:
                break
            if any(execution is each for each in self.outlived):
                self.outlived = [e for e in self.outlived if e is not execution]
            else:
                taken.append(execution)
        for execution in taken:
            execution.untold_from = self.lease_now + taken_ms
        return [(e.execution_id, e.state.value) for e in taken]

    def tell(self, execution_id: str, *, is_its_end: bool, dead: bool) -> int:
        """Its end was told."""
        execution = self.executions.get(execution_id)
        if execution is None or execution.untold_from is None or not is_its_end:
            return 0
        execution.untold_from = None
        if dead:
            self.keep_dead(execution)
        if not execution.is_kept:
            execution.lose_payload()
        return 1

    def elect(self, leader_id: str, epoch: int | None) -> tuple[int, int]:
        """(1, epoch) for the leader, (0, the other's)."""
        if self.leader is None or (self.leader[0] == leader_id and epoch is None):
            self.epoch += 1
            self.leader = (leader_id, self.epoch)
            return 1, self.epoch
        return int(self.leader == (leader_id, epoch)), self.leader[1]

    def note_consumers(self, lanes: tuple[str, ...]) -> None:
        """Consumers ask for these lanes; noted if the last note is not of this second."""
        for lane in lanes:
            if abs(self.now - self.asked_at.get(lane, -NOTED_EACH_MS)) >= NOTED_EACH_MS:
                self.asked_at[lane] = self.now

    def is_live(self, lane: str) -> bool:
        """Whether a consumer asked for this lane of late, and it is not paused."""
        asked = self.asked_at.get(lane)
        return (
            asked is not None and abs(self.now - asked) <= LIVE_CONSUMER_MS and f"lane:{lane}" not in self.paused_since
        )
