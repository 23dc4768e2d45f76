"""One window of watching: what it reports, renews, adopts and deletes, by what Redis holds and what the pods are."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pytest
from leftovers import processes_under
from lifecycle import FOR_EVER, Lifecycle, Reports, requested

from bandmaster.actors.reconcile import Watch
from bandmaster.k8s.local.limits import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.scheduler.events import ExecutionCompletedEvent, ExecutionFailedEvent, ExecutionTimeoutEvent
from bandmaster.scheduler.model.states import State
from waiting import wait_until

pytestmark = pytest.mark.slow

FOR_LONG: Final = 3600.0
"""Seconds; longer than any test."""


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def watch(lifecycle: Lifecycle, reports: Reports) -> Watch:
    return Watch(lifecycle.queue, lifecycle.pods, reports, tend_seconds=0.05, again_seconds=0.3)


def test_each_end_is_reported_for_what_it_is(lifecycle: Lifecycle, watch: Watch, reports: Reports) -> None:
    lines = {"good": "echo fine", "bad": "echo oops; exit 3", "killed": "kill -9 $$", "slow": "echo on; sleep 600"}
    for execution_id, line in lines.items():
        event = requested(line, execution_id, timeout_seconds=1 if execution_id == "slow" else 60)
        lifecycle.ended(lifecycle.in_pod(event))
    watch.run(0)
    by_id = {event.execution_id: event for event in reports}
    assert {name: type(event) for name, event in by_id.items()} == {
        "good": ExecutionCompletedEvent,
        "bad": ExecutionFailedEvent,
        "killed": ExecutionFailedEvent,
        "slow": ExecutionTimeoutEvent,
    }
    assert {name: event.exit_code for name, event in by_id.items()} == {"good": 0, "bad": 3, "killed": 137, "slow": 143}
    assert by_id["bad"].output_tail == "oops\n"
    for event in reports:
        pod = lifecycle.pods.get(lifecycle.queue.views.meta(event.execution_id)["pod"])
        assert pod is not None
        assert pod.outcome is not None
        assert (event.attempt, event.at) == (1, int(pod.outcome.ended_at * 1000))
        assert event.duration_seconds == pod.outcome.duration_seconds


def test_an_end_is_reported_again_until_it_is_settled_and_acknowledged(
    lifecycle: Lifecycle, watch: Watch, reports: Reports
) -> None:
    pod = lifecycle.ended(lifecycle.in_pod(requested("true")))
    watch.run(0)
    watch.run(0)
    assert len(reports) == 1, "its report is under way"

    def again() -> bool:
        watch.run(0)
        return len(reports) == 2

    wait_until(again, what="another report")
    lifecycle.queue.release("x", 1)
    lifecycle.pods.acknowledge(pod.name, pod.uid)
    watch.run(0.4)
    assert len(reports) == 2


def test_f32_an_end_that_was_acknowledged_is_reported_again_while_its_slot_is_held(
    lifecycle: Lifecycle, watch: Watch, reports: Reports
) -> None:
    pod = lifecycle.ended(lifecycle.in_pod(requested("exit 3")))
    lifecycle.pods.acknowledge(pod.name, pod.uid)
    watch.run(0)
    assert reports.of("x") == ["Error"]
    watch.run(0)
    assert len(reports) == 1, "its report is under way"


def test_the_living_are_renewed_and_nothing_is_reported(lifecycle: Lifecycle, watch: Watch, reports: Reports) -> None:
    lifecycle.in_pod()
    key = lifecycle.queue.scripts.keys.named("lease:pods")
    lease = lifecycle.queue.views.pod_leases()["x"]
    lifecycle.client.zadd(key, {lease: 1})
    watch.run(0)
    assert (lifecycle.client.zscore(key, lease) or 0) > lifecycle.queue.views.server_time_ms()  # type: ignore[operator]
    assert reports == []


def test_f2_a_pod_whose_creator_died_is_handed_the_grant(lifecycle: Lifecycle, watch: Watch, reports: Reports) -> None:
    pod = lifecycle.create(lifecycle.granted(), 1)
    watch.run(0)
    meta = lifecycle.queue.views.meta("x")
    assert (meta["state"], meta["pod_uid"]) == (State.POD, pod.uid)
    # Its creator was only slow, and does the same again.
    assert lifecycle.queue.transitions.hand_over("x", 1, pod.name, pod.uid).state is State.POD
    assert reports == []


def test_a_pod_whose_creator_died_after_a_cancellation_is_deleted(
    lifecycle: Lifecycle, watch: Watch, reports: Reports
) -> None:
    pod = lifecycle.create(lifecycle.granted(), 1)
    lifecycle.queue.cancel("x")
    watch.run(0)
    assert lifecycle.state() is State.CANCELLING
    lifecycle.gone(pod)


def test_f20_a_cancellation_that_nobody_carried_out_is_carried_out(
    lifecycle: Lifecycle, watch: Watch, reports: Reports
) -> None:
    pod = lifecycle.in_pod()
    lifecycle.queue.cancel("x")
    watch.run(0)
    lifecycle.gone(pod)
    watch.run(0)
    assert reports.of("x") == ["Deleted"]


@pytest.mark.parametrize("case", ["waits", "is further on", "has ended"])
def test_a_pod_that_no_execution_stands_behind_is_deleted(case: str, lifecycle: Lifecycle, watch: Watch) -> None:
    pod = lifecycle.in_pod()
    if case == "has ended":
        lifecycle.queue.remove("x")
    else:
        lifecycle.queue.retry("x", 1, kind="infrastructure")
        if case == "is further on":
            lifecycle.grant_again()
    watch.run(0)
    lifecycle.gone(pod)


def test_f15_a_pod_that_redis_knows_nothing_of_is_left_alone(
    lifecycle: Lifecycle, watch: Watch, reports: Reports
) -> None:
    pod = lifecycle.in_pod()
    lifecycle.client.flushdb()
    watch.run(0)
    found = lifecycle.pods.get(pod.name)
    assert found is not None
    assert not found.deleting
    assert reports == []


def test_the_slot_of_a_lost_record_is_held_as_long_as_its_pod_is_there(lifecycle: Lifecycle, watch: Watch) -> None:
    lifecycle.queue.controls.set_limit("gpu", 1)
    pod = lifecycle.in_pod(requested(gates=("gpu",)))
    lifecycle.client.delete(lifecycle.queue.scripts.keys.meta("x"))
    watch.run(0)
    assert lifecycle.active() == 1
    lifecycle.pods.delete(pod.name)
    lifecycle.gone(pod)
    watch.run(0)
    assert lifecycle.active() == 0
    assert lifecycle.queue.views.held(["gpu", "action:pod"]) == [0, 0]
    assert lifecycle.queue.views.event("x") is None


def test_f32_another_pod_in_the_place_of_the_one_that_is_noted_does_not_end_in_its_name(
    lifecycle: Lifecycle, watch: Watch, reports: Reports
) -> None:
    pod = lifecycle.create(lifecycle.granted(requested("true")), 1)
    lifecycle.queue.transitions.hand_over("x", 1, pod.name, "uid-of-one-that-is-gone")
    lifecycle.pods.acknowledge(pod.name, lifecycle.ended(pod).uid)
    watch.run(0)
    assert reports.of("x") == ["PodAbsent"]


def test_f23_a_pod_that_is_not_there_is_reported_once(lifecycle: Lifecycle, watch: Watch, reports: Reports) -> None:
    pod = lifecycle.in_pod()
    lifecycle.pods.delete(pod.name)
    lifecycle.gone(pod)
    LocalPods(lifecycle.folder, LocalLimits(keep_seconds=0.0)).list()  # its last words are forgotten, too
    watch.run(0)
    watch.run(0)
    (event,) = reports
    assert isinstance(event, ExecutionFailedEvent)
    assert (event.reason, event.attempt, event.infrastructure) == ("PodAbsent", 1, True)


def test_a_pod_that_vanishes_before_its_eyes_is_reported_once(lifecycle: Lifecycle, reports: Reports) -> None:
    watch = Watch(lifecycle.queue, lifecycle.pods, reports, tend_seconds=0.05, again_seconds=60)
    pod = lifecycle.in_pod()

    def ours() -> bool:
        lifecycle.pods.delete(pod.name)
        return True

    watch.run(0, is_ours=ours)

    def reported() -> Reports:
        watch.run(0.1)
        return reports

    wait_until(reported, what="its end")
    watch.run(0.3)
    (event,) = reports
    assert isinstance(event, ExecutionFailedEvent)
    assert (event.reason, event.infrastructure) == ("Deleted", True), "it is known how it ended"


def test_a_pod_whose_supervisor_was_killed_is_an_infrastructure_failure(
    lifecycle: Lifecycle, watch: Watch, reports: Reports
) -> None:
    pod = lifecycle.in_pod()
    wait_until(lambda: processes_under(lifecycle.folder), what="its processes")
    for process in processes_under(lifecycle.folder):
        process.kill()
    lifecycle.ended(pod)
    watch.run(0)
    (event,) = reports
    assert isinstance(event, ExecutionFailedEvent)
    assert (event.reason, event.infrastructure) == ("NodeLost", True)


def test_a_watch_that_is_not_the_one_any_more_changes_nothing(lifecycle: Lifecycle, watch: Watch) -> None:
    lifecycle.create(lifecycle.granted(), 1)
    watch.run(0.2, is_ours=lambda: False)
    assert lifecycle.state() is State.RUNNING


def test_many_pods_cost_few_round_trips(lifecycle: Lifecycle, reports: Reports) -> None:
    # It compares them once, at the end of the window, however long the list of them takes.
    watch = Watch(lifecycle.queue, lifecycle.pods, reports, tend_seconds=FOR_LONG, again_seconds=FOR_LONG)
    for number in range(8):
        lifecycle.in_pod(requested(FOR_EVER, f"x{number}"))
    asked = commands(lifecycle.client, lambda: watch.run(0))
    assert asked["HGETALL"] == 8, "the records, in one pipeline"
    assert asked["FCALL"] == 1


def commands(client: Any, act: Callable[[], None]) -> Counter[str]:
    """How often each command was sent meanwhile; what a script calls is not counted: some of it goes by the clock."""
    with client.monitor() as monitor:
        act()
        client.echo("the end")
        asked = Counter[str]()
        for heard in monitor.listen():
            if heard["command"] == "ECHO the end":
                break
            if heard["client_type"] != "lua":
                asked[heard["command"].partition(" ")[0]] += 1
    return asked


def test_a_pod_of_another_installation_is_not_touched(lifecycle: Lifecycle, watch: Watch, pods: LocalPods) -> None:
    pod = pods.create(lifecycle.spec(requested(execution_id="somebody-elses"), 1))
    watch.run(0)
    found = pods.get(pod.name)
    assert found is not None
    assert not found.deleting
