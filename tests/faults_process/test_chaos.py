"""Workers are killed and put to sleep at random moments, under load and cancellations: what must hold, holds."""

import random
import time

import pytest

from bandmaster.scheduler.model.states import State
from faults_process.installation import Installation
from faults_process.members import SHORT_LEASE_MS, Member
from waiting import wait_until

pytestmark = pytest.mark.slow

EXECUTIONS = 24
ROUNDS = 5
AT_LIMIT = 6


@pytest.mark.parametrize("seed", [1])
def test_whatever_is_killed_or_sleeps_each_execution_ends_once(seed: int, installation: Installation) -> None:
    chance = random.Random(seed)
    queue = installation.queue
    queue.controls.change_setting("max_concurrent_executions", AT_LIMIT)
    queue.controls.change_setting("lease_ttl_ms", SHORT_LEASE_MS)
    # On a busy machine who is neither killed nor asleep may lose a lease as well.
    queue.controls.change_setting("max_crashes", 1_000)
    installation.members.scheduler()
    workers = [worker(installation) for _ in range(2)]
    ids = [installation.submit(f"sleep {chance.uniform(0.05, 1):.2f}") for _ in range(EXECUTIONS)]
    cancelled = chance.sample(ids, 5)
    for number in range(ROUNDS):
        time.sleep(chance.uniform(0.1, 0.8))  # the moment itself, not a wait for something
        installation.send("execution_cancelled", {"execution_id": cancelled[number]})
        index = chance.randrange(len(workers))
        workers[index] = harm(chance, installation, workers[index])
    installation.wait_until_settled(ids)
    for execution_id in ids:
        allowed = {State.COMPLETED, State.CANCELLED} if execution_id in cancelled else {State.COMPLETED}
        assert installation.state(execution_id) in allowed
    assert queue.views.dead() == []
    installation.probe()


def worker(installation: Installation) -> Member:
    return installation.members.worker(settings={("leases", "lease_ttl_ms"): str(SHORT_LEASE_MS)})


def harm(chance: random.Random, installation: Installation, harmed: Member) -> Member:
    """Kill a worker, or let it sleep past its lease; returns who is there afterwards."""
    if chance.random() < 0.6:
        harmed.kill()
        return worker(installation)
    harmed.stop()
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 1.5 * SHORT_LEASE_MS / 1000, what="the end of its lease")
    harmed.go_on()
    return harmed
