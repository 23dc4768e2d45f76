"""The naive model of what is kept of ends: those that are to be told to their senders, and dead letters."""

from typing import Final

from bandmaster.scheduler.model.states import State
from model.ageing_oracle import AgeingOracle
from model.execution import Execution

DROPPED_A_CALL: Final = 10
ABANDONED_MS: Final = 3_600_000


class EndsOracle(AgeingOracle):
    """Ends, the outboxes, dead letters."""

    def ended_by_script(self, execution_id: str, verb: str) -> None:
        """A script says that it ended this one while it looked for others; it must have had the right to."""
        execution = self.executions[execution_id]
        assert execution.state is State.PENDING
        if verb == "expire":
            assert self.is_stale(execution), "expired, and not stale"
            self.finish(execution, State.EXPIRED, unseen=True)
        else:
            assert not execution.has_payload, "lost, and its event is there"
            self.finish(execution, State.FAILED)

    def finish(self, execution: Execution, state: State, *, dead: bool = False, unseen: bool = False) -> None:
        """It ends; what nobody saw is posted, if it was a message."""
        self.fair.leave(execution, self.now)
        execution.state = state
        is_posted = unseen and execution.has_message and not execution.has_event
        if dead or is_posted:
            # It has the place of an earlier end of its id.
            place = execution.execution_id, execution.lane
            self.outlived = [e for e in self.outlived if (e.execution_id, e.lane) != place]
        if dead:
            execution.dead_at = self.now
        if is_posted:
            execution.untold_from = self.lease_now
            if self.is_abandoned(execution.lane):
                self._drop_excess(self.posted(execution.lane))
        if dead:
            self.drop_dead()
        if not execution.is_kept:
            execution.lose_payload()

    def is_abandoned(self, lane: str) -> bool:
        """Whether no consumer has asked for this lane for so long that its ends are bounded."""
        asked = self.asked_at.get(lane)
        return asked is None or abs(self.now - asked) > ABANDONED_MS

    def posted(self, lane: str) -> list[Execution]:
        """What a lane's outbox has: ends that are to be told, and those whose record is gone."""
        ended = (*self.executions.values(), *self.outlived)
        return [e for e in ended if e.lane == lane and e.untold_from is not None]

    def keep_dead(self, execution: Execution) -> None:
        """For somebody to look at."""
        execution.dead_at = self.now
        self.drop_dead()

    def dead_for_too_long(self) -> list[Execution]:
        """Dead letters whose time is over."""
        before = self.now - self.settings["dead_message_ttl_seconds"] * 1000
        return [e for e in self.executions.values() if e.dead_at is not None and e.dead_at <= before]

    def dropped_by_script(self, execution_id: str) -> None:
        """A script says that the time of this dead letter is over."""
        execution = self.executions[execution_id]
        assert execution in self.dead_for_too_long(), "dropped before its time"
        execution.dead_at = None
        if not execution.is_kept:
            execution.lose_payload()

    def drop_dead(self) -> None:
        """Dead letters beyond their number."""
        self._drop_excess([e for e in self.executions.values() if e.dead_at is not None], of_dead=True)

    def _drop_excess(self, kept: list[Execution], *, of_dead: bool = False) -> None:
        def since(execution: Execution) -> tuple[int, str]:
            return (execution.dead_at if of_dead else execution.untold_from) or 0, execution.execution_id

        excess = min(len(kept) - self.settings["max_dead_messages"], DROPPED_A_CALL)
        for execution in sorted(kept, key=since)[: max(0, excess)]:
            if of_dead:
                execution.dead_at = None
            else:
                execution.untold_from = None
                self.outlived = [e for e in self.outlived if e is not execution]
            if not execution.is_kept:
                execution.lose_payload()
