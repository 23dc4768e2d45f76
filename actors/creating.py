"""Creates the pod of a grant, and repeats the call until it is known whether the pod exists.

In the flow: the saga's step between clearing up and handing over. While it is not known, the slot is held. The creation
is repeated only while the grant is the current one: otherwise a creator that slept while its pod ran and ended would
create a second pod. If the process dies or has to stop, the watch or the next attempt finds the pod.
"""

import time
from collections.abc import Callable
from typing import Final

from ..configs.logger import Logger
from ..k8s.errors import PodConflict, PodDoubtful, PodsUnavailable
from ..k8s.pods import Pods, PodSpec, PodStatus
from ..scheduler.engine.grants import Renewal
from ..scheduler.engine.transitions import Transitions
from ..scheduler.model.errors import QueueUnavailable

log = Logger(__name__)
PAUSE_SECONDS: Final = 1.0


class Creator:
    """Creates pods under grants."""

    def __init__(self, transitions: Transitions, pods: Pods, is_leaving: Callable[[], bool]) -> None:
        self._transitions = transitions
        self._pods = pods
        self._is_leaving = is_leaving

    def create(self, spec: PodSpec, nonce: str, *, doubtful: bool = False) -> PodStatus:
        """Create the pod of an attempt. The call lasts until it is certain whether such a pod runs.

        Args:
            spec: The attempt.
            nonce: The grant's nonce; empty: any grant of this attempt.
            doubtful: Whether an earlier call may have created the pod already.

        Raises:
            PodRejected: The request can never run.
            PodConflict: Something else has the pod's name, or the pod existed and is gone.
            PodsUnavailable: There is certainly no pod.
            PodDoubtful: There may be a pod, and this process has to stop.
        """
        while True:
            try:
                return self._pods.create(spec, lambda: self._is_wanted(spec, nonce))
            except PodConflict as error:
                self._say_doubtful(spec, error)
                while self._may_run(spec):
                    self._pause(spec)
                raise
            except PodsUnavailable as error:
                # A call that had no effect says nothing about an earlier call whose answer was lost.
                doubtful = doubtful or error.pod_may_exist
                if not doubtful or (not error.pod_may_exist and not self._may_run(spec)):
                    raise
                self._say_doubtful(spec, error)
                self._pause(spec)
                if not self._is_wanted(spec, nonce):
                    return self._sought(spec)

    def _sought(self, spec: PodSpec) -> PodStatus:
        """Look for a pod that may have been created under a grant that is over now, until it is found or ruled out."""
        while self._may_run(spec):
            try:
                found = self._pods.get(spec.name)
            except PodsUnavailable:
                found = None
            if found is not None:
                return found
            self._pause(spec)
        raise PodsUnavailable(f"pod {spec.name} is not there, and not wanted any more", pod_may_exist=False)

    def _is_wanted(self, spec: PodSpec, nonce: str) -> bool:
        """Whether the grant is current. A process that slept may have lost it, and its pod may have come and gone."""
        while not self._is_leaving():
            try:
                (renewal,) = self._transitions.renew([(spec.execution_id, spec.attempt, nonce)])
            except QueueUnavailable:
                self._pause(spec)
            else:
                return renewal is Renewal.RENEWED
        return False

    def _pause(self, spec: PodSpec) -> None:
        if self._is_leaving():
            raise PodDoubtful(spec.name)
        time.sleep(PAUSE_SECONDS)

    def _may_run(self, spec: PodSpec) -> bool:
        try:
            found = self._pods.get(spec.name)
        except PodsUnavailable:
            return True
        ours = found is not None and (found.execution_id, found.attempt) == (spec.execution_id, spec.attempt)
        return ours and found is not None and not found.phase.ended

    @staticmethod
    def _say_doubtful(spec: PodSpec, error: Exception) -> None:
        log.info("pod_doubtful", execution_id=spec.execution_id, attempt=spec.attempt, error=str(error))
