"""The naive model of ageing: what has waited so long in its band rises by one, at most to HIGH."""

from typing import Final

from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from model.execution import Execution
from model.waiting_oracle import WaitingOracle

RISES_TO: Final = int(Priority.HIGH)


class AgeingOracle(WaitingOracle):
    """Moves of what waits to other bands."""

    def rises_at(self, execution: Execution) -> int | None:
        """When one that waits rises; None: it stays in its band. Pauses count."""
        seconds = self.bounds[execution.lane].get("ageing_seconds")
        if seconds is None or execution.band <= RISES_TO:
            return None
        return max(execution.waiting_since, execution.band_since) + seconds * 1000

    def overdue(self) -> list[Execution]:
        """What has waited long enough to rise."""
        return [e for e in self.pending() if (at := self.rises_at(e)) is not None and at <= self.now]

    def raised_by_script(self, execution_id: str, band: int) -> None:
        """A script says that it let this one rise to a band; it must have had the right to."""
        execution = self.executions[execution_id]
        assert execution.state is State.PENDING
        assert execution in self.overdue(), "rose too early, or in a lane where nothing does"
        assert band == execution.band - 1
        self.move(execution, band)

    def move(self, execution: Execution, band: int) -> None:
        """One that waits now: at its own time; in a fair lane, at a new tag."""
        if band == execution.band:
            return
        execution.band_since = self.now
        if execution.lane in self.fair.kinds:
            others = [e for e in self.pending((execution.lane,)) if e is not execution]
            time = execution.accepted_at if execution.time is None else execution.time
            self.fair.leave(execution, self.now)
            execution.band = band
            self.fair.place(execution, time, self.now, others)
        execution.band = band
