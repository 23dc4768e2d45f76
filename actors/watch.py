"""``watch_completions``: turns what becomes of the pods into lifecycle events, and keeps the leases of the living.

In the flow: an actor that watches for a bounded window and sends itself again; a lock makes it single, the periodic job
revives it. A message that finds the lock taken ends its chain, so however many are sent, one chain remains. If its
process dies, the lock's TTL runs out; if it sleeps past the TTL, another takes over, and it stops when it wakes up; if
a window fails, the next one begins a second later.
"""

import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

import dramatiq
import redis
from dramatiq.middleware import Shutdown
from redis.exceptions import LockError

from ..configs.logger import Logger
from ..scheduler.events import (
    ExecutionCompletedEvent,
    ExecutionEndedEvent,
    ExecutionFailedEvent,
    ExecutionTimeoutEvent,
)
from ..scheduler.model.errors import BandmasterError
from .ended import execution_completed, execution_failed, execution_timeout
from .reconcile import Watch
from .runtime import LIFECYCLE_QUEUE, broker, pods, queue, settings

if TYPE_CHECKING:
    from redis.lock import Lock

log = Logger(__name__)
WATCHER: Final = "watch_completions"
LEASE_SECONDS: Final = settings.leases.pod_lease_ttl_ms / 1000
WINDOW_SECONDS: Final = LEASE_SECONDS / 12
"""Of the pod lease of 60 s: 5 s, so that what a window's end compares is never older than that."""
LONGEST_WINDOW_SECONDS: Final = LEASE_SECONDS / 2
SECONDS_A_POD: Final = 0.001
"""A window is so much longer for each pod there is, ended ones too: looking at all of them costs a tenth of that."""
LOCK_GRACE_SECONDS: Final = LEASE_SECONDS / 6
"""How much longer than its window a watch may take. One that died is replaced before any lease runs out."""
REPORT_AGAIN_SECONDS: Final = LEASE_SECONDS / 2
FAILURE_PAUSE_SECONDS: Final = 1.0

REPORTERS: Final[Mapping[type[ExecutionEndedEvent], "dramatiq.Actor[..., None]"]] = {
    ExecutionCompletedEvent: execution_completed,
    ExecutionFailedEvent: execution_failed,
    ExecutionTimeoutEvent: execution_timeout,
}


def report(event: ExecutionEndedEvent) -> None:
    """Send the lifecycle event to its actor."""
    REPORTERS[type(event)].send(event)


@cache
def the_watch() -> Watch:
    """The one of this process, which remembers what it has reported."""
    return Watch(queue, pods(), report, tend_seconds=WINDOW_SECONDS, again_seconds=REPORT_AGAIN_SECONDS)


def window_seconds() -> float:
    """How long the next window is."""
    if broker.process.permits.total == 1:
        return WINDOW_SECONDS / 10  # the only thread of a worker must not be kept from everything else for long
    return min(LONGEST_WINDOW_SECONDS, WINDOW_SECONDS + the_watch().pods_seen * SECONDS_A_POD)


@dramatiq.actor(broker=broker, actor_name=WATCHER, queue_name=LIFECYCLE_QUEUE, max_retries=0, notify_shutdown=True)
def watch_completions() -> None:
    """Watch the pods for a window, if nobody else does, and send itself again."""
    client: redis.Redis = queue.scripts.client
    seconds = window_seconds()
    name = queue.scripts.keys.lock(WATCHER)
    lock: Lock = client.lock(name, timeout=seconds + LOCK_GRACE_SECONDS, thread_local=False)
    try:
        if not lock.acquire(blocking=False):
            return
        try:
            _window(lock, seconds)
        finally:
            _pass_on(lock)
    except Shutdown:
        log.info("watch_interrupted")  # the worker stops; what was passed on goes to another, or to the next
    except redis.RedisError as error:
        log.warning("watch_ended", error=str(error))  # the periodic job begins a new one


def _window(lock: "Lock", seconds: float) -> None:
    began = time.monotonic()
    try:
        the_watch().run(seconds, is_ours=lambda: _keep(lock))
        return
    except (BandmasterError, redis.RedisError) as error:
        log.warning("watch_failed", error=str(error))
    except Exception:  # the chain must outlive any one window: slots are only freed through it
        log.exception("watch_failed")
    time.sleep(max(0.0, FAILURE_PAUSE_SECONDS - (time.monotonic() - began)))


def _keep(lock: "Lock") -> bool:
    try:
        lock.reacquire()
    except LockError:
        log.warning("watch_lock_lost")
        return False
    return True


def _pass_on(lock: "Lock") -> None:
    # In this order: a message that another process takes before the release would find the lock, and end the chain.
    try:
        lock.release()
    except LockError:
        log.warning("watch_lock_lost")
    watch_completions.send()
