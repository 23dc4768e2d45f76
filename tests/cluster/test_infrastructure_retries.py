"""Pods whose end is the cluster's fault: tried again under a new attempt, no try used up, as often as is allowed."""

from datetime import UTC, datetime

import pytest
from cluster_admin import Admin
from installation import Installation

from bandmaster.scheduler.model.states import State

BOUND = 2


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_preempted_pod_is_tried_again_under_a_new_attempt_whatever_it_says(
    installation: Installation, admin: Admin, namespace: str, exit_code: int
) -> None:
    installation.worker()
    line = f"[ $EXECUTION_ATTEMPT = 2 ] && exit; trap 'exit {exit_code}' TERM; while :; do sleep 0.1; done"
    execution_id = installation.submit(line)
    name = installation.wait_for_pod(execution_id)
    # What the scheduler of later releases does.
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    condition["lastTransitionTime"] = now
    admin.patch_status(namespace, name, {"conditions": [condition]})
    admin.delete(namespace, name)
    installation.wait_until_all([execution_id])
    assert installation.state(execution_id) is State.COMPLETED
    meta = installation.meta(execution_id)
    assert (meta["attempt"], meta["infrastructure"], meta.get("crashes", "0")) == ("2", "1", "0")


def test_an_execution_whose_pods_are_always_evicted_fails_in_the_end(
    installation: Installation, admin: Admin, namespace: str
) -> None:
    installation.queue.controls.change_setting("max_infrastructure_retries", BOUND)
    installation.worker()
    # No node takes it, so the test plays the kubelet that evicts it.
    execution_id = installation.submit("true", cpu_request="1000", cpu_limit="1000")
    names: list[str] = []
    for attempt in range(1, BOUND + 2):
        names.append(installation.wait_for_pod(execution_id, attempt=attempt, phase="Pending"))
        evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
        admin.patch_status(namespace, names[-1], evicted)
    installation.wait_until_all([execution_id])
    assert len(set(names)) == BOUND + 1
    assert installation.state(execution_id) is State.FAILED
    assert installation.meta(execution_id)["reason"] == "Evicted"
    assert "low on resource" in installation.result(execution_id)["output_tail"]
    assert installation.queue.views.dead() == [execution_id]
    installation.wait_until_settled()
