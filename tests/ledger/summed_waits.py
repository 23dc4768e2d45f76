"""Sums of waits as a test brings them up to date, and as they are if every single answer is added up."""

from collections import Counter
from typing import Any

from ledger_reading import Reading
from sqlalchemy import select, text

from bandmaster.ledger.book import Book
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.looking import execution_of
from bandmaster.ledger.schema.tables import executions
from bandmaster.ledger.waits.in_force import in_force
from bandmaster.ledger.waits.summing import Summing
from bandmaster.ledger.waits.telling import waits_told
from bandmaster.scheduler.queue import ExecutionQueueService

ROUNDS = 2_000
Sums = dict[tuple[str, str, str, str], tuple[int, int]]
"""By what, name, cause and what it waited behind: milliseconds and waits, of all hours."""


class Rounds:
    """Rounds of the summing, each as soon as it is asked for. A second goes by between two waits."""

    def __init__(self, queue: ExecutionQueueService, book: Book, **options: Any) -> None:
        """Args: `queue` and `book`, of the consumer; `options`, of `Summing`: by default a round is of one wait."""
        self._seconds = 0.0
        self._book = book
        self.summing = Summing(queue, book, **options, clock=self._clock)

    def _clock(self) -> float:
        self._seconds += 1
        return self._seconds

    def one(self) -> int:
        """Do one round; how many waits were counted."""
        position = self._book.position()
        assert position is not None
        self._seconds += 10**6
        return self.summing.step(position, is_idle=True)

    def all(self) -> int:
        """Sum all that there is; how many waits were counted."""
        counted = 0
        for _ in range(ROUNDS):
            if self._is_done():
                return counted
            counted += self.one()
        raise AssertionError("the ledger has not read what the rounds wait for")

    def _is_done(self) -> bool:
        place = "journal_id, entry_ms, entry_number"
        with self._book.reading() as connection:
            last = text(f"SELECT {place} FROM transitions ORDER BY 1 DESC, 2 DESC, 3 DESC LIMIT 1")
            summed = text(f"SELECT {place} FROM wait_positions ORDER BY 1 DESC LIMIT 1")
            return connection.execute(last).one_or_none() == connection.execute(summed).one_or_none()


def sums_of(reading: Reading) -> Sums:
    """What the ledger has."""
    rows = reading.rows(
        "SELECT by_what, name, cause, behind, SUM(ms) AS ms, SUM(waits) AS waits FROM wait_sums "
        "GROUP BY by_what, name, cause, behind"
    )
    return {
        (row["by_what"], row["name"], row["cause"], row["behind"]): (int(row["ms"]), int(row["waits"])) for row in rows
    }


def counts_of(reading: Reading, by: str = "action") -> tuple[int, int, int, int]:
    """How many waits ended, are summed, sampled, incomplete."""
    (row,) = reading.rows(
        "SELECT SUM(waits) AS waits, SUM(summed) AS summed, SUM(sampled) AS sampled, SUM(incomplete) AS incomplete "
        "FROM wait_counts WHERE by_what = :by",
        by=by,
    )
    return tuple(int(row[name] or 0) for name in ("waits", "summed", "sampled", "incomplete"))  # type: ignore[return-value]


def naive_sums(queue: ExecutionQueueService, database: Database) -> tuple[Sums, int, int]:
    """Every answer about a single execution, added up; how many of these waits ended, and how many are estimated."""
    ms, waits, ended = Counter[tuple[str, str, str, str]](), Counter[tuple[str, str, str, str]](), 0
    sampled = 0
    with database.reading() as connection:
        for one in connection.execute(select(executions.c.execution_id)).scalars().all():
            row = execution_of(connection, one)
            assert row is not None
            told = waits_told(connection, row, in_force(queue, row.lane))
            assert told.complete
            for each in told.waits:
                if each.wait.ended_by is None:
                    continue
                ended += 1
                sampled += each.sampled
                for part in each.parts:
                    behind = {"lane": f"lane:{part.name}", "everything": "*"}.get(part.cause, part.name)
                    keys = [("action", row.action, part.cause.value, behind)]
                    keys += [("user", row.user_id, part.cause.value, behind)] if row.user_id else []
                    keys += [("gate", behind, part.cause.value, "")] if behind else []
                    for key in keys:
                        ms[key] += part.ms
                        waits[key] += 1
    return {key: (ms[key], waits[key]) for key in waits}, ended, sampled
