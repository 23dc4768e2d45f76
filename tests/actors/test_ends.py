"""The actors that end an execution: under its attempt only, once, and not while its pod is alive (F19, F20)."""

import itertools
import json
from typing import Any

import pytest
from lifecycle import Lifecycle, Reports, requested

from bandmaster.actors import execution_cancelled, execution_completed, execution_failed, execution_timeout
from bandmaster.actors.reconcile import Watch
from bandmaster.k8s.pods import PodStatus
from bandmaster.scheduler.engine.record import read_result
from bandmaster.scheduler.events import ExecutionCompletedEvent, ExecutionFailedEvent, ExecutionTimeoutEvent
from bandmaster.scheduler.model.states import TERMINAL, State
from waiting import wait_until

pytestmark = pytest.mark.slow


def event(attempt: int = 1, **fields: Any) -> dict[str, Any]:
    return {"execution_id": "x", "attempt": attempt, **fields}


def watch_until(lifecycle: Lifecycle, *states: State) -> None:
    """Watch as `watch_completions` does, and deliver what it reports."""
    actors: dict[type, Any] = {
        ExecutionCompletedEvent: execution_completed,
        ExecutionFailedEvent: execution_failed,
        ExecutionTimeoutEvent: execution_timeout,
    }
    watch = Watch(
        lifecycle.queue, lifecycle.pods, lambda ended: actors[type(ended)](ended), tend_seconds=0, again_seconds=0
    )

    def look() -> bool:
        watch.run(0.1)
        return lifecycle.state() in states

    wait_until(look, what=" or ".join(states))


def test_a_completion_keeps_the_result_frees_the_slot_and_acknowledges_the_pod(lifecycle: Lifecycle) -> None:
    pod = lifecycle.ended(lifecycle.in_pod(requested("true")))
    end = event(exit_code=0, duration_seconds=0.5, output_tail="hello\n", reason="Completed")
    execution_completed(end)
    assert lifecycle.state() is State.COMPLETED
    assert lifecycle.active() == 0
    result = lifecycle.queue.views.result("x")
    assert result is not None
    assert json.loads(result) == {
        "exit_code": 0,
        "reason": "Completed",
        "duration_seconds": 0.5,
        "output_tail": "hello\n",
        "output_truncated": False,
    }
    assert acknowledged(lifecycle, pod)
    execution_completed(end)
    execution_failed(event(exit_code=1))
    assert lifecycle.state() is State.COMPLETED
    assert lifecycle.queue.views.result("x") == result


def acknowledged(lifecycle: Lifecycle, pod: PodStatus) -> bool:
    found = lifecycle.pods.get(pod.name)
    return found is not None and found.acknowledged


@pytest.mark.parametrize("actor", [execution_completed, execution_failed, execution_timeout])
def test_d8_a_report_of_an_earlier_attempt_changes_nothing_but_acknowledges_its_pod(
    actor: Any, lifecycle: Lifecycle
) -> None:
    pod = lifecycle.ended(lifecycle.in_pod(requested("true")))
    lifecycle.queue.retry("x", 1, kind="infrastructure")
    lifecycle.grant_again()
    before = lifecycle.queue.views.meta("x")
    actor(event(attempt=1))
    assert lifecycle.queue.views.meta("x") == before
    assert acknowledged(lifecycle, pod)


@pytest.mark.parametrize(
    ("actor", "fields"),
    [
        (execution_completed, {"exit_code": 0}),
        (execution_failed, {"reason": "Deleted"}),
        (execution_failed, {"reason": "Evicted", "infrastructure": True}),
        (execution_timeout, {}),
    ],
    ids=["completed", "failed", "infrastructure", "timeout"],
)
@pytest.mark.parametrize("is_noted", [True, False], ids=["handed over", "created"])
def test_f14_the_end_of_a_pod_that_is_gone_does_not_end_the_one_that_has_its_name(
    is_noted: bool, actor: Any, fields: dict[str, Any], lifecycle: Lifecycle
) -> None:
    # A server that came back with older data gave the same attempt again.
    pod = lifecycle.in_pod() if is_noted else lifecycle.create(lifecycle.granted(), 1)
    before = lifecycle.queue.views.meta("x")
    actor(event(pod_uid="of-the-first", **fields))
    assert lifecycle.queue.views.meta("x") == before
    found = lifecycle.pods.get(pod.name)
    assert found is not None
    assert (found.phase.ended, found.deleting) == (False, False)


@pytest.mark.parametrize("attempt", [0, 1])
def test_what_was_pushed_without_a_check_frees_nobodys_slot(attempt: int, lifecycle: Lifecycle) -> None:
    lifecycle.granted()
    lifecycle.queue.retry("x", 1)
    lifecycle.grant_again()
    execution_completed(event(attempt=attempt))
    assert lifecycle.active() == 1


