"""The first half of an execution's saga: validate, clear earlier attempts' pods, create the pod, hand the grant over.

In the flow: the body of `execution_requested` runs it, under its grant. Every step may be repeated:

=======================  ===============================================================================================
if it dies, or fails …   then …
=======================  ===============================================================================================
before the creation      there is no pod; the grant is reaped, and the next attempt starts again
in the creation          there may be a pod: the watch hands the grant over to it (F2). If the attempt is over by then,
                         the watch deletes the pod, or the next attempt does, before it creates its own
before the hand-over     the same; if the pod has ended by then, the report of its end settles the execution
after the hand-over      the watch looks after the pod
for good (PodRejected)   the slot is given back, and the execution is FAILED
for the time being       the slot is given back, and the execution waits for its next attempt, longer each time
and a pod may exist      the slot is held until that is certain, and while a pod of that name is being deleted. If the
                         grant is over by then, the pod is only looked for: a creation might make a second one
and the worker stops     the grant is left as if the worker had died: the watch, or the next attempt, finds the pod
by an interrupt          the creation is finished first: a half-created pod would run without a slot (D10)
=======================  ===============================================================================================
"""

import time
from collections.abc import Callable
from typing import Final

from dramatiq.middleware import Interrupt

from ..configs.areas import KubernetesSettings
from ..configs.logger import Logger
from ..k8s.errors import PodConflict, PodRejected, PodsUnavailable
from ..k8s.pods import Pods, PodSpec, PodStatus
from ..middleware import ExecutionCancelled
from ..scheduler.engine.grants import Code
from ..scheduler.engine.settlements import Retry
from ..scheduler.engine.transitions import Transitions
from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.model.states import State
from ..scheduler.spans import ATTEMPT, EXECUTION, POD, spans
from .creating import Creator
from .outcome import rejection_json
from .pod_spec import pod_spec
from .program_items import ProgramItems

log = Logger(__name__)
PAUSE_MS: Final = 1_000
LONGEST_PAUSE_MS: Final = 60_000
GONE_WITHIN_SECONDS: Final = 15.0
"""How long an attempt, which holds its slot, waits until the pods of earlier attempts are gone."""


def pause_ms(attempt: int) -> int:
    """Return how long an execution waits after an attempt that could not create its pod: 1 s, 2 s, 4 s … 60 s."""
    return min(LONGEST_PAUSE_MS, PAUSE_MS << min(attempt - 1, 10))


