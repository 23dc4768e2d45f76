"""F31: one lane, two threads that are never free, no scheduler process. Repairs do not wait for the backlog's end.

A saturated worker only settles, and each settlement brings its next execution. What falls due or is left by a killed
worker meanwhile must not wait for the first idle moment.
"""

import signal

import pytest
from acceptance.workers import Workers, signal_all
from ended_leases import end_leases

from stories.work import CRITICAL, Work
from waiting import wait_until

pytestmark = pytest.mark.slow

JOBS = 300
SECONDS = 0.1
THREADS = 2
"""So the backlog is 15 s long."""
SOON = JOBS // 2
"""Far from the backlog's end, and many leases, however slow the machine is."""
TENANT = "tenant:a"


def saturate(work: Work) -> None:
    """More than enough for every thread, and some of it done."""
    work.send(*(f"job-{number}" for number in range(JOBS)), seconds=SECONDS)
    wait_until(lambda: len(work.ended()) >= 10, what="some work")


def test_what_falls_due_starts_while_the_backlog_is_long_still(work: Work, workers: Workers) -> None:
    workers.start(threads=THREADS)
    saturate(work)
    work.send("urgent", band=CRITICAL, delay_ms=500)
    sent_after = len(work.ended())
    wait_until(lambda: "urgent" in work.ended(), timeout_seconds=60, what="the delayed one's end")
    (began_after,) = work.began_after("urgent")
    assert began_after - sent_after < SOON, f"it began after {began_after} of {JOBS}"
    workers.probe(work.queue)


def test_a_killed_workers_execution_and_its_gate_come_back_while_the_backlog_is_long_still(
    work: Work, workers: Workers
) -> None:
    work.queue.controls.set_limit(TENANT, 1)
    killed = workers.start(threads=THREADS)
    work.send("held", band=CRITICAL, gates=[TENANT], hangs_first=True)
    wait_until(lambda: work.began_after("held"), what="the first attempt")
    work.send("behind", band=CRITICAL, gates=[TENANT])
    workers.start(threads=THREADS)
    saturate(work)
    wait_until(lambda: len(work.ended()) >= 60, what="more than one worker's work")
    assert work.began_after("behind") == []
    signal_all(killed, signal.SIGKILL)
    end_leases(work.queue, "held")
    killed_after = len(work.ended())
    wait_until(lambda: {"held", "behind"} <= {*work.ended()}, timeout_seconds=60, what="the end of both")
    assert work.queue.views.meta("held")["attempt"] == "2"
    for name in ("held", "behind"):
        began_after = work.began_after(name)[-1]
        assert began_after - killed_after < SOON, f"{name} began after {began_after} of {JOBS}"
    workers.probe(work.queue)


def test_nobody_is_told_that_no_worker_asks_while_all_of_them_are_busy(work: Work, workers: Workers) -> None:
    workers.start(threads=THREADS)
    saturate(work)
    last = f"job-{JOBS - 1}"

    def nearly_done() -> bool:
        reasons = work.queue.explain(last).reasons
        assert not [each for each in reasons if "no worker" in each], f"after {len(work.ended())} of {JOBS}: {reasons}"
        return work.left() < JOBS // 4

    wait_until(nearly_done, timeout_seconds=60, what="most of the backlog's end")
