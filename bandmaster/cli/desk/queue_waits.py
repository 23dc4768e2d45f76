"""What an execution waited for, beside Redis: from the ledger, where there is one that answers.

In the flow: `queue_executions.py` asks here for what ``bandmaster show`` prints.
"""

from typing import Any

from bandmaster.cli.desk.desk_ledger import DeskLedger
from bandmaster.cli.desk.told import HistoryUnavailable, SumPart, Wait, Waits, WaitSum, WaitSums
from bandmaster.configs.extras import import_extra
from bandmaster.ledger.errors import LedgerError
from bandmaster.ledger.waits.summed_by import By
from bandmaster.scheduler.engine.record import Record
from bandmaster.scheduler.queue import ExecutionQueueService


def waits_of(queue: ExecutionQueueService, ledger: DeskLedger, record: Record) -> Waits | None:
    """Return the waits of an execution; None if there is no ledger that answers."""
    asking = ledger.asking() if record.lane else None
    if asking is None:
        return None
    looking: Any = import_extra("bandmaster.ledger.queries.looking", "ledger")
    telling: Any = import_extra("bandmaster.ledger.waits.telling", "ledger")
    now = import_extra("bandmaster.ledger.waits.in_force", "ledger").in_force(queue, record.lane)

    def read() -> Any:
        with asking.reading() as connection:
            row = looking.execution_of(connection, record.execution_id)
            # One that had its id before, or one of which the ledger has not read yet, is another.
            is_this = row is not None and looking.is_of(row, record)
            return telling.waits_told(connection, row, now) if is_this else None

    try:
        told = asking.soon(read)
    except LedgerError:
        return None
    if told is None:
        return Waits([], complete=False)
    waits = [Wait(each.wait.attempt, each.wait.span.length_ms, each.parts, each.sampled) for each in told.waits]
    return Waits(waits, told.complete)


def wait_sums_of(ledger: DeskLedger, by: str, since_ms: int, now_ms: int) -> WaitSums:
    """Return the sums of waits that ended since some hour.

    Raises:
        HistoryUnavailable: If there is no ledger that answers.
    """
    asking = ledger.asking()
    if asking is None:
        raise HistoryUnavailable("what was waited for cannot be told: there is no ledger here")
    summaries: Any = import_extra("bandmaster.ledger.waits.summary", "ledger")

    def read() -> Any:
        with asking.reading() as connection:
            return summaries.wait_summary(connection, By(by), since_ms, now_ms + 1)

    try:
        found = asking.soon(read)
    except LedgerError as error:
        raise HistoryUnavailable(f"what was waited for cannot be told: {error}") from None
    sums = [
        WaitSum(one.name, one.ms, one.waits, one.summed, [SumPart(e.cause, e.behind, e.ms, e.waits) for e in one.parts])
        for one in found.sums
    ]
    counts = found.counts
    return WaitSums(counts.waits, counts.summed, counts.sampled, counts.incomplete, sums)
