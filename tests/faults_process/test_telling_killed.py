"""SIGKILL of a worker between each two steps of telling an end that no body was there to end with; another tells it.

Whatever the step: who waits for the result is told, the callback runs once, since it is gated and has the same id,
middleware is let know, and nothing is left in the outbox.
"""

import sys
from typing import Any, Final

import dramatiq
import pytest
import redis
from dramatiq.results import ResultFailure
from dramatiq.results.backends import RedisBackend
from ended_leases import LONG_LEASE_MS, end_leases
from proxy import Command, Proxy

from bandmaster.scheduler.engine.parking import Candidate
from faults_process.installation import Installation
from faults_process.members import Member
from faults_process.moments import Matches, Moment, script
from waiting import wait_until

pytestmark = pytest.mark.slow

MODULE = "faults_process.telling_app"
LANE = "mail"
CALLBACKS = "callbacks"
NAME = "the-one"


def stores(command: Command) -> bool:
    """The exception is stored."""
    return command[0].upper() == b"LPUSH" and b"ExecutionCancelled" in command[2]


def notes_the_skip(command: Command) -> bool:
    """A middleware is let know."""
    return command[0].upper() == b"RPUSH" and command[1] == b"skipped"


STEPS: Final[dict[str, Matches]] = {
    "collect": script("collect", LANE.encode()),
    "store": stores,
    "call back": script("park", b"failed"),
    "let know": notes_the_skip,
    "tell": script("tell", NAME.encode()),
}


@pytest.fixture
def message() -> "dramatiq.Message[Any]":
    return dramatiq.Message(
        queue_name=LANE, actor_name="never_runs", args=(), kwargs={}, options={"execution_id": NAME}, message_id=NAME
    )


def worker(installation: Installation, redis_url: str, url: str) -> Member:
    environment = {"TELLING_REDIS_URL": url, "TELLING_STRAIGHT_URL": redis_url, "PYTHONPATH": ":".join(sys.path)}
    return installation.members.worker(module=MODULE, environment=environment, lane=CALLBACKS)


# What one step did is what there is before the next.
@pytest.mark.parametrize(("step", "after"), [*((step, False) for step in STEPS), ("tell", True)])
def test_a_worker_killed_while_it_tells_leaves_the_end_to_another(
    step: str,
    after: bool,
    message: "dramatiq.Message[Any]",
    installation: Installation,
    proxy: Proxy,
    redis_url: str,
    redis_client: redis.Redis,
) -> None:
    queue = installation.queue
    queue.controls.pause(f"lane:{LANE}")
    # What the doomed worker began of the callback, another would run again, as any body whose worker was killed.
    queue.controls.pause(f"lane:{CALLBACKS}")
    queue.transitions.park(Candidate(NAME, LANE, 1, "never_runs", message=message.encode()))
    moment = Moment(proxy, STEPS[step], after)
    doomed = worker(installation, redis_url, installation.through(proxy))
    moment.arm()
    queue.cancel(NAME)
    moment.kill(doomed)
    queue.controls.resume(f"lane:{CALLBACKS}")
    # After two leases another one takes it: longer than a client waits for one answer.
    claimed: list[bytes] = redis_client.zrange(queue.scripts.keys.outbox(LANE), 0, -1)  # type: ignore[assignment]
    for each in claimed:
        redis_client.zincrby(queue.scripts.keys.outbox(LANE), -3 * LONG_LEASE_MS, each)
    end_leases(installation.queue)
    worker(installation, redis_url, redis_url)
    wait_until(lambda: any(entry.verb == "tell" for entry in queue.journal.of(NAME)), what="the end is told")
    with pytest.raises(ResultFailure) as caught:
        message.get_result(backend=RedisBackend(client=redis_client))
    assert caught.value.orig_exc_type == "ExecutionCancelled"
    wait_until(lambda: queue.views.lane_size(CALLBACKS) == 0, what="the callback is over")
    assert redis_client.lrange("called", 0, -1) == [f"{NAME} ExecutionCancelled".encode()]
    assert set(redis_client.lrange("skipped", 0, -1)) == {NAME.encode()}
    assert queue.outbox.collect(LANE, 1, taken_ms=0) == []
    assert queue.views.message(NAME) is None
