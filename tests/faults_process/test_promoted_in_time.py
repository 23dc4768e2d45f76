"""What is scheduled is promoted when it is due, not at the next tick, by the leader alone.

How late it is depends on the machine, and is measured by `python -m benchmarks --only promotion`. Here intervals are so
long that only whoever was woken can have been in time.
"""

from datetime import UTC, datetime, timedelta

import pytest

from bandmaster.scheduler.engine.journal import Verb
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from faults_process.installation import Installation
from faults_process.test_scheduler_failover import leads
from waiting import wait_until

pytestmark = pytest.mark.slow

FAR_SECONDS = 3_600
SOON_SECONDS = 2.0
"""Not yet over when the event has been parked, on a busy machine, too."""
RARELY = {("scheduler", "interval_seconds"): "600", ("scheduler", "leader_ttl_ms"): "600000"}
"""Ticks and renewals that no test lives to see."""


def schedule(queue: ExecutionQueueService, name: str, *, in_seconds: float) -> None:
    now = datetime.fromtimestamp(queue.views.server_time_ms() / 1000, UTC)
    due = now + timedelta(seconds=in_seconds)
    queue.enqueue(ExecutionRequestedEvent(execution_id=name, command=("true",), scheduled_at=due))


def wait_until_promoted(queue: ExecutionQueueService, *names: str) -> None:
    for name in names:
        wait_until(lambda name=name: queue.views.meta(name)["state"] != State.SCHEDULED, what=f"{name} is promoted")


def test_a_leader_without_workers_promotes_what_is_due_before_all_that_it_knew(installation: Installation) -> None:
    queue = installation.queue
    schedule(queue, "far", in_seconds=FAR_SECONDS)
    scheduler = installation.members.scheduler(settings=RARELY)
    wait_until(lambda: leads(installation, scheduler), what="a leader")
    schedule(queue, "later", in_seconds=2 * SOON_SECONDS)
    schedule(queue, "soon", in_seconds=SOON_SECONDS)
    wait_until_promoted(queue, "soon", "later")
    assert queue.views.meta("far")["state"] == State.SCHEDULED
    promoted = [each for each in queue.journal.entries() if each.verb == Verb.PROMOTE]
    assert [each.execution_id for each in promoted] == ["soon", "later"]
    assert all(each.at_ms >= int(each.fields["due"]) for each in promoted), "none of them early"


def test_a_scheduler_that_does_not_lead_promotes_nothing_until_it_does(installation: Installation) -> None:
    queue = installation.queue
    first = installation.members.scheduler(settings=RARELY)
    wait_until(lambda: leads(installation, first), what="a leader")
    second = installation.members.scheduler(settings=RARELY | {("scheduler", "leader_ttl_ms"): "1500"})
    first.stop()
    schedule(queue, "due", in_seconds=SOON_SECONDS)
    wait_until(lambda: queue.views.server_time_ms() > int(queue.views.meta("due")["due"]) + 500, what="its due time")
    assert queue.views.meta("due")["state"] == State.SCHEDULED, "who sleeps leads, and its lead lasts"
    first.kill()
    installation.client.delete(queue.scripts.keys.named("leader"))  # as when its TTL is over
    wait_until(lambda: leads(installation, second), what="the second one leads")
    wait_until_promoted(queue, "due")
