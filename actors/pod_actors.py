"""``create_pod`` and ``delete_pod``: the two actors that command the pod interface, called directly or sent.

In the flow: `execution_requested` calls `create_pod` under its grant; cancellations send `delete_pod`. Both may be
repeated: a pod that exists is adopted, and a pod that is gone stays gone. A message for `create_pod` names its grant,
which is checked first, so a stale message creates nothing. `saga.py` says what happens if the process dies here.
"""

import dramatiq

from ..configs.logger import Logger
from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.model.errors import InvalidRequest
from ..scheduler.model.states import State
from .event_actor import Given
from .program_items import ProgramItems
from .runtime import LIFECYCLE_QUEUE, broker, pods, settings, this_broker, this_queue
from .saga import Saga

log = Logger(__name__)


@dramatiq.actor(
    broker=broker,
    queue_name=LIFECYCLE_QUEUE,
    max_retries=10,
    min_backoff=500,
    max_backoff=30_000,
    throws=InvalidRequest,
)
def create_pod(event: Given, attempt: int, nonce: str = "") -> None:
    """Create the pod of an attempt and hand the grant over to it.

    Args:
        event: The ExecutionRequestedEvent.
        attempt: The attempt of the grant.
        nonce: The grant's nonce; empty: any grant of this attempt.
    """
    requested = ExecutionRequestedEvent.from_any(event)
    execution_id = requested.execution_id
    meta = this_queue().views.meta(execution_id)
    is_another = nonce not in ("", meta.get("nonce"))
    if meta.get("state") != State.RUNNING or meta.get("attempt") != str(attempt) or is_another:
        log.info("grant_is_stale", execution_id=execution_id, attempt=attempt, state=meta.get("state"))
        return
    saga = Saga(
        this_queue().transitions,
        pods(),
        settings.k8s,
        ProgramItems.of(settings.of_shard(this_broker().shard)),
        lambda: this_broker().process.is_stopping,
    )
    if "cancel" in meta:
        # Cancelled before its body began: this attempt has no pod that would need to be deleted.
        saga.give_up(execution_id, attempt, nonce)
    else:
        saga.run(requested, attempt, nonce)


@dramatiq.actor(broker=broker, queue_name=LIFECYCLE_QUEUE, max_retries=10, min_backoff=500, max_backoff=30_000)
def delete_pod(pod: str, uid: str | None = None) -> None:
    """Delete a pod, if it (still) has this uid. The watch reports its end.

    Args:
        pod: The pod's name.
        uid: The precondition; None: any pod of that name.
    """
    found = pods().delete(pod, uid=uid)
    log.info("pod_deleted", pod=pod, found=found)
