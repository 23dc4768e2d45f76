"""A restored server has the journal's old name: its last entry tells, or which server process it is."""

from typing import Any

import pytest
import redis
from ledger_reading import Reading, catch_up
from redis_work import send, snapshot

from bandmaster.ledger.consumer import Consumer
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.queue import ExecutionQueueService

JOURNAL = "exec_queue:journal"


def known(reading: Reading) -> set[str]:
    return {row["execution_id"] for row in reading.rows("SELECT execution_id FROM executions")}


def test_a_restored_server_whose_clock_is_behind_is_noticed_however_much_came_since(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    """What was read is dropped there, and there are more entries than there were: a plain XREAD would wait for ever."""
    send(queue, "a")
    older, _ = snapshot(redis_client)[JOURNAL.encode()]
    (first,) = queue.journal.entries()
    for name in "bcd":
        send(queue, name)
    catch_up(consumer)
    redis_client.restore(JOURNAL, 0, older, replace=True)
    at_ms, _, number = first.entry_id.partition("-")
    for more in range(1, 9):
        fields: Any = {"verb": "park", "id": f"new-{more}", "at": first.at_ms, **first.fields}
        redis_client.xadd(JOURNAL, fields, id=f"{at_ms}-{int(number) + more}")
    redis_client.xtrim(JOURNAL, maxlen=3, approximate=False)
    catch_up(consumer)
    catch_up(consumer)
    assert {"new-6", "new-7", "new-8"} <= known(reading)
    assert reading.one("SELECT count(*) FROM journals") == 2
    assert reading.one("SELECT is_unsure FROM consumer") in (0, False)


@pytest.mark.parametrize("is_kept", [True, False], ids=["its entry is there", "its entry is dropped"])
def test_another_server_without_the_entry_that_was_read_last_has_another_journal(
    is_kept: bool, queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    catch_up(consumer)
    server: Any = redis_client.info("server")["run_id"]
    assert reading.one("SELECT server FROM consumer") == server
    reading.change("UPDATE consumer SET server = 'the one before'")
    send(queue, "b")
    send(queue, "c")
    if not is_kept:
        redis_client.xtrim(JOURNAL, maxlen=1, approximate=False)
    assert consumer.begin()
    catch_up(consumer)
    catch_up(consumer)
    assert reading.one("SELECT count(*) FROM journals") == (1 if is_kept else 2)
    assert reading.one("SELECT server FROM consumer") == server
    assert known(reading) == {"a", "b", "c"}


def test_a_server_that_does_not_tell_which_it_is_is_followed_all_the_same(
    queue: ExecutionQueueService, redis_client: redis.Redis, redis_url: str
) -> None:
    send(queue, "a")
    redis_client.acl_setuser("app", enabled=True, nopass=True, keys=["*"], categories=["+@all"], commands=["-info"])
    try:
        with redis.Redis.from_url(redis_url, username="app", password="any") as client:
            follower = Follower(ExecutionQueueService(client).scripts)
            begun = follower.begin()
            page = follower.read(begun, 10)
            assert page is not None
            assert (len(page.entries), begun.server, page.position.server) == (1, "", "")
    finally:
        redis_client.acl_deluser("app")
