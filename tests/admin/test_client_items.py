"""The client works on items: it renews, completes and fails by exception, and a lost answer loses no item."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from calling import Api
from cutting import Cutting
from sqlalchemy import update

from bandmaster.admin.client import working
from bandmaster.client import ApiProblem, AsyncClient, BusinessException, Client, WrongState, calls
from bandmaster.items.opened import open_items
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.tables import queue_items
from waiting import wait_until

LONG_SECONDS = 10


@pytest.fixture
def root(api: Api) -> Iterator[Client]:
    with Client(api.url, api.token("root", "admin")) as client:
        client.send(calls.create_item_queue("invoices", max_retries=1, retry_seconds=0))
        yield client


def shown(root: Client, item_id: str) -> Any:
    return root.send(calls.item(item_id))


def test_a_block_completes_and_fails_by_how_it_ends(api: Api, root: Client) -> None:
    for number in range(3):
        root.send(calls.add_item("invoices", {"number": number}))
    ids: list[str] = []

    def break_one(client: Client) -> None:
        with client.next("invoices") as broken:
            assert broken is not None
            ids.append(broken.id)
            _ = 1 / 0

    with Client(api.url, api.token("desk-7", "robot")) as client:
        with client.next("invoices") as item:
            assert item is not None
            assert (item.payload, item.fence) == ({"number": 0}, 1)
            item.result = {"booked": True}
        assert item is not None
        done = shown(root, item.id)
        assert (done.status, done.result, done.locked_by_robot_id) == ("DONE", {"booked": True}, "desk-7")
        with client.next("invoices") as wrong:
            raise BusinessException("no such customer")
        assert wrong is not None
        failed = shown(root, wrong.id)
        assert (failed.status, failed.failure, failed.retries) == ("FAILED", "business", 0)
        assert failed.error_message == "BusinessException: no such customer"
        for status, retries in (("NEW", 1), ("FAILED", 1)):
            with pytest.raises(ZeroDivisionError):
                break_one(client)
            again = shown(root, ids[-1])
            assert (again.status, again.failure, again.retries) == (status, "application", retries)
        with client.next("invoices") as nothing:
            assert nothing is None


def test_a_program_that_is_interrupted_gives_its_item_back(api: Api, root: Client) -> None:
    root.send(calls.add_item("invoices"))
    with (
        Client(api.url, api.token("desk-7", "robot")) as client,
        pytest.raises(KeyboardInterrupt),
        client.next("invoices") as item,
    ):
        raise KeyboardInterrupt
    assert item is not None
    assert (shown(root, item.id).status, shown(root, item.id).retries) == ("NEW", 0)


@pytest.fixture
def renewed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease of `LONG_SECONDS`, which no busy machine loses, is renewed each third of a second."""
    monkeypatch.setattr(working, "RENEWALS_A_LEASE", 3 * LONG_SECONDS)


@pytest.mark.usefixtures("renewed_soon")
def test_a_lease_is_renewed_while_the_block_goes_on(api: Api, root: Client) -> None:
    root.send(calls.add_item("invoices"))
    with (
        Client(api.url, api.token("desk-7", "robot")) as client,
        client.next("invoices", lease_seconds=LONG_SECONDS) as item,
    ):
        assert item is not None
        first = shown(root, item.id).locked_until
        wait_until(lambda: shown(root, item.id).locked_until > first, what="a renewal")


def test_who_lost_its_lease_is_told_and_changes_nothing(api: Api, root: Client) -> None:
    item_id = root.send(calls.add_item("invoices")).id

    def lose(client: Client) -> None:
        with client.next("invoices", lease_seconds=1) as item:
            assert item is not None
            with api.database.writing() as connection:
                connection.execute(update(queue_items).values(locked_until_ms=1))
            held = item
            wait_until(lambda: held.is_lost, what="the loss")

    with (
        Client(api.url, api.token("desk-7", "robot")) as client,
        pytest.raises(WrongState, match="your lease ended at"),
    ):
        lose(client)
    assert shown(root, item_id).status == "NEW"


def test_a_lost_answer_hands_out_the_same_item(api: Api, root: Client) -> None:
    for number in range(2):
        root.send(calls.add_item("invoices", number))
    cutting = Cutting(api.url)
    with Client(cutting.url, api.token("desk-7", "robot")) as client:
        cutting.to_swallow = 1
        with client.next("invoices") as item:
            assert cutting.to_swallow == 0
            assert item is not None
            assert (item.payload, item.fence) == (0, 1)
            counts = root.send(calls.item_stats("invoices")).counts
            assert (counts["NEW"], counts["IN_PROGRESS"]) == (1, 1)
            cutting.to_swallow = 1
        assert item is not None
        assert shown(root, item.id).status == "DONE"
    cutting.close()


