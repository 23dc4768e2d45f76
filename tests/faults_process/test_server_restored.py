"""F32: the server comes back with older data while pods run and end. Ends are reported again, and none is stuck."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from faults_server.restoring import RestoringServer, restoring_server

from bandmaster.scheduler.model.states import State
from faults_process.conftest import installed
from faults_process.installation import Installation
from waiting import wait_until

pytestmark = pytest.mark.slow

EXECUTIONS = 16
AT_LIMIT = 6


@pytest.fixture
def server() -> Iterator[RestoringServer]:
    """Runs."""
    with restoring_server() as running:
        yield running


@pytest.fixture
def restored(server: RestoringServer, tmp_path: Path) -> Iterator[Installation]:
    """On that server; no member runs yet."""
    with redis.Redis.from_url(server.url) as client, installed(client, server.url, tmp_path) as installation:
        yield installation


def test_f32_pods_whose_ends_the_server_forgot_are_reported_again(
    server: RestoringServer, restored: Installation
) -> None:
    restored.queue.controls.change_setting("max_concurrent_executions", AT_LIMIT)
    workers = [restored.members.worker() for _ in range(2)]
    lines = [f"sleep 0.{number % 5 + 3}" for number in range(EXECUTIONS)]
    # Half of them cannot end before the snapshot, however late that is.
    held = [f"{restored.until_told}; {line}" for line in lines[EXECUTIONS // 2 :]]
    ids = [restored.submit(line) for line in lines[: EXECUTIONS // 2] + held]

    def in_state(*states: State) -> set[str]:
        return {name for name in ids if restored.state(name) in states}

    wait_until(lambda: in_state(State.COMPLETED), what="the first end")
    server.remember()
    ended, running = len(in_state(State.COMPLETED)), in_state(State.POD)
    restored.tell()
    wait_until(lambda: running <= in_state(State.COMPLETED), what="the end of what ran")
    wait_until(lambda: len(in_state(State.COMPLETED)) >= ended + AT_LIMIT, what="the end of what began since")
    completed = in_state(State.COMPLETED)
    for worker in workers:
        worker.stop()  # else ends are reported again while their states are read
    server.restore()
    assert in_state(State.COMPLETED) < completed, "it has forgotten some ends"
    for worker in workers:
        worker.go_on()

    restored.wait_until_settled(ids, attempts_given_once=False)
    assert in_state(State.COMPLETED) == {*ids}
    assert restored.queue.views.dead() == []
    restored.probe()