def test_an_infrastructure_failure_is_tried_again_up_to_a_bound(lifecycle: Lifecycle) -> None:
    lifecycle.queue.controls.change_setting("max_infrastructure_retries", 2)
    lifecycle.in_pod(requested("true"))
    for attempt in (1, 2, 3):
        found = lifecycle.pods.get(lifecycle.queue.views.meta("x").get("pod", ""))
        if found is not None:
            lifecycle.ended(found)
        execution_failed(event(attempt, infrastructure=True, reason="NodeLost"))
        if attempt < 3:
            assert lifecycle.queue.views.result("x") is None
            assert lifecycle.state() is (State.PENDING if attempt == 1 else State.SCHEDULED)
            wait_until(lambda: lifecycle.queue.maintenance.promote() or lifecycle.state() is State.PENDING, what="due")
            lifecycle.grant_again()
    assert lifecycle.state() is State.FAILED
    assert lifecycle.queue.views.dead() == ["x"]
    assert json.loads(lifecycle.queue.views.result("x") or b"{}")["reason"] == "NodeLost"


def test_an_infrastructure_failure_is_not_believed_while_the_pod_is_alive(lifecycle: Lifecycle) -> None:
    pod = lifecycle.in_pod()
    execution_failed(event(infrastructure=True))
    assert lifecycle.state() is State.POD
    found = lifecycle.pods.get(pod.name)
    assert found is not None
    assert not found.deleting


@pytest.mark.parametrize(
    ("actor", "state"),
    [
        (execution_completed, State.COMPLETED),
        (execution_failed, State.FAILED),
        (execution_timeout, State.TIMEOUT),
        (execution_cancelled, State.CANCELLED),
    ],
)
def test_d10_d11_an_end_reported_while_the_pod_is_alive_holds_the_slot_until_it_is_gone(
    actor: Any, state: State, lifecycle: Lifecycle
) -> None:
    pod = lifecycle.in_pod()
    actor(event())
    assert lifecycle.state() is State.CANCELLING
    assert lifecycle.active() == 1
    lifecycle.gone(pod)
    assert lifecycle.active() == 1, "not before somebody has seen that it is gone"
    watch_until(lifecycle, state)
    assert lifecycle.active() == 0


def test_the_output_of_a_cancelled_execution_is_kept(lifecycle: Lifecycle) -> None:
    pod = lifecycle.in_pod(requested("trap 'echo asked; exit 3' TERM; echo up; while :; do :; done"))
    wait_until(lambda: b"".join(lifecycle.pods.logs(pod.name)) == b"up\n", what="its first words")
    lifecycle.queue.cancel("x")
    lifecycle.pods.delete(pod.name, uid=pod.uid)
    lifecycle.gone(pod)
    watch_until(lifecycle, State.CANCELLED)
    kept = read_result(lifecycle.queue.views, "x")
    assert kept is not None
    assert (kept.output_tail, kept.exit_code, kept.reason) == ("up\nasked\n", 3, "Deleted")


def test_a_timeout_of_a_stale_attempt_does_not_end_the_current_one(lifecycle: Lifecycle) -> None:
    lifecycle.in_pod()
    lifecycle.queue.retry("x", 1, kind="infrastructure")
    lifecycle.grant_again()
    execution_timeout(event(attempt=1))
    assert lifecycle.state() is State.RUNNING
    assert "cancel" not in lifecycle.queue.views.meta("x")


def test_what_waits_is_cancelled_at_once(lifecycle: Lifecycle) -> None:
    lifecycle.queue.enqueue(requested())
    execution_cancelled({"execution_id": "x", "reason": "no longer needed"})
    meta = lifecycle.queue.views.meta("x")
    assert (meta["state"], meta["reason"]) == (State.CANCELLED, "no longer needed")


def test_an_unknown_execution_is_ended_by_nobody(lifecycle: Lifecycle) -> None:
    before = lifecycle.keys()
    for actor in (execution_completed, execution_failed, execution_timeout):
        actor(event())
    execution_cancelled({"execution_id": "x"})
    assert {key for key in lifecycle.keys() - before if b":reply:" not in key} <= {b"exec_queue:settings"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_f19_f20_ends_that_are_doubled_and_reordered_make_exactly_one(
    order: tuple[int, ...], lifecycle: Lifecycle
) -> None:
    lifecycle.ended(lifecycle.in_pod(requested("true")))
    ends: list[tuple[Any, State]] = [
        (execution_completed, State.COMPLETED),
        (execution_failed, State.FAILED),
        (execution_timeout, State.TIMEOUT),
        (execution_cancelled, State.CANCELLED),
    ]
    for index in (*order, *order):
        ends[index][0](event())
    # A cancellation that comes first is a wish, which the next report, whatever it says, fulfils.
    assert lifecycle.state() is ends[order[0]][1]
    assert lifecycle.active() == 0
    verbs = [entry.verb for entry in lifecycle.queue.journal.of("x") if entry.fields["state"] in TERMINAL]
    assert len(verbs) == 1


def test_nobody_reports_what_was_acknowledged(lifecycle: Lifecycle) -> None:
    lifecycle.ended(lifecycle.in_pod(requested("true")))
    watch_until(lifecycle, State.COMPLETED)
    reports = Reports()
    Watch(lifecycle.queue, lifecycle.pods, reports, tend_seconds=0, again_seconds=0).run(0)
    assert reports == []
