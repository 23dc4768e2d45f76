"""Executions as pods: real workers, a real server, a real cluster; order, limits, and every kind of end."""

import statistics
from collections import Counter

import pytest
from cluster_admin import Admin
from installation import FOREVER, LIMIT, MINUTES, Installation
from making import PYTHON
from observing import Observer
from program_output import wait_until_it_says

from bandmaster.k8s.pods import Pods
from bandmaster.scheduler.model.states import State

# It says so when the signal finds its trap.
UNTIL_TERM = FOREVER.replace("TERM; ", "TERM; echo begun; ")


def test_forty_executions_run_as_forty_pods_and_never_more_than_the_limit_at_once(
    installation: Installation, admin: Admin, namespace: str
) -> None:
    with Observer(admin, namespace) as observer:
        installation.worker()
        installation.worker()
        ids = [installation.submit(f"echo {number}") for number in range(40)]
        installation.wait_until_all(ids, timeout_seconds=5 * MINUTES)
    assert {installation.state(each) for each in ids} == {State.COMPLETED}
    assert [installation.result(each)["output_tail"] for each in ids] == [f"{number}\n" for number in range(40)]
    assert observer.most_alive() == LIMIT
    assert Counter(moment.name for moment in observer.created).most_common(1)[0][1] == 1
    assert len(observer.created) == 40
    installation.wait_until_settled()
    delays = observer.from_end_to_creation_ms(LIMIT)
    print(f"from a pod's end to the next one's creation: p50 {statistics.median(delays):.0f} ms, {len(delays)} times")


def test_every_kind_of_end_is_told_with_its_reason_its_exit_code_and_its_last_words(
    installation: Installation, pods: Pods, admin: Admin, namespace: str
) -> None:
    installation.queue.controls.change_setting("max_concurrent_executions", 20)
    installation.worker(threads=12, pending_deadline_seconds=45, termination_grace_seconds=10)
    success = installation.submit("echo fine")
    script = installation.submit(script="import sys; print('from a script'); sys.exit(7)", image=PYTHON)
    failure = installation.submit("echo why; exit 3")
    greedy = installation.submit(script="print('x' * 500_000_000)", image=PYTHON, memory_limit="32Mi")
    slow = installation.submit("echo begun; sleep 100", timeout_seconds=15)
    no_image = installation.submit("true", image="localhost/missing:1")
    too_big = installation.submit("true", cpu_request="1000", cpu_limit="1000")
    no_program = installation.submit(command=("no-such-program",))
    by_hand = installation.submit(UNTIL_TERM)
    name = installation.wait_for_pod(by_hand)
    wait_until_it_says(pods, name, "begun")
    admin.delete(namespace, name)
    ids = [success, script, failure, greedy, slow, no_image, too_big, no_program, by_hand]
    installation.wait_until_all(ids)
    ends = [
        (installation.state(each), installation.result(each)["reason"], installation.result(each).get("exit_code"))
        for each in ids
    ]
    assert ends == [
        (State.COMPLETED, "Completed", 0),
        (State.FAILED, "Error", 7),
        (State.FAILED, "Error", 3),
        (State.FAILED, "OOMKilled", 137),
        (State.TIMEOUT, "DeadlineExceeded", ends[4][2]),
        (State.FAILED, "ImagePull", None),
        (State.FAILED, "Unschedulable", None),
        (State.FAILED, "StartError", 127),
        (State.FAILED, "Deleted", ends[8][2]),
    ]
    # A busy kubelet may remove the container before it has told how it ended: ContainerStatusUnknown.
    assert ends[8][2] in (1, None)
    tails = [installation.result(each)["output_tail"] for each in ids]
    assert tails[:3] == ["fine\n", "from a script\n", "why\n"]
    assert tails[4] == "begun\n"
    assert tails[8] == "begun\n"
    assert "not started within 45 s" in tails[5]
    assert "Insufficient cpu" in tails[6]
    assert "no-such-program" in tails[7]
    assert [installation.meta(each)["attempt"] for each in ids] == ["1"] * len(ids)
    installation.wait_until_settled()


@pytest.mark.nightly
def test_watchers_that_all_watch_at_once_end_each_execution_once(
    installation: Installation, pods: Pods, admin: Admin, namespace: str
) -> None:
    installation.worker()
    installation.worker()
    for _ in range(2):
        installation.watcher()
    by_hand = installation.submit(UNTIL_TERM)
    good = [installation.submit(f"sleep 1; echo {number}") for number in range(8)]
    bad = [installation.submit(f"exit {number}") for number in range(1, 5)]
    name = installation.wait_for_pod(by_hand)
    wait_until_it_says(pods, name, "begun")
    admin.delete(namespace, name)
    ids = [by_hand, *good, *bad]
    installation.wait_until_all(ids)  # and none was released twice
    assert [installation.result(each)["output_tail"] for each in good] == [f"{number}\n" for number in range(8)]
    assert [installation.result(each)["exit_code"] for each in bad] == [1, 2, 3, 4]
    assert installation.result(by_hand)["reason"] == "Deleted"
    assert {installation.meta(each)["attempt"] for each in ids} == {"1"}
    assert installation.queue.action_statistics("pod").total_completed == len(ids)
    installation.wait_until_settled()
