"""``try_schedule``: the periodic repair, sent by name every 10 seconds by the scheduler process.

In the flow: events drive the queue; this actor repairs what a crash or a lost wake-up left behind. It promotes due
executions, reaps expired leases, sweeps executions that waited too long, pushes wake tokens and revives the watch. It
carries its leader's epoch and stops when another leader was elected (D28). Every step may be repeated. If the process
dies halfway, the next tick does the rest.
"""

import dramatiq
import redis

from ..configs.logger import Logger
from ..scheduler.engine.maintenance import Maintenance
from ..scheduler.model.errors import NotLeader, QueueUnavailable
from .runtime import LIFECYCLE_QUEUE, broker, this_queue
from .watch import WATCHER, watch_completions

log = Logger(__name__)


@dramatiq.actor(broker=broker, queue_name=LIFECYCLE_QUEUE, max_retries=0)
def try_schedule(leader_id: str = "", epoch: int | None = None, not_after_ms: int | None = None) -> None:
    """Repair.

    Args:
        leader_id: The id of the scheduler process that sends the message.
        epoch: The epoch of that leader; None: unfenced, for a repair on demand.
        not_after_ms: After this time, by Redis's clock, the tick is too old and is skipped. Dramatiq's own `max_age`
            compares the clocks of two hosts; where these differ, it would drop every tick (F18).
    """
    maintenance = this_queue().maintenance if epoch is None else this_queue().maintenance.under(leader_id, epoch)
    try:
        if not_after_ms is not None and this_queue().views.server_time_ms() > not_after_ms:
            log.info("tick_too_old", not_after_ms=not_after_ms)
            return
        _repair(maintenance)
        client: redis.Redis = this_queue().scripts.client
        if not client.exists(this_queue().scripts.keys.lock(WATCHER)):
            watch_completions.send()
    except NotLeader as error:
        log.warning("tick_refused", error=str(error))
    except (QueueUnavailable, redis.RedisError) as error:
        log.warning("tick_failed", error=str(error))


def _repair(maintenance: Maintenance) -> None:
    done = {
        "promoted": maintenance.promote(),
        "reaped": maintenance.reap(),
        "expired": maintenance.sweep(),
        "lanes_woken": maintenance.wake(),
    }
    log.debug("tick_done", **done)
