"""F1, F5, F6 of schedulers: one leads; killed, stopped, hung or ended, another soon leads under a higher epoch."""

import pytest
from proxy import Loss, Proxy

from bandmaster.scheduler.model.errors import NotLeader
from faults_process.installation import Installation
from faults_process.members import Member
from waiting import wait_until

pytestmark = pytest.mark.slow

CALM_MS = 6_000
CALM = {("scheduler", "leader_ttl_ms"): str(CALM_MS)}
"""Longer than a busy machine holds up a renewal."""


def leader(installation: Installation) -> tuple[int, str] | None:
    """Epoch and id of who leads."""
    value: bytes | None = installation.client.get(installation.queue.scripts.keys.named("leader"))  # type: ignore[assignment]
    if value is None:
        return None
    epoch, leader_id = value.decode().split()
    return int(epoch), leader_id


def leads(installation: Installation, member: Member) -> bool:
    """Whether it is this process that leads."""
    now = leader(installation)
    return now is not None and member.says(now[1])


def test_schedulers_take_over_from_one_that_sleeps_is_killed_or_ends(installation: Installation) -> None:
    first = installation.members.scheduler(settings=CALM)
    wait_until(lambda: leads(installation, first), what="a leader")
    second = installation.members.scheduler(settings=CALM)
    asleep = leader(installation)
    assert asleep is not None
    assert leads(installation, first), "the second one takes nothing over"

    # F5: it sleeps past its TTL, and what it would still do is refused.
    first.stop()
    wait_until(lambda: leads(installation, second), what="the second leader")
    first.go_on()
    stale = installation.queue.maintenance.under(asleep[1], asleep[0])
    for repair in (stale.reap, stale.promote, stale.sweep, stale.wake):
        with pytest.raises(NotLeader):
            repair()

    # F1: killed, it is missed for its TTL at most.
    second.kill()
    key = installation.queue.scripts.keys.named("leader")
    assert 0 < int(installation.client.pttl(key)) <= CALM_MS  # type: ignore[arg-type]
    wait_until(lambda: leads(installation, first), what="the first again")
    again = leader(installation)
    assert again is not None
    assert again[0] >= asleep[0] + 2

    # Ended in order, it resigns at once.
    installation.client.persist(key)  # no TTL ends it
    assert first.terminate() == 0, first.tail()
    assert leader(installation) is None
    # There was no worker all the time: of all these ticks, at most each process's last one waits.
    assert installation.queued("try_schedule") <= 2


def test_f6_a_scheduler_whose_tick_hangs_loses_the_lead_although_it_could_renew_it(
    installation: Installation, proxy: Proxy
) -> None:
    hung = installation.members.scheduler(url=installation.through(proxy))
    wait_until(lambda: leads(installation, hung), what="a leader")
    # Before the other one is there: it would take the lead from one that was late, whose ticks then hang no more.
    proxy.lose_reply(lambda command: command[0].upper() == b"TIME", Loss.SILENT)  # asked by ticks alone
    standby = installation.members.scheduler()
    wait_until(lambda: leads(installation, standby), what="the other leads")
    hung.wait_until_it_says("tick_hangs")
