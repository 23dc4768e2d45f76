"""The probe at the end of a fault's test: all threads of all workers that live still take work.

Work that goes on proves little: a worker that lost two of its four threads for good drains its lane as well. So as many
bodies are sent as there are threads, and each waits for all the others (`rendezvous.py`): with one thread too few, none
ends. What a worker must be started with stands here too.
"""

from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from dramatiq import Message

from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.errors import QueueRejected
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS, wait_until

MODULE: Final = "rendezvous"
"""Given to `dramatiq` behind the application's module."""
ACTOR: Final = "meet"
FOLDER: Final = Path(__file__).parent
"""Where that module is found."""
UNBOUNDED: Final = 1_000
"""Each of BOUNDS meanwhile."""
BOUNDS: Final = ("max_concurrent", "max_concurrent_executions")


def probe_environment(url: str, lane: str) -> dict[str, str]:
    """What the module asks for: the straight way to the server, and one of the application's lanes."""
    return {"RENDEZVOUS_REDIS_URL": url, "RENDEZVOUS_LANE": lane}


def probe_threads(
    queue: ExecutionQueueService, lane: str, threads: int, *, timeout_seconds: float = GENEROUS_SECONDS
) -> None:
    """Let so many threads meet; fails if they don't. What else still runs in them has to end in that time.

    Args:
        queue: Of the workers.
        lane: As in `probe_environment`.
        threads: Of all workers that consume it together; 0 if none lives.
        timeout_seconds: For each that comes, from the one before on.
    """
    assert threads > 0, "there is no worker whose threads could be probed"
    key, client = f"probe:{uuid4().hex}", queue.scripts.client
    queue = queue.on(lane)
    settings = queue.views.status().settings
    for name in BOUNDS:
        queue.controls.change_setting(name, UNBOUNDED)
    names = [f"{ACTOR}-{uuid4().hex}" for _ in range(threads)]
    message = Message[Any](queue_name=lane, actor_name=ACTOR, args=(key, threads), kwargs={}, options={}).encode()
    parked = queue.transitions.park_many(
        [Candidate(name, lane, 0, ACTOR, timeout_ms=60_000, message=message) for name in names]
    )
    assert not [each for each in parked if isinstance(each, QueueRejected)]

    def came() -> int:
        return int(client.scard(key))  # type: ignore[arg-type]

    try:
        wait_until(lambda: came() >= threads, timeout_seconds=timeout_seconds, what="all threads at work")
    except AssertionError:
        raise AssertionError(f"{came()} of {threads} threads take work") from None
    wait_until(lambda: not {*names} & queue.views.members(lane), what="the end of the probe")
    for name in BOUNDS:
        before = settings[name]
        queue.controls.change_setting(name, None if before is None else int(before))
