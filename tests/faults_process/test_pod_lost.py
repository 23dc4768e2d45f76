"""F23: what becomes of a pod while nobody watches is found out by the next watch, and the slot comes back."""

import pytest
from leftovers import processes_under

from bandmaster.k8s.phases import Reason
from bandmaster.scheduler.model.states import State
from faults_process.installation import Installation
from waiting import wait_until

pytestmark = pytest.mark.slow

FIRST_TIME_FOR_EVER = '[ "$EXECUTION_ATTEMPT" = 2 ] || sleep 600'


def test_f23_a_pod_that_was_deleted_while_nobody_watched_is_tried_again(installation: Installation) -> None:
    worker = installation.members.worker()
    execution_id = installation.submit(FIRST_TIME_FOR_EVER)
    installation.wait_for(execution_id, State.POD)
    wait_until(lambda: installation.runs(execution_id) == [1], what="the first run")
    worker.stop()
    (pod,) = installation.pods.list()
    installation.pods.delete(pod.name)
    wait_until(lambda: installation.pods.get(pod.name) is None, what="the end of the pod")
    worker.go_on()
    installation.wait_until_settled([execution_id])
    assert installation.state(execution_id) is State.COMPLETED
    assert installation.runs(execution_id) == [1, 2]
    installation.probe()


def test_a_pod_whose_node_was_lost_while_nobody_watched_is_tried_again(installation: Installation) -> None:
    worker = installation.members.worker()
    execution_id = installation.submit(FIRST_TIME_FOR_EVER)
    installation.wait_for(execution_id, State.POD)
    wait_until(lambda: installation.runs(execution_id) == [1], what="the first run")
    worker.stop()
    for process in processes_under(installation.folder):
        process.kill()
    worker.go_on()
    installation.wait_until_settled([execution_id])
    assert installation.state(execution_id) is State.COMPLETED
    assert installation.runs(execution_id) == [1, 2]
    first, second = sorted(installation.pods.list(), key=lambda pod: pod.attempt)
    assert first.outcome is not None
    assert first.outcome.reason is Reason.NODE_LOST
    assert first.acknowledged, "the log of the lost attempt is kept"
    assert second.outcome is not None
    installation.probe()


def test_a_program_that_kills_its_supervisor_each_time_is_a_lost_pod_until_its_tries_are_used_up(
    installation: Installation,
) -> None:
    installation.queue.controls.change_setting("max_infrastructure_retries", 2)
    installation.members.worker()
    execution_id = installation.submit("kill -9 $PPID; sleep 600")
    installation.wait_for(execution_id, State.FAILED)
    assert installation.queue.views.dead() == [execution_id]
    assert installation.queue.drop(execution_id)
    installation.wait_until_settled([execution_id])
    assert installation.runs(execution_id) == [1, 2, 3]
    assert {pod.outcome.reason for pod in installation.pods.list() if pod.outcome} == {Reason.NODE_LOST}
    installation.probe()
