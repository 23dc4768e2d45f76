"""``QueueExecutions``: executions beside Redis, by the queue's own service.

In the flow: one side of `port.Executions`. The timeline comes from the journal, as far back as that reaches. A command
that dies between two calls leaves what each of them made.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from bandmaster.cli.desk.desk_ledger import DeskLedger
from bandmaster.cli.desk.queue_waits import waits_of
from bandmaster.cli.desk.told import Listed, Moved, Refusal, Shown
from bandmaster.cli.failures import read_failure
from bandmaster.cli.opening import Opened
from bandmaster.k8s.errors import PodError
from bandmaster.middleware.operations.cancelling import cancel
from bandmaster.scheduler.engine.grants import Cancellation, Code, Parked
from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.engine.record import Record, Result, read_records, read_result
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.finding import find_id
from bandmaster.scheduler.model.errors import InvalidRequest, QueueRejected, UnknownExecution
from bandmaster.scheduler.model.operators import user_at_host
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import TERMINAL
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.selecting import Wanted, selected

SENT_A_CALL: Final = 100
WORDS_MAX_CHARS: Final = 300
_STAMPED: Final = {"park": "accepted_at", "admit": "granted_at"}
"""Transitions whose time is also in the record."""


class QueueExecutions:
    """Executions of a queue beside Redis."""

    reads_a_second = 5_000.0

    def __init__(self, bandmaster: Opened, ledger: DeskLedger) -> None:
        self._bandmaster = bandmaster
        self._ledger = ledger
        self._queue = bandmaster.queue

    def now_ms(self) -> int:
        """The time of the server's clock."""
        return self._queue.views.server_time_ms()

    def find(self, typed: str) -> str:
        """The id that was meant, by itself or by its beginning."""
        return find_id(self._queue, typed)

    def listed(self, group: str, wanted: Wanted, most: int) -> Listed:
        """The first executions of a group that pass the filters."""
        found = list(islice(selected(self._queue, group, wanted), most + 1))
        return Listed(found[:most], len(found) > most)

    def every(self, group: str, wanted: Wanted) -> list[Record]:
        """All of them."""
        return list(selected(self._queue, group, wanted))

    def shown(self, execution_id: str) -> Shown:
        """All that is told of one."""
        queue = self._queue
        try:
            explanation = queue.explain(execution_id)
        except UnknownExecution:
            explanation = None
        meta = {} if explanation is None else explanation.meta
        timeline = timeline_of(queue, execution_id, meta.get("accepted_at"))
        meta = told_by(timeline) | meta
        if "state" not in meta:
            raise UnknownExecution(execution_id=execution_id)
        record = Record.from_meta(execution_id, meta, None if explanation is None else explanation.position)
        event = read_event(queue, execution_id)
        return Shown(
            record,
            reasons=[] if explanation is None else explanation.reasons,
            timeline=timeline,
            event=event,
            result=self.result(execution_id),
            now_ms=self.now_ms(),
            waits_for=self.pod_waits_for(record),
            waits=waits_of(self._queue, self._ledger, record),
            failure=None if event is not None else read_failure(queue, execution_id),
        )

    def records(self, execution_ids: Sequence[str]) -> dict[str, Record]:
        """The records of those that are known, in order."""
        return read_records(self._queue.views, list(execution_ids))

    def result(self, execution_id: str) -> Result | None:
        """Its stored result."""
        return read_result(self._queue.views, execution_id)

    def pod_waits_for(self, record: Record) -> str:
        """What its pod waits for, in the backend's words; empty: nothing, or it is not known."""
        if record.pod is None or record.ended:
            return ""
        try:
            return " ".join(self._bandmaster.pods().waits_for(record.pod).split())[:WORDS_MAX_CHARS]
        except PodError:
            return ""

    def submit(self, events: Sequence[ExecutionRequestedEvent]) -> Iterator[Parked | Refusal]:
        """Send them a hundred a call, each accepted or refused on its own."""
        for start in range(0, len(events), SENT_A_CALL):
            for outcome in self._queue.enqueue_many(events[start : start + SENT_A_CALL], by=user_at_host()):
                yield Refusal(outcome.code, str(outcome)) if isinstance(outcome, QueueRejected) else outcome

    def cancel(self, execution_id: str, reason: str) -> Cancellation:
        """End one that waits; ask one that runs to end."""
        return cancel(self._queue, self._bandmaster.dramatiq_broker(), execution_id, reason=reason)

    def move(self, execution_id: str, band: Priority) -> Moved:
        """Move one that waits to another priority."""
        code, state = self._queue.transitions.reprioritise(execution_id, int(band))
        return Moved(code, state, self._queue.explain(execution_id).position if code is Code.OK else None)


def timeline_of(queue: ExecutionQueueService, execution_id: str, accepted_ms: str | None) -> list[JournalEntry]:
    """The execution's transitions; the journal is read only from its acceptance on."""
    after = None if accepted_ms is None else str(int(accepted_ms) - 1)
    return [entry for entry in queue.journal.entries(after=after) if entry.execution_id == execution_id]


def told_by(timeline: list[JournalEntry]) -> dict[str, str]:
    """The fields of an execution's record as far as the journal has them, for when the record is gone."""
    told: dict[str, str] = {}
    for each in timeline:
        told = each.fields if each.verb == "park" else told | each.fields
        if each.verb in _STAMPED:
            told[_STAMPED[each.verb]] = str(each.at_ms)
        if told.get("state") in TERMINAL:
            told.setdefault("ended_at", str(each.at_ms))
    return told


def read_event(queue: ExecutionQueueService, execution_id: str) -> ExecutionRequestedEvent | None:
    """The event, if it is still kept and can be read."""
    raw = queue.views.event(execution_id)
    try:
        return None if raw is None else ExecutionRequestedEvent.from_json(raw)
    except InvalidRequest:
        return None
