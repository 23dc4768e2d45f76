"""Claims that wait at the same time share a transaction, whoever goes away, whatever fails."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress

import pytest
from sqlalchemy import Engine, event, text
from work_items import add, make, rows, take

from bandmaster.items.bounds import MOST_JOINED
from bandmaster.items.claiming import Claim
from bandmaster.items.errors import QueueUnknown
from bandmaster.items.model import Item
from bandmaster.items.opened import Items
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerError
from waiting import wait_until

PATIENCE_SECONDS = 60.0


def join(items: Items, robot_id: str, *, key: str | None = None, count: int = 1) -> Awaitable[list[Item]]:
    claim = Claim("invoices", robot_id, count, key=key)
    return items.claiming.join(claim, patience_seconds=PATIENCE_SECONDS)


@contextmanager
def held_up(database: Database) -> Generator[None]:
    """Let no claim end during the block."""
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(text("LOCK TABLE queue_items IN ACCESS EXCLUSIVE MODE"))
        yield


@contextmanager
def counted(statement: str) -> Generator[list[str]]:
    """The statements with this text that are sent during the block."""
    sent = list[str]()

    def note(*given: object) -> None:
        if statement in str(given[2]):
            sent.append(str(given[2]))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def handed_out(database: Database) -> list[str]:
    return sorted(row["locked_by_robot_id"] for row in rows(database) if row["status"] == Status.IN_PROGRESS)


async def until(holds: Callable[[], bool], what: str) -> None:
    await asyncio.to_thread(wait_until, holds, what=what)


def test_those_that_come_together_are_picked_by_one_statement(items: Items, database: Database) -> None:
    queue = make(items)
    for number in range(20):
        add(items, queue, payload=number)

    async def claim() -> list[list[Item]]:
        return await asyncio.gather(*(join(items, f"robot-{number}") for number in range(20)))

    with counted("ORDER BY queue_items.rank") as sent:
        found = asyncio.run(claim())
    assert len(sent) == 1
    assert [item.payload for items_of_one in found for item in items_of_one] == [str(number) for number in range(20)]
    assert handed_out(database) == sorted(f"robot-{number}" for number in range(20))


def test_no_transaction_claims_more_than_it_may(items: Items) -> None:
    queue = make(items)
    for number in range(3):
        add(items, queue, payload=number)

    async def claim() -> list[list[Item]]:
        return await asyncio.gather(*(join(items, f"robot-{number}", count=100) for number in range(5)))

    with counted("ORDER BY queue_items.rank") as sent:
        found = asyncio.run(claim())
    assert len(sent) == -(-500 // MOST_JOINED)
    assert [len(each) for each in found] == [3, 0, 0, 0, 0]


def test_one_that_is_refused_is_refused_alone(items: Items) -> None:
    add(items, make(items))

    async def claim() -> tuple[list[Item] | BaseException, list[Item] | BaseException]:
        unknown = items.claiming.join(Claim("none", "robot-x"), patience_seconds=PATIENCE_SECONDS)
        return await asyncio.gather(unknown, join(items, "robot-0"), return_exceptions=True)

    refused, found = asyncio.run(claim())
    assert isinstance(refused, QueueUnknown)
    assert isinstance(found, list)
    assert len(found) == 1


def test_who_goes_before_its_turn_claims_nothing(items: Items, database: Database) -> None:
    queue = make(items)
    for number in range(3):
        add(items, queue, payload=number)

    async def claim() -> None:
        with held_up(database), counted("item_queues") as sent:
            first = asyncio.ensure_future(join(items, "first"))
            await until(lambda: bool(sent) or database.is_sqlite, "the first transaction")
            gone, stays = (asyncio.ensure_future(join(items, name)) for name in ("gone", "stays"))
            await asyncio.sleep(0)
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone
        assert len(await first) == len(await stays) == 1

    asyncio.run(claim())
    assert handed_out(database) == ["first", "stays"]


def test_who_goes_in_the_middle_gets_it_again_by_its_key(items: Items, database: Database) -> None:
    queue = make(items)
    for number in range(3):
        add(items, queue, payload=number)

    async def claim() -> None:
        with held_up(database), counted("SELECT") as sent:
            gone = asyncio.ensure_future(join(items, "gone", key="k"))
            stays = asyncio.ensure_future(join(items, "stays"))
            await asyncio.sleep(0)
            await until(lambda: bool(sent) or database.is_sqlite, "their transaction")
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone
        assert len(await stays) == 1

    asyncio.run(claim())
    assert handed_out(database) == ["gone", "stays"]
    (again,) = take(items, "gone", key="k")
    assert (again.locked_by_robot_id, again.fence) == ("gone", 1)
    assert handed_out(database) == ["gone", "stays"]


def test_if_the_transaction_fails_each_of_them_is_told_and_the_next_works(items: Items, database: Database) -> None:
    add(items, make(items))

    def rename(old: str, new: str) -> None:
        with database.writing() as connection:
            connection.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))

    async def claim() -> None:
        rename("queue_items", "away")
        failed = await asyncio.gather(*(join(items, f"robot-{number}") for number in range(3)), return_exceptions=True)
        assert [isinstance(each, LedgerError) for each in failed] == [True] * 3, failed
        rename("away", "queue_items")
        assert len(await join(items, "robot-3")) == 1

    asyncio.run(claim())
    assert handed_out(database) == ["robot-3"]


def test_who_has_no_turn_in_time_is_told_and_claims_nothing(items: Items, database: Database) -> None:
    queue = make(items)
    for number in range(2):
        add(items, queue, payload=number)

    async def claim() -> None:
        with held_up(database):
            first = asyncio.ensure_future(join(items, "first"))
            # Until its transaction has begun.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            with pytest.raises(TimeoutError):
                await items.claiming.join(Claim("invoices", "second"), patience_seconds=0.05)
        assert len(await first) == 1

    asyncio.run(claim())
    assert handed_out(database) == ["first"]
