"""The list of worker processes: one that was killed is gone when its signature has expired."""

import pytest

from bandmaster.scheduler.workers import Workers
from faults_process.installation import Installation
from waiting import wait_until

pytestmark = pytest.mark.slow


def test_a_killed_worker_vanishes_from_the_list(installation: Installation) -> None:
    listed = Workers(installation.queue.scripts)
    killed, kept = installation.members.worker(), installation.members.worker()
    wait_until(lambda: len(listed.alive()) == 2, what="both")
    assert {each.threads for each in listed.alive()} == {killed.threads, kept.threads}
    assert len({(each.host, each.pid) for each in listed.alive()}) == 2
    killed.kill()
    gone = {each.worker_id for each in listed.alive()}
    wait_until(lambda: len(listed.alive()) == 1, what="the killed one to be gone")
    (left,) = listed.alive()
    assert left.worker_id in gone
    kept.stop()
    wait_until(lambda: listed.alive() == [], what="the other one to be gone")
