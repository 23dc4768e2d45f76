"""``watch_completions``: the actor that reports the ends of pods as lifecycle events and renews living pods' leases.

In the flow: the actor watches for a bounded window and sends itself again. A lock keeps it single, and the periodic job
revives it. A message that finds the lock taken is not sent on, so one chain of messages remains. If the process dies,
the lock's TTL runs out. If the process sleeps past the TTL, another watch takes over, and this one stops when it wakes
up. If a window fails, the next one begins a second later.
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
from .runtime import LIFECYCLE_QUEUE, broker, pods, settings, this_broker, this_queue

if TYPE_CHECKING:
    from redis.lock import Lock

log = Logger(__name__)
WATCHER: Final = "watch_completions"
LEASE_SECONDS: Final = settings.leases.pod_lease_ttl_ms / 1000
WINDOW_SECONDS: Final = LEASE_SECONDS / 12
"""5 s of the pod lease of 60 s, so that the states compared at a window's end are never older than that."""
LONGEST_WINDOW_SECONDS: Final = LEASE_SECONDS / 2
SECONDS_A_POD: Final = 0.001
"""A window gets this much longer for each pod, ended pods included; listing them takes a tenth of this time."""
LOCK_GRACE_SECONDS: Final = LEASE_SECONDS / 6
"""How much longer than its window a watch may take. A watch that died is replaced before any lease runs out."""
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


def the_watch() -> Watch:
    """Return this process's watch of this shard, which remembers what it has reported."""
    return watch_of(this_broker().shard)


@cache
def watch_of(_shard: str) -> Watch:
    """Return the watch of the shard whose message the calling actor works on, by that shard's name."""
    return Watch(this_queue(), pods(), report, tend_seconds=WINDOW_SECONDS, again_seconds=REPORT_AGAIN_SECONDS)


def window_seconds() -> float:
    """Return the length of the next window."""
    if this_broker().process.permits.total == 1:
        return WINDOW_SECONDS / 10  # the only thread of a worker must not be kept from everything else for long
    return min(LONGEST_WINDOW_SECONDS, WINDOW_SECONDS + the_watch().pods_seen * SECONDS_A_POD)


@dramatiq.actor(broker=broker, actor_name=WATCHER, queue_name=LIFECYCLE_QUEUE, max_retries=0, notify_shutdown=True)
def watch_completions() -> None:
    """Watch the pods for a window, if nobody else does, and send itself again."""
    client: redis.Redis = this_queue().scripts.client
    seconds = window_seconds()
    name = this_queue().scripts.keys.lock(WATCHER)
    lock: Lock = client.lock(name, timeout=seconds + LOCK_GRACE_SECONDS, thread_local=False)
    try:
        if not lock.acquire(blocking=False):
            return
        try:
            _window(lock, seconds)
        finally:
            _pass_on(lock)
    except Shutdown:
        log.info("watch_interrupted")  # the worker stops; another worker, or the next one, takes the message sent on
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
    # Release the lock before the send: another process that took the message earlier would find the lock taken, and
    # end the chain.
    try:
        lock.release()
    except LockError:
        log.warning("watch_lock_lost")
    watch_completions.send()