class Saga:
    """Creates pods and hands grants over to them."""

    def __init__(
        self,
        transitions: Transitions,
        pods: Pods,
        defaults: KubernetesSettings,
        items: ProgramItems,
        is_leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        """Work with one queue and one backend.

        Args:
            transitions: The queue's transitions.
            pods: The backend.
            defaults: For the fields that a request leaves out.
            items: What programs get that work on items.
            is_leaving: Whether this process has to stop, so that the saga must not wait any more.
        """
        self._transitions = transitions
        self._pods = pods
        self._defaults = defaults
        self._items = items
        self._creator = Creator(transitions, pods, is_leaving)

    def run(self, event: ExecutionRequestedEvent, attempt: int, nonce: str = "") -> PodStatus | None:
        """Create the pod of an attempt and hand the grant over to it.

        Args:
            event: The request.
            attempt: The attempt of the grant.
            nonce: The grant's nonce; empty: any grant of this attempt.

        Returns:
            The pod; None if no pod of this attempt may run on: the request can never run, has to be tried again, was
            cancelled, or has ended already.

        Raises:
            QueueUnavailable: If Redis did not answer; the watch or the next attempt takes care of the pod, if any.
            PodDoubtful: If this process has to stop before it is known whether there is a pod; likewise.
        """
        execution_id = event.execution_id
        try:
            return self._steps(event, attempt, nonce)
        except PodRejected as error:
            log.warning("pod_rejected", execution_id=execution_id, attempt=attempt, error=str(error))
            self._transitions.release(
                execution_id,
                attempt,
                State.FAILED,
                holder=nonce,
                reason="PodRejected",
                result=rejection_json(error),
            )
        except (PodsUnavailable, PodConflict) as error:
            # Retries are not bounded: a backend that is away is not the execution's fault. A "retry" settles only a
            # RUNNING execution: if the watch has found the pod meanwhile and handed over, the attempt goes on.
            log.warning("pod_not_created", execution_id=execution_id, attempt=attempt, error=str(error))
            reason = type(error).__name__
            self._transitions.settle(
                Retry(execution_id, attempt, "retry", holder=nonce, delay_ms=pause_ms(attempt), reason=reason)
            )
        return None

    def give_up(self, execution_id: str, attempt: int, nonce: str = "") -> None:
        """End an execution that was cancelled before its pod was created, once earlier attempts' pods are gone.

        Raises:
            PodsUnavailable: If one of those pods is not gone yet.
        """
        self._clear_earlier(execution_id, attempt)
        settled = self._transitions.release(execution_id, attempt, State.CANCELLED, holder=nonce, reason="cancelled")
        log.info("cancelled_before_its_pod", execution_id=execution_id, attempt=attempt, state=settled.state)

    def _steps(self, event: ExecutionRequestedEvent, attempt: int, nonce: str) -> PodStatus | None:
        spec = pod_spec(event, attempt, self._defaults, spans().current(), self._items.file_of(event))
        creating = False
        try:
            self._clear_earlier(event.execution_id, attempt)
            creating = True
            return self._create(spec, nonce)
        except Interrupt as interrupt:
            # Another thread raises it in this one, once, at any line: a cancellation, or the time limit.
            log.info(
                "saga_interrupted",
                execution_id=event.execution_id,
                attempt=attempt,
                creating=creating,
                interrupt=type(interrupt).__name__,
            )
            if creating:
                return self._create(spec, nonce, doubtful=True)
            if not isinstance(interrupt, ExecutionCancelled):
                raise
            self.give_up(event.execution_id, attempt, nonce)
            return None

    def _create(self, spec: PodSpec, nonce: str, *, doubtful: bool = False) -> PodStatus | None:
        of_attempt = {EXECUTION: spec.execution_id, ATTEMPT: spec.attempt, POD: spec.name}
        with spans().step("create pod", of_attempt):
            pod = self._creator.create(spec, nonce, doubtful=doubtful)
        return self._hand_over(spec.execution_id, spec.attempt, nonce, pod)

    def _hand_over(self, execution_id: str, attempt: int, nonce: str, pod: PodStatus) -> PodStatus | None:
        handed = self._transitions.hand_over(execution_id, attempt, pod.name, pod.uid, holder=nonce)
        if handed.code is Code.OK and handed.state is State.POD:
            log.info("pod_created", execution_id=execution_id, attempt=attempt, pod=pod.name)
            return pod
        log.info(
            "pod_not_handed_over", execution_id=execution_id, attempt=attempt, code=handed.code, state=handed.state
        )
        if handed.is_wanted:
            return None  # the server lost this grant and granted the attempt again (F14): the pod is the new grant's
        # The execution was cancelled, or a later attempt has begun (D10): this pod must not run on. But a pod that has
        # ended, and was settled before this call, stays, with its log.
        found = self._pods.get(pod.name)
        if found is not None and found.uid == pod.uid and not found.phase.ended:
            self._pods.delete(pod.name, uid=pod.uid)
        return None

    def _clear_earlier(self, execution_id: str, attempt: int) -> None:
        """Delete the running pods of earlier attempts and wait until they are gone; ended pods stay, with their logs.

        Raises:
            PodsUnavailable: If a pod is not gone in time.
        """
        if attempt == 1:
            return
        deadline = time.monotonic() + GONE_WITHIN_SECONDS
        while left := self._running_before(execution_id, attempt):
            for pod in left:
                if not pod.deleting:
                    log.info("earlier_pod_deleted", execution_id=execution_id, attempt=attempt, pod=pod.name)
                    self._pods.delete(pod.name, uid=pod.uid)
            if time.monotonic() >= deadline:
                raise PodsUnavailable(f"pod {left[0].name} of an earlier attempt is not gone yet", pod_may_exist=False)
            time.sleep(0.05)

    def _running_before(self, execution_id: str, attempt: int) -> list[PodStatus]:
        pods = self._pods.attempts(execution_id)
        return [pod for pod in pods if pod.attempt < attempt and not pod.phase.ended]
