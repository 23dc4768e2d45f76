"""``QueueFigures``: counts of everything beside Redis, by the queue's own service, its server and its backend.

In the flow: one side of `port.Figures`; reads only. A backend that does not answer is told of and is no failure: the
queue's own figures are all the more useful then.
"""

from typing import Any

from bandmaster.cli.desk.desk_ledger import DeskLedger
from bandmaster.cli.desk.queue_waits import wait_sums_of
from bandmaster.cli.desk.told import Backend, Ledger, Server, Standing, WaitSums
from bandmaster.cli.opening import Opened
from bandmaster.configs.errors import SettingsError
from bandmaster.configs.extras import import_extra
from bandmaster.configs.redaction import redacted_url
from bandmaster.k8s.errors import PodError
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.judging import foremost_actions, judged_actions, judged_lanes
from bandmaster.scheduler.lanes import all_lanes
from bandmaster.scheduler.overview import ActionLoad, LaneLoad
from bandmaster.scheduler.server.connection import redis_url
from bandmaster.scheduler.verdicts import Verdict, ordered
from bandmaster.scheduler.workers import Workers, WorkerSigned


class QueueFigures:
    """Counts of a queue beside Redis."""

    def __init__(self, bandmaster: Opened, ledger: DeskLedger) -> None:
        self._bandmaster = bandmaster
        self._desk_ledger = ledger
        self._queue = bandmaster.queue

    def answer(self) -> None:
        """Return when the server has answered."""
        self._queue.views.server_time_ms()

    def standing(self) -> Standing:
        """The queue at a glance."""
        queue = self._queue
        status = queue.views.status()
        said = self._bandmaster.server()
        url = redacted_url(redis_url(self._bandmaster.settings))
        lanes = all_lanes(queue)
        gates = queue.gates.all()
        ledger, of_ledger = self._ledger()
        on_queue = judged_lanes(queue, [figures for _, figures in lanes])
        return Standing(
            lanes=lanes,
            gates=gates,
            paused=queue.controls.paused(),
            settings=status.settings,
            dead_count=status.dead_count,
            leader=queue.views.leader(),
            now_ms=queue.views.server_time_ms(),
            worker_asked_ms_ago=queue.views.asked_ms_ago(queue.lane),
            api=None,
            server=Server(url, said.kind, said.version, said.eviction_policy),
            backend=self._backend(),
            ledger=ledger,
            verdicts=ordered([*on_queue, *judged_actions(queue, foremost_actions(gates)), *of_ledger]),
        )

    def missing_worker(self, lane: str) -> str | None:
        """A warning if no worker has lately asked for a lane; else None."""
        return self._bandmaster.missing_worker(lane)

    def gates(self) -> list[GateLoad]:
        """Gates, the most blocked first."""
        return self._queue.gates.all()

    def lanes(self) -> list[LaneLoad]:
        """Lanes, by name."""
        return self._queue.overview.lanes()

    def workers(self) -> list[WorkerSigned]:
        """Worker processes that live, those that began first before the others."""
        return Workers(self._queue.scripts).alive()

    def actions(self) -> list[ActionLoad]:
        """Actions, the least used first."""
        return self._queue.overview.actions()

    def waited(self, by: str, since_ms: int) -> WaitSums:
        """What was waited for since some hour."""
        return wait_sums_of(self._desk_ledger, by, since_ms, self._queue.views.server_time_ms())

    def ledger(self) -> Ledger | None:
        """Whether the history is read and written; None: there is none."""
        return self._ledger()[0]

    def _backend(self) -> Backend:
        name = self._bandmaster.settings.k8s.backend
        try:
            pods = self._bandmaster.pods()
            name = pods.describe()
            pods.ping()
        except (PodError, SettingsError) as error:
            return Backend(name, str(error))
        return Backend(name)

    def _ledger(self) -> tuple[Ledger | None, list[Verdict]]:
        """The history, where there is one, and what there is to say of it."""
        asking = self._desk_ledger.asking()
        if asking is None:
            return None, []
        judging: Any = import_extra("bandmaster.ledger.queries.judging", "ledger")
        judged = judging.judged_ledger(lambda: asking.soon(asking.progress), self._queue.scripts)
        return Ledger(judged.is_read, judged.is_written), judged.verdicts
