"""Two scheduler processes take over from one another in the middle of planning: each occurrence is parked once."""

import pytest

from bandmaster.scheduler.events.schedule import Schedule
from faults_process.installation import Installation
from waiting import wait_until

pytestmark = pytest.mark.slow

MANY = 100


def parked(installation: Installation) -> list[str]:
    """The occurrences that were ever accepted, as the journal has them."""
    entries = installation.queue.journal.entries()
    return [each.execution_id for each in entries if each.verb == "park" and each.execution_id.startswith("schedule:")]


def put_all(installation: Installation, minute: int) -> None:
    for number in range(MANY):
        fields = {"name": f"s{number}", "cron": f"{minute} 0 1 1 *", "command": ["true"]}
        installation.queue.schedules.put(Schedule.of(fields))


def test_each_occurrence_is_parked_once_whoever_is_stopped_or_killed(installation: Installation) -> None:
    schedules = installation.queue.schedules
    first = installation.members.scheduler()
    wait_until(lambda: installation.queue.views.leader() is not None, what="a leader")
    second = installation.members.scheduler()
    put_all(installation, 1)
    wait_until(lambda: len(parked(installation)) > 5, what="some are planned")
    first.stop()  # wherever it is
    wait_until(lambda: len(parked(installation)) >= MANY, what="all are planned")
    first.go_on()
    second.kill()
    wait_until(lambda: installation.queue.views.leader() is not None, what="a leader again")
    put_all(installation, 2)  # what was parked is taken back
    wait_until(lambda: len(parked(installation)) >= 2 * MANY, what="the changed ones are planned")
    found = parked(installation)
    assert len(found) == len(set(found)) == 2 * MANY
    assert sorted(installation.queue.ids.scheduled()) == sorted(each for each in found if each.endswith("T000200Z"))
    assert len(schedules.names(most=MANY + 1)) == MANY
