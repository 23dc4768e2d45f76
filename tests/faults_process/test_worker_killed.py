"""F1, F2, F3: SIGKILL of the worker at each step between admission and acknowledgement; another takes over.

Whatever the step, the slot comes back, the execution ends once, and no attempt has two pods.
"""

import pytest
from ended_leases import end_leases
from proxy import Proxy

from bandmaster.scheduler.model.states import State
from faults_process.installation import Installation
from faults_process.moments import Moment, reads_meta, script
from waiting import wait_until

pytestmark = pytest.mark.slow

EXECUTION = "the-one"
ENDED = b'"exit_code"'
"""Only the report of a pod's end has a result."""


def killed(
    installation: Installation,
    proxy: Proxy,
    moment: Moment,
    line: str = "sleep 0.2; echo done",
) -> None:
    """A worker that ran the execution up to a moment, and was killed there."""
    worker = installation.members.worker(url=installation.through(proxy))
    moment.arm()
    installation.submit(line, execution_id=EXECUTION)
    moment.kill(worker)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_f1_a_worker_killed_at_its_admission_leaves_no_slot_taken(
    after: bool, installation: Installation, proxy: Proxy
) -> None:
    admit = script("exchange")
    moment = Moment(proxy, lambda command: admit(command) and installation.waiting() > 0, after)
    killed(installation, proxy, moment)
    end_leases(installation.queue)
    installation.members.worker()
    installation.wait_until_settled([EXECUTION])
    assert installation.state(EXECUTION) is State.COMPLETED
    assert len(installation.runs(EXECUTION)) == 1
    installation.probe()


def test_f2_a_worker_killed_before_the_creation_leaves_no_pod(installation: Installation, proxy: Proxy) -> None:
    killed(installation, proxy, Moment(proxy, reads_meta(EXECUTION), after=True))
    assert installation.pods.list() == []
    end_leases(installation.queue)
    installation.members.worker()
    installation.wait_until_settled([EXECUTION])
    assert installation.state(EXECUTION) is State.COMPLETED
    assert installation.runs(EXECUTION) == [2]
    installation.probe()


def test_f2_a_pod_whose_creator_was_killed_is_found_and_runs_on(installation: Installation, proxy: Proxy) -> None:
    # As it is with the default settings: who watches is back before a lease is over.
    watcher = installation.members.worker()
    watcher.stop()
    killed(installation, proxy, Moment(proxy, script("hand_over"), after=False), installation.until_told)
    assert installation.state(EXECUTION) is State.RUNNING
    watcher.go_on()
    installation.wait_for(EXECUTION, State.POD)
    installation.tell()
    installation.wait_until_settled([EXECUTION])
    assert installation.state(EXECUTION) is State.COMPLETED
    assert installation.runs(EXECUTION) == [1]
    installation.probe()


def test_f2_a_pod_whose_attempt_is_over_does_not_run_beside_the_next(installation: Installation, proxy: Proxy) -> None:
    killed(installation, proxy, Moment(proxy, script("hand_over"), after=False), "sleep 600")
    # Nobody watches until its lease is over.
    end_leases(installation.queue)
    assert installation.queue.maintenance.reap()
    assert installation.state(EXECUTION) is State.PENDING
    assert len(installation.alive()) == 1
    installation.members.worker()
    installation.wait_for(EXECUTION, State.POD)
    wait_until(lambda: [name[-1] for name in installation.alive()] == ["2"], what="one pod, of the second attempt")
    installation.queue.cancel(EXECUTION)
    installation.wait_until_settled([EXECUTION])
    assert installation.runs(EXECUTION) == [1, 2]
    assert installation.state(EXECUTION) is State.CANCELLED
    installation.probe()


def test_f1_a_worker_killed_after_the_hand_over_is_not_needed_any_more(
    installation: Installation, proxy: Proxy
) -> None:
    killed(installation, proxy, Moment(proxy, script("hand_over"), after=True))
    assert installation.state(EXECUTION) is State.POD
    installation.members.worker()
    installation.wait_until_settled([EXECUTION])
    assert installation.state(EXECUTION) is State.COMPLETED
    assert installation.runs(EXECUTION) == [1]
    installation.probe()


def test_f1_a_report_that_was_lost_with_its_worker_is_made_again(installation: Installation, proxy: Proxy) -> None:
    killed(installation, proxy, Moment(proxy, script("exchange", ENDED), after=False))
    assert installation.state(EXECUTION) is State.POD
    installation.members.worker()
    installation.wait_until_settled([EXECUTION])
    assert installation.state(EXECUTION) is State.COMPLETED
    assert installation.runs(EXECUTION) == [1]
    installation.probe()


def test_f3_a_worker_killed_between_result_and_acknowledgement_changes_nothing(
    installation: Installation, proxy: Proxy
) -> None:
    killed(installation, proxy, Moment(proxy, script("exchange", ENDED), after=True))
    assert installation.state(EXECUTION) is State.COMPLETED
    result, meta = installation.queue.views.result(EXECUTION), installation.meta(EXECUTION)
    (pod,) = installation.pods.list()
    assert not pod.acknowledged
    installation.members.worker()
    installation.wait_until_settled([EXECUTION])
    assert installation.queue.views.result(EXECUTION) == result
    assert installation.meta(EXECUTION) == meta
    assert installation.runs(EXECUTION) == [1]
    installation.probe()


def test_f20_a_cancellation_between_creation_and_hand_over_ends_the_pod(
    installation: Installation, proxy: Proxy
) -> None:
    installation.members.worker(url=installation.through(proxy))
    moment = Moment(proxy, script("hand_over"), after=False)
    moment.arm()
    installation.submit("sleep 600", execution_id=EXECUTION)
    moment.reached()
    installation.send("execution_cancelled", {"execution_id": EXECUTION})
    wait_until(lambda: "cancel" in installation.meta(EXECUTION), what="the wish")
    moment.pass_on()
    installation.wait_until_settled([EXECUTION])
    assert installation.state(EXECUTION) is State.CANCELLED
    installation.probe()


def test_f20_a_cancellation_whose_worker_was_killed_is_finished_by_another(
    installation: Installation, proxy: Proxy
) -> None:
    moment = Moment(proxy, script("cancel"), after=True)
    worker = installation.members.worker(url=installation.through(proxy))
    installation.submit("sleep 600", execution_id=EXECUTION)
    installation.wait_for(EXECUTION, State.POD)
    moment.arm()
    installation.send("execution_cancelled", {"execution_id": EXECUTION})
    moment.kill(worker)
    assert installation.state(EXECUTION) is State.CANCELLING
    assert len(installation.alive()) == 1
    installation.members.worker()
    installation.wait_until_settled([EXECUTION])
    assert installation.state(EXECUTION) is State.CANCELLED
    installation.probe()
