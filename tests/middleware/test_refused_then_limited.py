"""What lay in a list and met a full lane, and then its user's limit, holds up nothing that comes after it."""

from typing import Any

import dramatiq
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of
from waiting import wait_until


def send_plainly(redis_url: str, name: str, user: str) -> None:
    """As a service does whose broker was not swapped."""
    producer = RedisBroker(client=client_of(redis_url))
    sent: Message[Any] = Message("default", "work", (name,), {}, {"user_id": user})
    producer.enqueue(sent)
    producer.close()


def test_a_list_is_fetched_again_after_its_last_message_met_its_users_limit(
    redis_url: str, broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH")
    def work(name: str) -> None:
        ran.append(name)

    queue.controls.change_setting("max_concurrent_executions", 0)
    queue.controls.change_setting("max_queue_size", 2)
    queue.controls.change_setting("max_executions_per_user", 1)
    work.send_with_options(args=("ann-1",), user_id="ann")
    other = work.send_with_options(args=("bob-1",), user_id="bob")
    with running(broker, threads=2):
        unparked = broker.process.backlog("default").unparked
        send_plainly(redis_url, "ann-2", "ann")
        wait_until(lambda: unparked.is_refused, what="it met a full lane")
        queue.cancel(other.options["execution_id"])
        wait_until(lambda: not unparked, what="it met its user's limit, and went to the end of its list")
        queue.controls.change_setting("max_concurrent_executions", 5)
        send_plainly(redis_url, "eve-1", "eve")
        wait_until(lambda: {"ann-1", "ann-2", "eve-1"} <= set(ran), what="all of them")
