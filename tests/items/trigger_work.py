"""Triggers for the tests: made, fired by rounds of this process, and what came of it."""

from typing import Any

from sqlalchemy import select, update
from work_items import make

from bandmaster.items.opened import Items
from bandmaster.items.settling import settle
from bandmaster.items.store import Store, now_of
from bandmaster.items.trigger import Trigger, TriggerType
from bandmaster.items.trigger_rounds import Rounds
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.tables import executions, firings, queue_items, triggers
from bandmaster.scheduler.events.schedule import instant_of
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService


class Work:
    """A ledger with its consumer and its triggers, a queue of items, and a clock that is turned."""

    def __init__(self, items: Items, database: Database, queue: ExecutionQueueService) -> None:
        self.items, self.database, self.queue = items, database, queue
        self.later_ms = 0
        self.leads = True
        self.rounds = self.another_round(items.store)
        self.consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test", settle=settle))
        assert self.consumer.begin()

    def another_round(self, store: Store) -> Rounds:
        return Rounds(
            store,
            self.queue,
            leads=lambda _: self.leads,
            consumes=lambda: self.leads,
            has_read_all=lambda: self.consumer.has_read_all,
            now=lambda connection: now_of(connection) + self.later_ms,
        )

    def trigger(self, name: str = "book", **fields: Any) -> Trigger:
        """Make a trigger for the queue of items, which is made if it is missing."""
        if "cron" not in fields and "queue_id" not in fields:
            known = {each.name: each for each in self.items.queues.all()}
            fields["queue_id"] = (known.get("invoices") or make(self.items)).queue_id
        kind = TriggerType.TIME if "cron" in fields else TriggerType.QUEUE
        return self.items.triggers.create(name, type=kind, command=("true",), by="a test", **fields)

    def add(self, count: int = 1, **fields: Any) -> list[str]:
        queue = self.items.queues.find("invoices")
        return [self.items.adding.add(queue, by="a test", payload=n, **fields).item_id for n in range(count)]

    def run_all(self, state: State = State.COMPLETED) -> list[str]:
        """Take what waits in Redis, and end it; the ids."""
        ids = list[str]()
        while (granted := self.queue.try_schedule()) is not None:
            ids.append(granted[0])
            self.queue.transitions.release(granted[0], 1, state)
        return ids

    def catch_up(self) -> None:
        while self.consumer.step():
            pass

    def statuses(self) -> list[str]:
        with self.database.reading() as connection:
            found = select(queue_items.c.status).order_by(queue_items.c.created_ms, queue_items.c.item_id)
            return list(connection.execute(found).scalars())

    def item_rows(self) -> list[Any]:
        with self.database.reading() as connection:
            return list(connection.execute(select(queue_items).order_by(queue_items.c.item_id)))

    def firings(self) -> list[Any]:
        with self.database.reading() as connection:
            return list(connection.execute(select(firings).order_by(firings.c.created_ms, firings.c.execution_id)))

    def found(self, name: str = "book") -> Trigger:
        return self.items.triggers.find(name)

    def set_trigger(self, named: str = "book", **columns: Any) -> None:
        with self.database.writing() as connection:
            connection.execute(update(triggers).where(triggers.c.name == named).values(columns))

    def set_firings(self, **columns: Any) -> None:
        with self.database.writing() as connection:
            connection.execute(update(firings).values(columns))

    def set_executions(self, **columns: Any) -> None:
        with self.database.writing() as connection:
            connection.execute(update(executions).values(columns))

    def now_ms(self) -> int:
        return self.items.store.read(now_of) + self.later_ms


def instant(unix_ms: int) -> str:
    return instant_of(unix_ms)
