"""Workers without a scheduler process: they promote, reap, sweep and watch by themselves. And how a worker starts."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from faults_process.installation import LIFECYCLE, Installation
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow


def test_workers_without_a_scheduler_promote_sweep_and_revive_the_watch(installation: Installation) -> None:
    queue = installation.queue
    queue.controls.set_limit("gate-of-none", 0)
    stale = ExecutionRequestedEvent(command=("true",), gates=("gate-of-none",))
    later = ExecutionRequestedEvent(command=("true",), scheduled_at=datetime.now(UTC) + timedelta(seconds=1.5))
    worker = installation.members.worker()
    queue.enqueue(stale)
    queue.enqueue(later)
    installation.wait_for(later.execution_id, State.COMPLETED)
    # All that is queued is lost, so nobody watches any more.
    wait_until(lambda: installation.queued("watch_completions") == 1, what="a watch")
    installation.client.delete(f"dramatiq:{LIFECYCLE}", f"dramatiq:{LIFECYCLE}.msgs")
    running = installation.submit("true")
    installation.wait_for(running, State.POD, State.COMPLETED)  # else it might be stale, too, on a busy machine
    queue.controls.change_setting("stale_timeout_seconds", 1)
    installation.wait_for(stale.execution_id, State.EXPIRED)
    queue.controls.change_setting("stale_timeout_seconds", None)
    installation.wait_until_settled([stale.execution_id, later.execution_id, running])
    assert installation.state(running) is State.COMPLETED
    installation.probe()
    assert worker.terminate() == 0


def test_a_worker_with_a_single_thread_runs_executions_all_the_same(installation: Installation) -> None:
    installation.members.worker(threads=1)
    ids = [installation.submit("true") for _ in range(3)]
    installation.wait_until_settled(ids)
    installation.probe()


def test_configured_values_are_where_it_starts_and_an_operators_change_survives(installation: Installation) -> None:
    queue = installation.queue
    limit = ("limits", "max_concurrent_executions")
    first = installation.members.worker(settings={limit: "3"})
    assert queue.views.status().settings["max_concurrent_executions"] == 3
    queue.controls.change_setting("max_concurrent_executions", 5)
    assert first.terminate() == 0
    second = installation.members.worker(settings={limit: "4"})
    assert queue.views.status().settings["max_concurrent_executions"] == 5
    assert second.says("setting_differs")


def test_a_worker_stops_at_once_although_it_watches(installation: Installation) -> None:
    # A window is ten minutes long: only an interruption ends it in a test's time.
    worker = installation.members.worker(settings={("leases", "pod_lease_ttl_ms"): str(12 * 600_000)})
    lock = installation.queue.scripts.keys.lock("watch_completions")
    wait_until(lambda: installation.client.exists(lock), what="a watch")
    assert worker.terminate() == 0, worker.tail()
    assert not installation.client.exists(lock)
    assert installation.queued("watch_completions") >= 1, "the next worker goes on"


def test_workers_and_schedulers_whose_server_does_not_come_end_with_an_error(
    installation: Installation, tmp_path: Path
) -> None:
    nowhere = f"unix://{tmp_path}/nowhere.sock"
    wait = {("redis", "connect_wait_seconds"): "0.2"}
    worker = installation.members.worker(url=nowhere, settings=wait, ready=None)
    scheduler = installation.members.scheduler(url=nowhere, settings=wait, ready=None)
    assert worker.process.wait(timeout=GENEROUS_SECONDS) == 1
    assert worker.says("worker_not_started")
    assert scheduler.process.wait(timeout=GENEROUS_SECONDS) == 1
    assert scheduler.says("did not answer within 0.2 s")
