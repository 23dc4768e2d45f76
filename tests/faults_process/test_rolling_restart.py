"""F29: workers are replaced one by one under load, by SIGTERM: nothing is lost, and nothing runs twice."""

import pytest

from bandmaster.scheduler.model.states import TERMINAL, State
from faults_process.installation import Installation
from waiting import wait_until

pytestmark = pytest.mark.slow

EXECUTIONS = 30


def test_f29_a_rolling_restart_under_load_loses_nothing(installation: Installation) -> None:
    workers = [installation.members.worker() for _ in range(2)]
    ids = [installation.submit("sleep 0.2") for _ in range(EXECUTIONS)]

    def ended() -> int:
        return sum(meta["state"] in TERMINAL for meta in installation.queue.views.metas(ids))

    for number, worker in enumerate(workers):
        enough = number * EXECUTIONS // 3
        wait_until(lambda enough=enough: ended() > enough, what="some progress")
        assert worker.terminate() == 0, worker.tail()
        installation.members.worker()
    installation.wait_until_settled(ids)
    assert {installation.state(execution_id) for execution_id in ids} == {State.COMPLETED}
    assert all(len(installation.runs(execution_id)) == 1 for execution_id in ids)
    assert installation.queue.views.dead() == []
    installation.probe()
