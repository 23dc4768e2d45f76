"""F32: the server comes back with older data after pods have ended. They are not run again: they have ended."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from cluster_admin import Admin
from faults_server.restoring import RestoringServer, restoring_server
from installation import LONG_LEASES, Installation
from making import HELD
from observing import Observer

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.scheduler.model.states import State
from waiting import wait_until

AT_LIMIT = 4


@pytest.fixture
def server() -> Iterator[RestoringServer]:
    """Runs."""
    with restoring_server() as running:
        yield running


@pytest.fixture
def restored(
    server: RestoringServer, tmp_path: Path, cluster_settings: KubernetesSettings, admin: Admin
) -> Iterator[Installation]:
    """On that server; no worker runs yet."""
    with redis.Redis.from_url(server.url) as client:
        installation = Installation(client, server.url, tmp_path, cluster_settings, admin)
        yield installation
        print(installation.members.end_all())


def test_f32_ends_that_were_acknowledged_and_forgotten_are_reported_again_as_they_were(
    server: RestoringServer, restored: Installation, admin: Admin, namespace: str
) -> None:
    restored.queue.controls.change_setting("max_concurrent_executions", AT_LIMIT)
    worker = restored.worker(leases=LONG_LEASES)
    with Observer(admin, namespace) as observer:
        line = f"{HELD}; echo the end of $EXECUTION_ID; exit 3"
        ids = [restored.submit(line) for _ in range(AT_LIMIT)]
        names = [restored.wait_for_pod(each) for each in ids]
        server.remember()
        for name in names:
            admin.let_go(namespace, name)
        restored.wait_until_all(ids)
        restored.wait_until_settled()
        worker.stop()  # or it reports the ends again while the states are read
        server.restore()
        assert {restored.state(each) for each in ids} == {State.POD}, "it has forgotten their ends"
        worker.go_on()
        behind = restored.submit("echo next")
        wait_until(lambda: restored.state(behind) is State.COMPLETED, timeout_seconds=60, what="who waited behind them")
        restored.wait_until_all([*ids, behind])
    assert {restored.state(each) for each in ids} == {State.FAILED}
    for each in ids:
        assert restored.result(each)["exit_code"] == 3
        assert restored.result(each)["output_tail"] == f"the end of {each}\n"
        assert restored.meta(each)["attempt"] == "1"
    assert len(observer.created) == AT_LIMIT + 1, "nothing ran twice"
