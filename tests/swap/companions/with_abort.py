"""dramatiq-abort: it skips what has not begun, and interrupts what runs, by the message's id."""

import sys
import threading
import time

import redis
from dramatiq_abort import Abort, Abortable, abort
from dramatiq_abort.backends import RedisBackend

from bandmaster import BandedRedisBroker, ExecutionQueueService
from swap.companions.working import GATED, JOIN_MS, declare, running

LONGEST_SECONDS = 30.0
begun = threading.Semaphore(0)
ended = threading.Semaphore(0)
told: list[str] = []


def body(name: str) -> None:
    """Go on until it is told to end."""
    begun.release()
    try:
        deadline = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < deadline:
            time.sleep(0.01)
    except Abort:
        told.append(name)
        ended.release()
        raise


def main(url: str) -> None:
    """Abort messages that wait and that run."""
    broker = BandedRedisBroker(url=url)
    abortable = Abortable(backend=RedisBackend.from_url(url))
    broker.add_middleware(abortable)
    options = {"broker": broker, "max_retries": 0, "throws": Abort}
    actors = [declare(body, actor_name="gated", **options, **GATED), declare(body, actor_name="ungated", **options)]
    for actor in actors:
        abort(actor.send("never begins").message_id, middleware=abortable)
    with running(broker):
        broker.join("default", timeout=JOIN_MS)
        assert told == []
        sent = [actor.send(actor.actor_name) for actor in actors]
        for _ in sent:
            assert begun.acquire(timeout=20)
        for message in sent:
            abort(message.message_id, middleware=abortable)
        for _ in sent:
            assert ended.acquire(timeout=20)
        broker.join("default", timeout=JOIN_MS)
    assert sorted(told) == ["gated", "ungated"], told
    assert ExecutionQueueService(redis.Redis.from_url(url), lane="default").views.active() == []


if __name__ == "__main__":
    main(sys.argv[1])
