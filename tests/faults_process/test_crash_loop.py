"""F26: an execution that kills its worker each time is dead-lettered after its attempts, and holds nothing up."""

import sys
from functools import partial

import pytest
from ended_leases import end_leases
from model.dump import read_dump
from model.invariants import Invariants

from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.states import State
from faults_process.installation import Installation
from faults_process.members import Member
from waiting import wait_until

pytestmark = pytest.mark.slow

APP = "faults_process.deadly_app"
LANE = "default"


def message(actor: str) -> bytes:
    """As the application's own code sends it."""
    return (
        f'{{"queue_name":"{LANE}","actor_name":"{actor}","args":[],"kwargs":{{}},"options":{{}},'
        f'"message_id":"{actor}","message_timestamp":0}}'
    ).encode()


def is_over(installation: Installation, worker: Member) -> bool:
    """Whether the worker died of it, or it was given up."""
    return worker.process.poll() is not None or installation.state("deadly") is State.FAILED


@pytest.mark.parametrize("max_crashes", [1])
def test_f26_an_execution_that_kills_its_workers_is_dead_lettered_and_the_next_one_runs(
    max_crashes: int, installation: Installation, redis_url: str
) -> None:
    queue = installation.queue
    queue.controls.change_setting("max_crashes", max_crashes)
    queue.controls.change_setting("max_concurrent_executions", 1, lane=LANE)
    for band, actor in ((1, "deadly"), (3, "harmless")):
        queue.transitions.park(Candidate(actor, LANE, band, actor, message=message(actor)))
    crashes = 0
    while installation.state("deadly") is not State.FAILED:
        worker = installation.members.worker(
            module=APP,
            threads=1,
            environment={"DEADLY_REDIS_URL": redis_url, "PYTHONPATH": ":".join(sys.path)},
            ready=None,
            lane=LANE,
        )
        wait_until(partial(is_over, installation, worker), what="a crash, or the end")
        if worker.process.poll() is None:
            break
        crashes += 1
        end_leases(installation.queue, "deadly")
        assert crashes <= max_crashes + 1
    wait_until(lambda: installation.state("harmless") is State.COMPLETED, what="the end of the other")
    assert crashes == max_crashes + 1
    assert installation.meta("deadly")["attempt"] == str(max_crashes + 1)
    assert queue.views.dead() == ["deadly"]
    Invariants().check(read_dump(installation.client, queue.scripts.keys), one_step=False)
    installation.probe(LANE)
