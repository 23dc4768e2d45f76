"""What an execution waited for, beside Redis: from the ledger, where there is one that answers.

In the flow: `queue_executions.py` asks here for what ``bandmaster show`` prints. What reads the ledger takes long to
import, so it is only where there is something to read.
"""

from typing import Any

from bandmaster.cli.desk.told import Wait, Waits
from bandmaster.cli.opening import Opened
from bandmaster.configs.errors import ExtraMissing, SettingsError
from bandmaster.configs.extras import import_extra
from bandmaster.ledger.errors import LedgerError
from bandmaster.scheduler.engine.record import Record


def waits_of(bandmaster: Opened, record: Record) -> Waits | None:
    """Return the waits of an execution; None if there is no ledger that answers."""
    settings = bandmaster.settings
    try:
        if not record.lane or not (settings.ledger.url or settings.paths.ledger_file.exists()):
            return None
        opening = import_extra("bandmaster.ledger.opening", "ledger")
        asking_of = import_extra("bandmaster.ledger.queries.asking", "ledger").Asking
        looking = import_extra("bandmaster.ledger.queries.looking", "ledger")
        telling = import_extra("bandmaster.ledger.waits.telling", "ledger")
        now = import_extra("bandmaster.ledger.waits.in_force", "ledger").in_force(bandmaster.queue, record.lane)
        asking = asking_of(opening.database_of(settings), queue=settings.redis.prefix)
    except (ExtraMissing, SettingsError):
        return None

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
