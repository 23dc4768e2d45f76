"""``ApiFigures``: counts of everything through the admin API.

In the flow: one side of `port.Figures`; reads only. The server and the backend are beside Redis, and the API tells
nothing of them.
"""

from datetime import UTC, datetime
from typing import Any

from bandmaster.admin.client import calls
from bandmaster.admin.client.errors import ApiProblem
from bandmaster.cli.desk.answers import action_of, gates_of, lane_of, verdict_of, wait_sums_of, worker_of
from bandmaster.cli.desk.told import HistoryUnavailable, Ledger, Standing, WaitSums
from bandmaster.cli.opening import warning_of_missing
from bandmaster.cli.times import ms_of
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.judging import foremost_actions
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.overview import ActionLoad, LaneLoad
from bandmaster.scheduler.verdicts import ordered
from bandmaster.scheduler.views import Leader
from bandmaster.scheduler.workers import WorkerSigned


class ApiFigures:
    """Counts that an API tells. Every method raises ApiProblem and ApiUnavailable."""

    def __init__(self, client: Any, url: str) -> None:
        """Args: `client`, a `bandmaster.client.Client`, which another extra brings; `url`, where it calls."""
        self._send = client.send
        self._url = url

    def standing(self) -> Standing:
        """The queue at a glance."""
        answer = self._send(calls.lanes())
        lanes = [lane_of(each) for each in answer.lanes]
        status, ready = self._send(calls.queue()), self._send(calls.readiness())
        gates = self.gates()
        of_actions = [self._send(calls.queue_stats(each)).verdicts for each in foremost_actions(gates)]
        return Standing(
            lanes=lanes,
            gates=gates,
            paused={name: ms_of(since) for name, since in self._send(calls.paused()).paused.items()},
            settings={each.name: each.value for each in self._send(calls.settings()).settings},
            dead_count=status.dead_count,
            leader=None if answer.leader is None else Leader(answer.leader, answer.leader_epoch or 0),
            now_ms=ms_of(status.as_of),
            worker_asked_ms_ago=next(load.asked_ms_ago for load, _ in lanes if load.lane == DEFAULT_LANE),
            api=self._url,
            server=None,
            backend=None,
            ledger=Ledger(ready.ledger, ready.written),
            verdicts=ordered(verdict_of(each) for told in (status.verdicts, *of_actions) for each in told),
        )

    def missing_worker(self, lane: str) -> str | None:
        """A warning if no worker has lately asked for a lane, and the token may know; else None."""
        try:
            lanes = self.lanes()
        except ApiProblem as problem:
            if problem.code == "forbidden":
                return None
            raise
        return warning_of_missing(lane, next((each.asked_ms_ago for each in lanes if each.lane == lane), None))

    def gates(self) -> list[GateLoad]:
        """Gates, the most blocked first."""
        return gates_of(self._send(calls.gates()))

    def lanes(self) -> list[LaneLoad]:
        """Lanes, by name."""
        return [lane_of(each)[0] for each in self._send(calls.lanes()).lanes]

    def workers(self) -> list[WorkerSigned]:
        """Worker processes that live; on which machine, and what others run, is told to operators."""
        return [worker_of(each) for each in self._send(calls.workers()).workers]

    def actions(self) -> list[ActionLoad]:
        """Actions, the least used first."""
        return [action_of(each) for each in reversed(self._send(calls.actions()).actions)]

    def waited(self, by: str, since_ms: int) -> WaitSums:
        """What was waited for since some hour."""
        since = datetime.fromtimestamp(since_ms / 1000, UTC)
        try:
            answer = self._send(calls.waited(by, ended_from=since))
        except ApiProblem as problem:
            if problem.code == "ledger_unavailable":
                raise HistoryUnavailable(f"what was waited for cannot be told: {problem.detail}") from None
            raise
        return wait_sums_of(answer)
