"""D6: a saga that is run again after a crash goes on where the first one stopped."""

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.actors.pod_spec import pod_spec
from bandmaster.actors.program_items import ProgramItems
from bandmaster.actors.saga import Saga
from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import pod_name
from bandmaster.scheduler.model.states import State
from defects.contrast import Died, event
from defects.simple_queue import SimpleSagas


def die() -> None:
    raise Died


def test_d6_a_second_run_of_a_simple_saga_finds_it_and_does_nothing() -> None:
    pods: list[str] = []
    sagas = SimpleSagas(pods.append)
    with pytest.raises(Died):
        sagas.start("x", between=die)
    sagas.start("x")
    assert pods == [], "the simple way does not show the defect"


@pytest.mark.parametrize("created", [False, True], ids=["before its pod was created", "after its pod was created"])
def test_d6_an_attempt_after_a_crash_ends_with_its_own_pod_and_no_other(
    created: bool, redis_client: redis.Redis, local_pods: LocalPods
) -> None:
    queue = TurnedQueue(redis_client)
    request = event("x", command=["sleep", "60"])
    saga = Saga(queue.transitions, local_pods, KubernetesSettings(), ProgramItems(lambda: (), lambda: None))
    queue.enqueue(request)
    assert queue.try_schedule() is not None
    if created:
        local_pods.create(pod_spec(request, 1, KubernetesSettings()))
    # The process died here; nobody renews, the lease runs out, another worker takes the next attempt.
    queue.let_time_pass(700)
    assert queue.try_schedule() is not None

    pod = saga.run(request, 2)

    assert pod is not None
    assert queue.views.meta("x")["state"] == State.POD
    assert [(status.name, status.uid) for status in local_pods.list()] == [(pod_name("x", 2), pod.uid)]
    # Run once more by a doubled message: the pod is adopted, and nothing is created.
    again = saga.run(request, 2)
    assert again is not None
    assert again.uid == pod.uid
