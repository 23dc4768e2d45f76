"""Two worker processes in a fair lane: one user's many jobs do not stand before another's one."""

import pytest
from acceptance.workers import Workers

from bandmaster.scheduler.engine.journal import Verb
from stories.work import LANE, Work
from waiting import wait_until

pytestmark = pytest.mark.slow

PROCESSES, THREADS = 2, 2
FLOOD, ONES = 200, 10
AHEAD = 2
"""As many of the flood may start between one's acceptance and its start: a turn each, and the one whose turn it was."""


def test_one_at_a_time_goes_beside_a_flood(work: Work, workers: Workers) -> None:
    work.queue.controls.pause(f"lane:{LANE}")
    work.queue.shares.share(LANE, "tenant")
    work.send(*(f"flood-{number}" for number in range(FLOOD)), seconds=0.02, gates=["tenant:flood"])
    for _ in range(PROCESSES):
        workers.start(threads=THREADS)
    work.queue.controls.resume(f"lane:{LANE}")
    for number in range(ONES):
        name = f"one-{number}"
        # However slow this is, the flood goes on.
        more = range(max(0, FLOOD - work.left()))
        work.send(*(f"flood-{number}-{each}" for each in more), seconds=0.02, gates=["tenant:flood"])
        work.send(name, gates=["tenant:ones"])
        wait_until(lambda name=name: name in work.ended(), what=name)
    waiting: str | None = None
    ahead: dict[str, int] = {}
    for entry in work.queue.journal.entries():
        if entry.verb == Verb.PARK and entry.execution_id.startswith("one-"):
            waiting = entry.execution_id
            ahead[waiting] = 0
        elif entry.verb == Verb.ADMIT and entry.execution_id == waiting:
            waiting = None
        elif entry.verb == Verb.ADMIT and waiting is not None:
            ahead[waiting] += 1
    assert len(ahead) == ONES
    assert max(ahead.values()) <= AHEAD, ahead
    wait_until(lambda: work.left() == 0, timeout_seconds=120, what="the end of the flood")
    workers.probe(work.queue)
