"""F4: a worker that sleeps past its lease wakes up with a grant that is no longer its own, and changes nothing."""

import pytest
from ended_leases import end_leases
from proxy import Proxy

from bandmaster.scheduler.model.states import State
from faults_process.installation import Installation
from faults_process.moments import Moment, reads_meta
from waiting import wait_until

pytestmark = pytest.mark.slow

EXECUTION = "the-one"


def test_f4_a_worker_that_slept_past_its_lease_leaves_no_pod_of_its_stale_attempt(
    installation: Installation, proxy: Proxy
) -> None:
    sleeper = installation.members.worker(url=installation.through(proxy))
    # It has read that the grant is its own, and is about to create the pod.
    moment = Moment(proxy, reads_meta(EXECUTION), after=False)
    moment.arm()
    installation.submit("sleep 1", execution_id=EXECUTION)
    moment.stop(sleeper)
    end_leases(installation.queue)
    installation.members.worker()
    installation.wait_for(EXECUTION, State.COMPLETED)
    before = installation.meta(EXECUTION), installation.queue.views.result(EXECUTION)
    assert before[0]["attempt"] == "2"
    sleeper.go_on()
    sleeper.wait_until_it_says("pod_not_handed_over")
    installation.wait_until_settled([EXECUTION])
    assert (installation.meta(EXECUTION), installation.queue.views.result(EXECUTION)) == before
    installation.probe()


def test_a_watcher_that_slept_past_its_lock_stops_and_one_watch_remains(installation: Installation) -> None:
    sleeper = installation.members.worker()
    execution_id = installation.submit(installation.until_told)
    installation.wait_for(execution_id, State.POD)
    lock = installation.queue.scripts.keys.lock("watch_completions")

    def asleep_with_its_lock() -> bool:
        token = wait_until(lambda: installation.client.get(lock), what="a watch")
        sleeper.stop()
        if installation.client.get(lock) == token:
            return True
        sleeper.go_on()
        return False

    wait_until(asleep_with_its_lock, what="a watcher that sleeps in its window")
    token = installation.client.get(lock)
    installation.members.worker()
    wait_until(lambda: installation.client.get(lock) not in (None, token), what="another watch")
    sleeper.go_on()
    installation.tell()
    installation.wait_until_settled([execution_id])
    assert installation.state(execution_id) is State.COMPLETED
    wait_until(lambda: installation.queued("watch_completions") == 1, what="a single watch")
    installation.probe()
