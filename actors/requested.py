"""``execution_requested``: the gated actor on lane `executions`, whose body runs the first half of the saga.

In the flow: `execution_requested.send({...})` parks the event. A worker admits it in order and calls the body under its
grant. No body waits for a pod to end. `saga.py` says what a crash on the way leaves behind.
"""

import dramatiq

from ..configs.logger import Logger
from ..k8s.errors import PodDoubtful
from ..middleware import current_grant
from ..middleware.grants.context import leave_grant
from ..scheduler.keys import DEFAULT_LANE
from ..scheduler.model.errors import InvalidRequest
from .event_actor import Given, RequestActor
from .pod_actors import create_pod
from .runtime import broker

log = Logger(__name__)


@dramatiq.actor(
    broker=broker,
    actor_class=RequestActor,
    queue_name=DEFAULT_LANE,
    runs_events=True,
    max_retries=5,
    min_backoff=1_000,
    max_backoff=60_000,
    throws=InvalidRequest,  # an event that this version cannot read stays unreadable: no retries
)
def execution_requested(event: Given) -> None:
    """Create the execution's pod under its grant, and hand the grant over to it.

    Args:
        event: An ExecutionRequestedEvent, as a dict or the model. It needs `script` or `command`.
    """
    grant = current_grant()
    if grant is None:
        raise RuntimeError("execution_requested runs under a grant only: send it, do not call it")
    try:
        create_pod(event, grant.attempt, grant.nonce)
    except PodDoubtful as error:
        log.warning("grant_left", execution_id=grant.execution_id, attempt=grant.attempt, error=str(error))
        leave_grant()
