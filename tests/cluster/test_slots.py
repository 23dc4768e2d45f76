"""F34: a slot is given back when the last process of its pod is gone, and not when the API server says so.

An observer of this machine's processes looks all along: there are never more executions with one than slots.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from api_proxy import ApiProxy, Fault
from cluster_admin import Admin
from components import components_or_skip
from installation import FOREVER, LONG_LEASES, MINUTES, Installation
from programs import Programs

from bandmaster.scheduler.model.states import TERMINAL, State
from waiting import wait_until

CREATING = r"^POST .*/pods"


@pytest.fixture
def programs(admin: Admin) -> Iterator[Programs]:
    """Of this machine, which is the cluster's node."""
    components_or_skip(admin)
    with Programs() as programs:
        yield programs


def ends(installation: Installation) -> Counter[str]:
    """How often each execution ended."""
    journal = installation.queue.journal.entries()
    return Counter(entry.execution_id for entry in journal if entry.fields.get("state") in TERMINAL)


def test_f34_a_pod_that_is_deleted_at_once_while_it_starts_holds_its_slot_until_it_does_not_run(
    installation: Installation, admin: Admin, namespace: str, programs: Programs
) -> None:
    installation.queue.controls.change_setting("max_concurrent_executions", 1)
    installation.worker(leases=LONG_LEASES)
    ids = [programs.expect(installation.submit(FOREVER)) for _ in range(4)]
    ids.append(programs.expect(installation.submit("true")))
    for each, after_seconds in zip(ids[:-1], (0.0, 0.3, 0.6, 0.9), strict=True):
        name = wait_until(
            lambda each=each: installation.meta(each).get("pod"), timeout_seconds=3 * MINUTES, what="a pod"
        )
        wait_until(
            lambda name=name: admin.is_with_kubelet(namespace, name or ""),
            timeout_seconds=MINUTES,
            what="its kubelet",
        )
        time.sleep(after_seconds)  # the moment itself, not a wait for something
        admin.delete(namespace, name or "", grace_period_seconds=0)
    installation.wait_until_all(ids)
    assert len(programs.most) <= 1
    assert [installation.state(each) for each in ids] == [State.FAILED] * 4 + [State.COMPLETED]
    assert {installation.result(each)["reason"] for each in ids[:-1]} == {"Deleted"}
    assert ends(installation) == Counter(ids)
    installation.wait_until_settled()
    assert not programs.now()


def test_f34_a_container_beside_the_program_ends_before_the_slot_is_given_back(
    installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str, programs: Programs
) -> None:
    def injected(body: bytes) -> bytes:
        pod = json.loads(body)
        program = pod["spec"]["containers"][0]
        pod["spec"]["containers"].append(program | {"name": "sidecar", "command": ["sh", "-c", FOREVER]})
        return json.dumps(pod).encode()

    limit = 2
    proxy.fail(Fault(CREATING, change=injected))
    installation.queue.controls.change_setting("max_concurrent_executions", limit)
    installation.worker(leases=LONG_LEASES, kubeconfig=str(proxy.kubeconfig))
    ids = [programs.expect(installation.submit(f"echo {number}; exit {number}")) for number in range(5)]
    installation.wait_until_all(ids)
    assert len(programs.most) == limit
    assert [installation.state(each) for each in ids] == [State.COMPLETED, *[State.FAILED] * 4]
    assert [installation.result(each)["exit_code"] for each in ids] == list(range(5))
    assert [installation.result(each)["output_tail"] for each in ids] == [f"{number}\n" for number in range(5)]
    assert ends(installation) == Counter(ids)
    installation.wait_until_settled()
    wait_until(lambda: not admin.pods(namespace), timeout_seconds=2 * MINUTES, what="the departure of all pods")
    assert not programs.now()
