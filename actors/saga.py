"""The first half of an execution's saga: validate, clear what an earlier attempt left, create the pod, hand over.

In the flow: the body of `execution_requested`, under its grant. Every step may be repeated. If the process dies before
the pod is created, nothing exists and the lease is reaped; after it and before the hand-over, the next attempt finds
the earlier pod by its name, deletes it and waits until it is gone (F2); after the hand-over the watcher has it. A step
that fails undoes what came before: the pod is deleted, the slot given back.
"""

import time

import structlog

from ..configs.areas import KubernetesSettings
from ..k8s.errors import PodConflict, PodRejected, PodsUnavailable
from ..k8s.pods import Pods, PodStatus, pod_name
from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.grants import Code
from ..scheduler.states import State
from ..scheduler.transitions import Transitions
from .outcome import rejection_json
from .pod_spec import pod_spec

log = structlog.get_logger(__name__)
TRY_AGAIN_MS = 1_000
GONE_WITHIN_SECONDS = 15.0


class Saga:
    """Creates pods and hands grants over to them."""

    def __init__(self, transitions: Transitions, pods: Pods, defaults: KubernetesSettings) -> None:
        self._transitions = transitions
        self._pods = pods
        self._defaults = defaults

    def run(self, event: ExecutionRequestedEvent, attempt: int) -> PodStatus | None:
        """Create the pod of an attempt and hand the grant over to it.

        Args:
            event: The request.
            attempt: The grant.

        Returns:
            The pod; None if there is none: the request can never run, or has to be tried again.

        Raises:
            QueueUnavailable: If Redis did not answer; the attempt is then retried and finds its pod.
        """
        try:
            spec = pod_spec(event, attempt, self._defaults)
            self._clear_earlier(event.execution_id, attempt)
            pod = self._pods.create(spec)
        except PodRejected as error:
            log.warning("pod_rejected", execution_id=event.execution_id, attempt=attempt, error=str(error))
            self._transitions.release(
                event.execution_id, attempt, State.FAILED, reason="PodRejected", result=rejection_json(error)
            )
            return None
        except (PodsUnavailable, PodConflict) as error:
            log.warning("pod_not_created", execution_id=event.execution_id, attempt=attempt, error=str(error))
            self._transitions.prepare_retry(
                event.execution_id, attempt, "infrastructure", delay_ms=TRY_AGAIN_MS, reason=type(error).__name__
            ).run()
            return None
        return self._hand_over(event.execution_id, attempt, pod)

    def _hand_over(self, execution_id: str, attempt: int, pod: PodStatus) -> PodStatus | None:
        code, state = self._transitions.hand_over(execution_id, attempt, pod.name, pod.uid)
        if code is Code.OK and state is State.POD:
            log.info("pod_created", execution_id=execution_id, attempt=attempt, pod=pod.name)
            return pod
        # Cancelled meanwhile, or overtaken by a later attempt (D10): this pod must not run on.
        log.info("pod_unwanted", execution_id=execution_id, attempt=attempt, pod=pod.name, code=code, state=state)
        self._pods.delete(pod.name, uid=pod.uid)
        return None

    def _clear_earlier(self, execution_id: str, attempt: int) -> None:
        """No attempt's pod may run beside the next one's.

        Raises:
            PodsUnavailable: If one is not gone yet.
        """
        for earlier in range(1, attempt):
            name = pod_name(execution_id, earlier)
            deadline = time.monotonic() + GONE_WITHIN_SECONDS
            while (left := self._pods.get(name)) is not None:
                if not left.deleting:
                    self._pods.delete(name, uid=left.uid)
                if time.monotonic() >= deadline:
                    raise PodsUnavailable(f"pod {name} of an earlier attempt is not gone yet")
                time.sleep(0.05)