def test_a_robot_that_waits_is_woken_when_an_item_comes(api: Api, root: Client) -> None:
    found: list[Any] = []

    def wait() -> None:
        # It waits for longer than one answer may take.
        with (
            Client(api.url, api.token("desk-7", "robot"), timeout_seconds=2) as client,
            client.next("invoices", wait_seconds=20) as item,
        ):
            found.append(None if item is None else item.payload)

    waiting = threading.Thread(target=wait)
    waiting.start()
    scripts = api.queue.scripts
    wait_until(lambda: scripts.client.pubsub_numsub(scripts.keys.items_channel)[0][1], what="the first look")
    root.send(calls.add_item("invoices", "work"))
    waiting.join(60)
    assert found == ["work"]


def test_items_that_came_untold_reach_all_who_wait_though_one_looks_each_second(api: Api, root: Client) -> None:
    # More than would look before the wait is over.
    many, found = 24, list[Any]()

    def wait() -> None:
        with Client(api.url, robot) as client, client.next("invoices", wait_seconds=20) as item:
            found.append(None if item is None else item.payload)

    robot = api.token("desk-7", "robot")
    threads = [threading.Thread(target=wait) for _ in range(many)]
    for each in threads:
        each.start()
    scripts = api.queue.scripts
    wait_until(lambda: scripts.client.pubsub_numsub(scripts.keys.items_channel)[0][1], what="the first look")
    items = open_items(Asking(api.database, queue=scripts.keys.prefix))
    queue = items.queues.find("invoices")
    for number in range(many):
        items.adding.add(queue, by="nobody tells", payload=number)
    for each in threads:
        each.join(60)
    assert sorted(found) == list(range(many))


@pytest.mark.usefixtures("renewed_soon")
def test_the_same_from_asyncio(api: Api, root: Client) -> None:
    for number in range(2):
        root.send(calls.add_item("invoices", number))

    async def work() -> list[Any]:
        ids: list[Any] = []
        async with AsyncClient(api.url, api.token("desk-7", "robot")) as client:
            async with client.next("invoices", lease_seconds=LONG_SECONDS) as item:
                assert item is not None
                ids.append(item.id)
                item.result = [1]
                first = shown(root, item.id).locked_until
                # In a thread: the renewals are this one's.
                await asyncio.to_thread(wait_until, lambda: shown(root, ids[0]).locked_until > first, what="a renewal")
            async with client.next("invoices") as item:
                assert item is not None
                ids.append(item.id)
                raise BusinessException("no")
            async with client.next("invoices") as item:
                assert item is None
        return ids

    done, failed = asyncio.run(work())
    assert (shown(root, done).status, shown(root, done).result) == ("DONE", [1])
    assert (shown(root, failed).status, shown(root, failed).failure) == ("FAILED", "business")


def test_what_is_not_json_is_an_error_and_no_result(api: Api, root: Client) -> None:
    item_id = root.send(calls.add_item("invoices", {"on": date(2030, 1, 31)})).id
    with pytest.raises(TypeError, match=r"^set is not JSON$"):
        root.send(calls.add_item("invoices", {"x": {1}}))
    assert sum(root.send(calls.item_stats("invoices")).counts.values()) == 1

    def work(client: Client) -> None:
        with client.next("invoices") as item:
            assert item is not None
            assert item.payload == {"on": "2030-01-31"}
            item.result = {"x": {1}}

    async def finish(client: AsyncClient) -> None:
        async with client.next("invoices") as item:
            assert item is not None
            item.result = {"secret": Decimal(1)}

    async def work_async() -> None:
        async with AsyncClient(api.url, api.token("desk-8", "robot")) as client:
            await finish(client)

    with Client(api.url, api.token("desk-7", "robot")) as client, pytest.raises(TypeError, match=r"^set is not JSON$"):
        work(client)
    assert (shown(root, item_id).status, shown(root, item_id).result) == ("IN_PROGRESS", None)
    root.send(calls.edit_item(item_id, {"status": "NEW"}))
    with pytest.raises(TypeError, match=r"^Decimal is not JSON$"):
        asyncio.run(work_async())
    assert (shown(root, item_id).status, shown(root, item_id).result) == ("IN_PROGRESS", None)


def test_a_robot_is_refused_what_is_not_its_own(api: Api, root: Client) -> None:
    root.send(calls.create_item_queue("other"))
    root.send(calls.add_item("other"))
    with Client(api.url, api.token("desk-7", "robot", queues=("invoices",))) as client:
        of_others: list[Any] = [
            calls.claim_items("other", "k"),
            calls.add_item_by_name("other"),
            calls.claim_item(queue_id=root.send(calls.item_queue("other")).id),
        ]
        for call in of_others:
            with pytest.raises(ApiProblem) as refused:
                client.send(call)
            assert refused.value.status == 404
        with pytest.raises(ApiProblem) as refused:
            client.send(calls.claim_items("invoices", "k", robot_id="desk-8"))
        assert refused.value.status == 403
        of_operators: list[Any] = [calls.items(), calls.item_queues(), calls.workers()]
        for call in of_operators:
            with pytest.raises(ApiProblem) as refused:
                client.send(call)
            assert refused.value.status == 403
