"""The creation of a pod whose answers are lost: the slot is held as long as a pod may exist, whatever comes next."""

from collections.abc import Callable
from pathlib import Path

from lifecycle import DEFAULTS, NO_ITEMS, Lifecycle

from bandmaster.actors.saga import Saga
from bandmaster.k8s.errors import PodsUnavailable
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import PodSpec, PodStatus
from bandmaster.scheduler.model.states import State


class Losing(LocalPods):
    """Local pods whose first creation takes effect without an answer, and whose second is refused."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.creations = 0

    def create(self, spec: PodSpec, is_wanted: Callable[[], bool] = lambda: True) -> PodStatus:
        """Create, lose the answer, refuse; from then on answer."""
        self.creations += 1
        if self.creations == 2:
            raise PodsUnavailable("out of room", pod_may_exist=False)
        created = super().create(spec, is_wanted)
        if self.creations == 1:
            raise PodsUnavailable("no answer", pod_may_exist=True)
        return created


def test_a_refusal_after_a_lost_answer_gives_no_slot_back(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted()
    pods = Losing(lifecycle.folder)
    pod = Saga(lifecycle.queue.transitions, pods, DEFAULTS, NO_ITEMS).run(event, 1)
    assert pod is not None
    assert (lifecycle.state(), lifecycle.active(), pods.creations) == (State.POD, 1, 3)
    assert [each.uid for each in lifecycle.pods.list()] == [pod.uid]
