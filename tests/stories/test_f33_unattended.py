"""F33: nobody runs for longer than any time to live. What waits, is due later, is paused or was being run waits on."""

import signal
from collections import Counter

import pytest
from acceptance.workers import Workers, signal_all
from defects.contrast import event
from ended_leases import end_leases

from bandmaster.scheduler.model.states import TERMINAL, State
from stories.work import CRITICAL, LANE, Work
from waiting import wait_until

pytestmark = pytest.mark.slow

TTL_SECONDS = 1
UNATTENDED_SECONDS = 3
WEEK_SECONDS = 604_800
PAUSED = "tenant:paused"
FULL = "tenant:full"


def shorten_every_ttl(work: Work) -> None:
    """Whatever there is; but waiting for a week is allowed."""
    for name in work.queue.views.status().settings:
        if name.endswith("_ttl_seconds"):
            work.queue.controls.change_setting(name, TTL_SECONDS)
    work.queue.controls.change_setting("stale_timeout_seconds", WEEK_SECONDS)


def test_whatever_waited_while_nobody_ran_still_waits_and_runs_afterwards(work: Work, workers: Workers) -> None:
    shorten_every_ttl(work)
    work.queue.controls.set_limit(FULL, 1)
    killed = workers.start()
    work.send("before", seconds=0.01)
    wait_until(lambda: work.ended() == ["before"], what="some work")
    work.send("running", band=CRITICAL, gates=[FULL], hangs_first=True)
    wait_until(lambda: work.began_after("running"), what="one that is being run")
    work.queue.controls.pause(PAUSED)
    work.send("paused", gates=[PAUSED])
    work.send("behind-a-gate", gates=[FULL])
    work.send("delayed", delay_ms=UNATTENDED_SECONDS * 500)
    work.send("delayed-for-long", delay_ms=UNATTENDED_SECONDS * 1_000 + 2_000)
    signal_all(killed, signal.SIGKILL)
    end_leases(work.queue, "running")
    work.send("waiting")
    work.queue.enqueue(event("of-a-lane-without-workers"))
    names = ["running", "paused", "behind-a-gate", "delayed", "delayed-for-long", "waiting"]

    work.said.set("unattended", "1", ex=UNATTENDED_SECONDS)
    wait_until(lambda: not work.said.exists("unattended"), what="the end of every time to live")
    assert work.queue.views.members(LANE) == {*names}
    assert [name for name in names if work.queue.views.message(name) is None] == [], "their messages are gone"
    assert work.queue.views.event("of-a-lane-without-workers")

    workers.start()
    ran = {*names} - {"paused"}
    wait_until(lambda: ran <= {*work.ended()}, timeout_seconds=60, what="the end of all that may run")
    work.queue.controls.resume(PAUSED)
    wait_until(lambda: "paused" in work.ended(), what="the end of what was paused")
    wait_until(lambda: work.left() == 0, what="the end of all")
    journal = work.queue.journal.entries()
    ends = Counter(
        (each.execution_id, each.fields["state"]) for each in journal if each.fields.get("state") in TERMINAL
    )
    assert ends == Counter((name, State.COMPLETED) for name in ["before", *names])
    assert work.queue.views.pending() == ["of-a-lane-without-workers"]
    assert work.queue.views.dead() == []
    workers.probe(work.queue)
