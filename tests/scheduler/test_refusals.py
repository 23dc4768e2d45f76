"""A flood of refusals is told in numbers: it does not drive what happened out of the journal."""

import pytest
import redis

from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.errors import QueueRejected
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

ONE_BY_ONE = 10


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(redis_client)


def refuse(queue: ExecutionQueueService, how_many: int, reason: str = "DUPLICATE") -> None:
    """Send in one call, and so in one second of the server's clock, what is refused."""
    ids = ["known"] * (how_many + 1) if reason == "DUPLICATE" else [f"{reason}-{n}" for n in range(how_many)]
    outcomes = queue.transitions.park_many([Candidate(name, "mails", 2, "mail", message=b"hello") for name in ids])
    assert sum(isinstance(each, QueueRejected) for each in outcomes) >= how_many


def refusals(queue: ExecutionQueueService) -> list[JournalEntry]:
    return [entry for entry in queue.journal.entries() if entry.verb == "reject"]


def told_later(queue: ExecutionQueueService, how_many: int) -> list[JournalEntry]:
    """What the leader's sweep tells when the second is over."""

    def told() -> list[JournalEntry]:
        queue.maintenance.sweep()
        found = [entry for entry in refusals(queue) if "count" in entry.fields]
        return found if len(found) == how_many else []

    return wait_until(told, what="the numbers")


def test_few_are_told_one_by_one(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    refuse(queue, ONE_BY_ONE)
    assert len(refusals(queue)) == ONE_BY_ONE
    wait_until(lambda: queue.maintenance.sweep() == 0 and not redis_client.exists("exec_queue:refusals"))
    assert len(refusals(queue)) == ONE_BY_ONE


def test_many_are_told_in_one_number_when_their_second_is_over(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    refuse(queue, 500)
    one_by_one = refusals(queue)
    assert [(entry.execution_id, entry.fields["action"]) for entry in one_by_one] == [("known", "mail")] * ONE_BY_ONE
    (number,) = told_later(queue, 1)
    assert (number.execution_id, number.fields) == ("", {"reason": "DUPLICATE", "count": "490"})
    assert not redis_client.exists("exec_queue:refusals")


def test_each_reason_is_counted_by_itself(queue: ExecutionQueueService) -> None:
    mails = queue.on("mails")
    mails.controls.change_setting("max_queue_size", 1)
    refuse(queue, 30)
    refuse(queue, 40, "QUEUE_FULL")
    told = told_later(queue, 2)
    counts = {entry.fields["reason"]: int(entry.fields["count"]) for entry in told}
    # The two calls may lie in two seconds; then the first reason's number was told by the second call.
    assert counts == {"DUPLICATE": 20, "QUEUE_FULL": 30}


def test_the_next_refusal_tells_of_the_second_before(queue: ExecutionQueueService) -> None:
    refuse(queue, 25)
    wait_until(lambda: refuse(queue, 1) or any("count" in entry.fields for entry in refusals(queue)))
    told = [entry for entry in refusals(queue) if "count" in entry.fields]
    assert int(told[0].fields["count"]) >= 15


def test_queues_on_one_server_count_for_themselves(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    other = ExecutionQueueService(redis_client, prefix="other")
    refuse(queue, 30)
    refuse(other, 5)
    assert (len(refusals(queue)), len(refusals(other))) == (ONE_BY_ONE, 5)
