"""A server that forgets the record of an execution that runs: its slot and its gates come back, and the next starts.

As a server does that is allowed to evict keys. Nothing in Redis says any more what the execution was.
"""

import pytest
from acceptance.workers import Workers

from stories.work import CRITICAL, Work
from waiting import wait_until

pytestmark = pytest.mark.slow

TENANT = "tenant:a"


def test_the_next_of_a_gate_starts_although_the_record_of_its_holder_is_gone(work: Work, workers: Workers) -> None:
    work.queue.controls.set_limit(TENANT, 1)
    workers.start()
    work.send("forgotten", seconds=6.0, band=CRITICAL, gates=[TENANT])
    wait_until(lambda: work.began_after("forgotten"), what="one that runs")
    work.send("next", gates=[TENANT])
    work.queue.scripts.client.delete(work.queue.scripts.keys.meta("forgotten"))
    wait_until(lambda: "next" in work.ended(), what="the end of the next")
    wait_until(lambda: work.left() == 0, what="the end of all")
    assert work.queue.views.active() == []
    assert work.queue.views.held([TENANT, "action:job"]) == [0, 0]
    wait_until(lambda: "forgotten" in work.ended(), what="the end of the body, which counts for nothing")
    workers.probe(work.queue)
