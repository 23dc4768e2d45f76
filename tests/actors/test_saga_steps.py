"""The saga: each step again, each step failing, and interrupts at any moment; the slot and the pod never part."""

import threading
import time
from pathlib import Path

import pytest
from dramatiq.middleware import Interrupt, raise_thread_exception  # pyright: ignore[reportUnknownVariableType]
from dramatiq.middleware.time_limit import TimeLimitExceeded
from lifecycle import DEFAULTS, NO_ITEMS, Lifecycle, Reports, requested

from bandmaster.actors import create_pod, delete_pod
from bandmaster.actors.reconcile import Watch
from bandmaster.actors.saga import Saga, pause_ms
from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.middleware import ExecutionCancelled
from bandmaster.scheduler.model.states import HOLDING, State
from waiting import wait_until


def saga_of(lifecycle: Lifecycle, defaults: KubernetesSettings = DEFAULTS) -> Saga:
    return Saga(lifecycle.queue.transitions, lifecycle.pods, defaults, NO_ITEMS)


def test_a_pod_is_created_and_the_grant_handed_over_to_it(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted()
    pod = saga_of(lifecycle).run(event, 1)
    assert pod is not None
    meta = lifecycle.queue.views.meta("x")
    assert (meta["state"], meta["pod"], meta["pod_uid"]) == (State.POD, pod.name, pod.uid)
    again = saga_of(lifecycle).run(event, 1)
    assert again is not None
    assert again.uid == pod.uid
    assert len(lifecycle.pods.list()) == 1


def test_what_can_never_run_ends_with_the_reason_and_frees_its_slot(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted(requested(image="evil/miner"))
    assert saga_of(lifecycle, KubernetesSettings(allowed_images=("good/*",))).run(event, 1) is None
    assert lifecycle.state() is State.FAILED
    assert lifecycle.active() == 0
    assert b"evil/miner" in (lifecycle.queue.views.result("x") or b"")
    assert lifecycle.pods.list() == []


def test_while_the_pods_are_unavailable_an_execution_waits_longer_each_time(
    lifecycle: Lifecycle, tmp_path: Path
) -> None:
    (tmp_path / "no-folder").write_text("")
    broken = Saga(lifecycle.queue.transitions, LocalPods(tmp_path / "no-folder"), DEFAULTS, NO_ITEMS)
    event = lifecycle.granted()
    assert broken.run(event, 1) is None
    assert lifecycle.state() is State.SCHEDULED
    assert lifecycle.active() == 0
    due_in = int(lifecycle.queue.views.meta("x")["due"]) - lifecycle.queue.views.server_time_ms()
    assert 0 < due_in <= pause_ms(1)
    wait_until(lambda: lifecycle.queue.maintenance.promote() == 1, what="the next attempt being due")
    lifecycle.grant_again()
    assert saga_of(lifecycle).run(event, 2) is not None
    assert lifecycle.state() is State.POD


def test_the_pauses_grow_up_to_a_minute() -> None:
    assert [pause_ms(attempt) for attempt in (1, 2, 3, 7, 1_000)] == [1_000, 2_000, 4_000, 60_000, 60_000]


def test_the_pod_of_an_earlier_attempt_is_gone_before_the_next_is_created(lifecycle: Lifecycle) -> None:
    first = lifecycle.in_pod()
    lifecycle.queue.retry("x", 1, kind="infrastructure")
    lifecycle.grant_again()
    second = saga_of(lifecycle).run(requested(), 2)
    assert second is not None
    assert [pod.uid for pod in lifecycle.pods.list()] == [second.uid]
    assert lifecycle.pods.get(first.name) is None


def test_an_earlier_attempt_that_has_ended_keeps_its_log(lifecycle: Lifecycle) -> None:
    event = requested("echo so far")
    first = lifecycle.ended(lifecycle.in_pod(event))
    lifecycle.queue.retry("x", 1, kind="infrastructure")
    lifecycle.grant_again()
    assert saga_of(lifecycle).run(event, 2) is not None
    assert b"".join(lifecycle.pods.logs(first.name)) == b"so far\n"


def test_a_stale_attempts_pod_is_deleted_and_hands_nothing_over(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted()
    lifecycle.queue.retry("x", 1)
    lifecycle.grant_again()
    assert saga_of(lifecycle).run(event, 1) is None
    meta = lifecycle.queue.views.meta("x")
    assert (meta["state"], meta["attempt"]) == (State.RUNNING, "2")
    wait_until(lambda: lifecycle.pods.list() == [], what="the end of the stale attempt's pod")


def test_a_pod_that_ended_before_its_hand_over_keeps_its_end_and_its_log(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted(requested("echo quick"))
    pod = lifecycle.ended(lifecycle.create(event, 1))
    lifecycle.queue.release("x", 1)  # as its report does, which may overtake the hand-over
    assert saga_of(lifecycle).run(event, 1) is None
    assert lifecycle.state() is State.COMPLETED
    assert b"".join(lifecycle.pods.logs(pod.name)) == b"quick\n"


def test_a_cancellation_before_the_body_began_creates_nothing(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted()
    lifecycle.queue.cancel("x")
    create_pod(event, 1)
    assert lifecycle.state() is State.CANCELLED
    assert lifecycle.pods.list() == []


def test_a_message_of_a_stale_grant_creates_nothing(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted()
    create_pod(event, 2)
    lifecycle.queue.release("x")
    create_pod(event, 1)
    assert lifecycle.pods.list() == []


def test_deleting_a_pod_again_or_another_ones_does_nothing(lifecycle: Lifecycle) -> None:
    pod = lifecycle.in_pod()
    delete_pod(pod.name, "another-uid")
    found = lifecycle.pods.get(pod.name)
    assert found is not None
    assert not found.deleting
    for _ in range(2):
        delete_pod(pod.name, pod.uid)
        lifecycle.gone(pod)


def test_a_cancellation_before_the_hand_over_holds_the_slot_until_the_pod_is_gone(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted()
    pod = lifecycle.create(event, 1)
    lifecycle.queue.cancel("x")
    assert saga_of(lifecycle).run(event, 1) is None
    assert lifecycle.state() is State.CANCELLING
    assert lifecycle.active() == 1
    lifecycle.gone(pod)


class Body(threading.Thread):
    """A body that another thread interrupts."""

    def __init__(self, lifecycle: Lifecycle, attempt: int) -> None:
        super().__init__()
        self._lifecycle = lifecycle
        self._attempt = attempt
        self.raised: BaseException | None = None

    def run(self) -> None:
        try:
            saga_of(self._lifecycle).run(requested(), self._attempt)
        except Interrupt as interrupt:
            self.raised = interrupt

    def interrupt(self, interrupt: type[Interrupt]) -> None:
        if self.is_alive() and self.ident is not None:
            raise_thread_exception(self.ident, interrupt)


# An interrupt falls wherever it likes, between the opening of a file and its closing too.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("after_ms", [1, 4, 8, 16, 24, 32, 48])
def test_an_interrupt_at_any_moment_leaves_no_pod_without_a_slot(after_ms: int, lifecycle: Lifecycle) -> None:
    lifecycle.granted()
    lifecycle.queue.cancel("x")
    body = Body(lifecycle, 1)
    body.start()
    time.sleep(after_ms / 1000)  # the moment itself, not a wait for something
    body.interrupt(ExecutionCancelled)
    body.join()
    # Interrupted or not: the creation was finished, so that its pod could be handed over, and deleted.
    assert body.raised is None or lifecycle.pods.list() == []
    alive = [pod for pod in lifecycle.pods.list() if not pod.phase.ended]
    assert not alive or lifecycle.state() in HOLDING
    # What the interrupted call had begun may still come to life, once: a watch finds that, too.
    watch = Watch(lifecycle.queue, lifecycle.pods, Reports(), tend_seconds=0.1, again_seconds=1)

    def nothing_left() -> bool:
        watch.run(0)
        return lifecycle.pods.list() == []

    wait_until(nothing_left, what="the end of all pods")


def test_a_cancellation_while_an_earlier_pod_ends_waits_for_it(lifecycle: Lifecycle) -> None:
    stubborn = requested("trap '' TERM; echo ready; while :; do sleep 0.05; done")
    first = lifecycle.in_pod(stubborn)
    wait_until(lambda: b"ready" in b"".join(lifecycle.pods.logs(first.name)), what="its first words")
    lifecycle.queue.retry("x", 1, kind="infrastructure")
    lifecycle.grant_again()
    body = Body(lifecycle, 2)
    body.start()
    wait_until(lambda: _is_deleting(lifecycle, first.name), what="the deletion of the earlier pod")
    lifecycle.queue.cancel("x")
    body.interrupt(ExecutionCancelled)
    wait_until(lambda: lifecycle.state() is State.CANCELLED, what="the cancellation")
    assert lifecycle.pods.get(first.name) is None, "the slot was held until it was gone"
    body.join()
    assert lifecycle.pods.list() == []


def test_the_time_limit_before_the_creation_ends_the_body(lifecycle: Lifecycle) -> None:
    first = lifecycle.in_pod(requested("trap '' TERM; echo ready; while :; do sleep 0.05; done"))
    wait_until(lambda: b"ready" in b"".join(lifecycle.pods.logs(first.name)), what="its first words")
    lifecycle.queue.retry("x", 1, kind="infrastructure")
    lifecycle.grant_again()
    body = Body(lifecycle, 2)
    body.start()
    wait_until(lambda: _is_deleting(lifecycle, first.name), what="the deletion of the earlier pod")
    body.interrupt(TimeLimitExceeded)
    body.join()
    assert isinstance(body.raised, TimeLimitExceeded)
    assert lifecycle.state() is State.RUNNING, "the worker settles it"


def _is_deleting(lifecycle: Lifecycle, name: str) -> bool:
    pod = lifecycle.pods.get(name)
    return pod is not None and pod.deleting


def test_f14_the_pod_of_a_grant_that_the_server_forgot_is_its_successors(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted()
    meta = lifecycle.queue.scripts.keys.meta("x")
    forgotten = lifecycle.queue.views.meta("x")["nonce"]
    lifecycle.client.hset(meta, "nonce", "another:1")  # restored from older data, it gave the attempt to somebody else
    assert saga_of(lifecycle).run(event, 1, forgotten) is None
    assert lifecycle.state() is State.RUNNING
    pod = saga_of(lifecycle).run(event, 1, "another:1")
    assert pod is not None
    assert lifecycle.state() is State.POD
    assert [(each.uid, each.deleting) for each in lifecycle.pods.list()] == [(pod.uid, False)]


def test_f14_a_forgotten_grant_whose_execution_was_cancelled_leaves_no_pod(lifecycle: Lifecycle) -> None:
    event = lifecycle.granted()
    forgotten = lifecycle.queue.views.meta("x")["nonce"]
    lifecycle.client.hset(lifecycle.queue.scripts.keys.meta("x"), "nonce", "another:1")
    lifecycle.queue.cancel("x")
    assert saga_of(lifecycle).run(event, 1, forgotten) is None
    wait_until(lambda: not lifecycle.pods.list(), what="the deletion of its pod")


def test_a_creation_under_a_grant_that_is_anothers_does_nothing(lifecycle: Lifecycle) -> None:
    create_pod(lifecycle.granted(), 1, "another:1")
    assert lifecycle.pods.list() == []
