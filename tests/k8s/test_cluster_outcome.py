"""What a pod on a cluster is taken for, on recorded objects: when it has ended, why, and when it is given up."""

from datetime import UTC, datetime

import pytest
from recorded_pods import EXITED, KILLED, STOPPED, Json, later, recorded, recorded_json

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.cluster import labels
from bandmaster.k8s.cluster.objects import Pod
from bandmaster.k8s.cluster.outcome import Sight, look
from bandmaster.k8s.cluster.overdue import overdue
from bandmaster.k8s.cluster.reasons import HOPELESS_SECONDS
from bandmaster.k8s.pods import PodOutcome, PodPhase, Reason

SETTINGS = KubernetesSettings(pending_deadline_seconds=300, node_lost_seconds=60)
#: Than the disruption, by a second.
EARLIER = {"finishedAt": "2026-11-21T05:08:49Z"}
BEFORE_ITS_END, AFTER_ITS_END = "2026-11-21T05:08:50Z", "2026-11-21T05:10:00Z"


def seen(pod: Pod) -> Sight:
    sight = look(pod)
    assert sight is not None
    return sight


def outcome(pod: Pod) -> PodOutcome:
    found = seen(pod).status.outcome
    assert found is not None
    return found


OLD = (
    ("completed", Reason.COMPLETED, 0),
    ("failed", Reason.ERROR, 3),
    ("oom-killed", Reason.OOM_KILLED, 137),
    ("program-missing", Reason.START_ERROR, 127),
    ("program-not-executable", Reason.START_ERROR, 126),
    ("deadline-exceeded", Reason.DEADLINE_EXCEEDED, None),
    ("image-missing-past-deadline", Reason.IMAGE_PULL, None),
    ("deleted-by-hand", Reason.DELETED, 137),
    ("deleted-by-hand-unseen", Reason.DELETED, None),
    ("image-missing-deleted", Reason.DELETED, None),
    ("unschedulable-deleted", Reason.DELETED, None),
)


def test_an_end_on_an_old_cluster_has_its_reason_and_exit_code(subtests: pytest.Subtests) -> None:
    for name, reason, exit_code in OLD:
        with subtests.test(name=name, reason=reason, exit_code=exit_code):
            found = outcome(recorded(name))
            assert (found.reason, found.exit_code) == (reason, exit_code)


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (later(disruption="PreemptionByScheduler", terminated=STOPPED, deleted_at=BEFORE_ITS_END), Reason.PREEMPTED),
        (later(disruption="EvictionByEvictionAPI", terminated=KILLED, deleted_at=BEFORE_ITS_END), Reason.EVICTED),
        (later(disruption="DeletionByTaintManager", terminated=KILLED, deleted_at=BEFORE_ITS_END), Reason.NODE_LOST),
        (later(disruption="DeletionByPodGC"), Reason.NODE_LOST),
        (later(reason="Evicted", message="The node was low on resource: memory.", disruption="TerminationByKubelet",
               terminated=KILLED), Reason.EVICTED),
        (later(reason="Terminated", message="imminent node shutdown", terminated=STOPPED), Reason.EVICTED),
        (later(reason="Preempting", message="Preempted to admit a critical pod", terminated=KILLED), Reason.PREEMPTED),
        (later(reason="NodeLost", message="Node node-1 is unresponsive", terminated=KILLED), Reason.NODE_LOST),
        (later(reason="OutOfcpu", message="Node didn't have enough resource: cpu"), Reason.EVICTED),
        (later(reason="UnexpectedAdmissionError", message="no device"), Reason.EVICTED),
        (later(reason="AppArmor", message="cannot enforce it"), Reason.CREATE_CONTAINER_CONFIG_ERROR),
        (later(reason="DeadlineExceeded", terminated=KILLED), Reason.DEADLINE_EXCEEDED),
        (later(terminated={"exitCode": 137, "reason": "ContainerStatusUnknown"}), Reason.NODE_LOST),
        (later(terminated={"exitCode": 137, "reason": "OOMKilled"}), Reason.OOM_KILLED),
        (later(terminated=STOPPED, deleted_at=BEFORE_ITS_END), Reason.DELETED),
        (later(terminated=STOPPED, deleted_at=AFTER_ITS_END), Reason.ERROR),
        (later(phase="Succeeded", terminated=EXITED, deleted_at=AFTER_ITS_END), Reason.COMPLETED),
        (later(phase="Succeeded", terminated=EXITED, deleted_at=BEFORE_ITS_END), Reason.DELETED),
        (later(phase="Succeeded", terminated=EXITED, disruption="EvictionByEvictionAPI"), Reason.COMPLETED),
        (later(phase="Succeeded", terminated=EXITED, disruption="EvictionByEvictionAPI", deleted_at=BEFORE_ITS_END),
         Reason.EVICTED),
        (later(phase="Succeeded", terminated=EXITED, disruption="PreemptionByScheduler", deleted_at=BEFORE_ITS_END),
         Reason.PREEMPTED),
        (later(phase="Succeeded", terminated=EARLIER | EXITED, disruption="EvictionByEvictionAPI",
               deleted_at=AFTER_ITS_END), Reason.COMPLETED),
        (later(terminated=EARLIER | KILLED, disruption="EvictionByEvictionAPI", deleted_at=AFTER_ITS_END),
         Reason.ERROR),
        (later(reason="Evicted", terminated=EARLIER | EXITED, disruption="TerminationByKubelet"), Reason.COMPLETED),
        (later(), Reason.NODE_LOST),
    ],
)  # fmt: skip
def test_an_end_on_a_later_cluster_has_its_reason(pod: Pod, reason: Reason) -> None:
    assert outcome(pod).reason is reason


def test_an_eviction_that_the_program_caused_is_its_own_error_and_not_the_nodes() -> None:
    found = outcome(later(reason="Evicted", message='Usage of EmptyDir volume "output" exceeds the limit "256Mi".'))
    assert found.reason is Reason.ERROR
    assert "exceeds the limit" in found.output_tail


@pytest.mark.parametrize("reason", [Reason.EVICTED, Reason.PREEMPTED, Reason.NODE_LOST])
def test_what_the_cluster_did_does_not_use_up_the_users_tries(reason: Reason) -> None:
    assert reason.infrastructure


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("running", PodPhase.RUNNING),
        ("deleted-still-running", PodPhase.RUNNING),
        ("image-missing", PodPhase.PENDING),
        ("image-missing-deleted-unconfirmed", PodPhase.PENDING),
        ("unschedulable", PodPhase.PENDING),
    ],
)
def test_a_pod_has_not_ended_as_long_as_something_of_it_may_run(name: str, phase: PodPhase) -> None:
    status = seen(recorded(name)).status
    assert (status.phase, status.outcome) == (phase, None)


def test_an_end_that_the_kubelet_has_not_confirmed_is_uncertain() -> None:
    sight = seen(recorded("deadline-exceeded"))
    assert not sight.certain
    assert sight.running.outcome is None
    assert seen(recorded("completed")).certain
    assert seen(recorded("deleted-by-hand")).certain


def test_times_are_the_programs_own() -> None:
    found = outcome(later(terminated=EXITED, phase="Succeeded"))
    assert found.started_at is not None
    assert found.duration_seconds == found.ended_at - found.started_at == 12


def test_a_program_that_never_ran_has_no_start_and_no_duration() -> None:
    for name in ("program-missing", "unschedulable-deleted", "image-missing-past-deadline"):
        found = outcome(recorded(name))
        assert (found.started_at, found.duration_seconds) == (None, 0.0)


def test_what_kept_a_program_from_starting_is_told_in_place_of_its_output() -> None:
    assert "executable file not found" in outcome(recorded("program-missing")).output_tail
    assert "localhost/nope:test" in outcome(recorded("image-missing-past-deadline")).output_tail


def test_a_pod_that_was_given_up_ends_with_the_reason_that_was_written_on_it() -> None:
    said = {labels.ENDED_BECAUSE: "Unschedulable", labels.ENDED_MESSAGE: "not started within 5 s"}
    found = outcome(recorded("unschedulable-deleted", **said))
    assert found.reason is Reason.UNSCHEDULABLE
    assert found.output_tail == "[bandmaster: not started within 5 s]\n"


def test_a_forced_deletion_ends_nothing_that_was_last_seen_to_run() -> None:
    asked = recorded("deleted-still-running", **{labels.ENDED_BECAUSE: "NodeLost"})
    forced = asked.model_copy(
        update={"metadata": asked.metadata.model_copy(update={"deletion_grace_period_seconds": 0})}
    )
    for pod in (asked, forced):
        assert seen(pod).status.outcome is None
        assert overdue(pod, SETTINGS) is None, "nobody knows better than its node"


def test_a_forced_deletion_of_a_pod_that_starts_is_no_proof_that_it_does_not_run() -> None:
    sight = seen(recorded("image-missing-deleted"))
    assert sight.status.outcome is not None
    assert not sight.certain


def test_a_pod_that_the_collector_failed_has_ended_whatever_its_kubelet_said_last() -> None:
    assert seen(later(disruption="DeletionByPodGC")).certain
    assert not seen(later()).certain


def test_a_pod_that_runs_on_a_silent_node_is_overdue_and_so_is_one_that_is_deleted_there() -> None:
    def silent(name: str) -> Pod:
        found = recorded_json(name)
        for condition in found["status"]["conditions"]:
            if condition["type"] == "Ready":
                condition |= {"status": "False", "lastTransitionTime": "2026-11-21T05:20:00Z"}
        return Pod.model_validate(found)

    for name in ("running", "deleted-still-running"):
        due = overdue(silent(name), SETTINGS)
        assert due is not None
        assert due.reason is Reason.NODE_LOST
        assert due.at == datetime(2026, 11, 21, 5, 21, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("of", ["containerStatuses", "initContainerStatuses"])
@pytest.mark.parametrize("state", [{"running": {}}, {"waiting": {"reason": "ContainerCreating"}}])
def test_a_pod_has_not_ended_while_another_container_runs_on_or_will(of: str, state: Json) -> None:
    found = recorded_json("completed")
    found["status"]["phase"] = "Running"
    found["status"].setdefault(of, []).append({"name": "sidecar", "state": state})
    assert seen(Pod.model_validate(found)).status.outcome is None
    found["status"][of][-1]["state"] = {"terminated": {"exitCode": 137}}
    assert outcome(Pod.model_validate(found)).reason is Reason.COMPLETED


def test_a_program_whose_pod_outlived_it_has_ended_by_itself() -> None:
    pod = later(phase="Failed", terminated=KILLED | {"exitCode": 3}, deleted_at=BEFORE_ITS_END)
    assert outcome(pod).reason is Reason.DELETED
    outlived = pod.metadata.model_copy(update={"annotations": pod.metadata.annotations | {labels.OUTLIVED: "true"}})
    assert outcome(pod.model_copy(update={"metadata": outlived})).reason is Reason.ERROR


def test_a_reason_written_on_a_pod_counts_only_once_it_is_being_deleted() -> None:
    pod = recorded("failed", **{labels.ENDED_BECAUSE: "Unschedulable"})
    assert outcome(pod).reason is Reason.ERROR


OVERDUE = (
    ("unschedulable", Reason.UNSCHEDULABLE, 300),
    ("image-missing", Reason.IMAGE_PULL, 300),
    ("image-name-invalid", Reason.IMAGE_PULL, 0),
)


def test_a_pod_that_does_not_start_is_overdue_after_its_deadline(subtests: pytest.Subtests) -> None:
    for name, reason, after in OVERDUE:
        with subtests.test(name=name, reason=reason, after=after):
            pod = recorded(name)
            due = overdue(pod, SETTINGS)
            assert due is not None
            assert due.reason is reason
            assert due.at == pod.metadata.creation_timestamp.timestamp() + after


WAITING = (
    ("CreateContainerConfigError", Reason.CREATE_CONTAINER_CONFIG_ERROR),
    ("CreateContainerError", Reason.CREATE_CONTAINER_CONFIG_ERROR),
    ("ContainerCreating", Reason.CREATE_CONTAINER_CONFIG_ERROR),
    ("ErrImagePull", Reason.IMAGE_PULL),
    ("ImagePullBackOff", Reason.IMAGE_PULL),
)


def test_what_a_container_waits_for_becomes_the_reason(subtests: pytest.Subtests) -> None:
    for waiting, reason in WAITING:
        with subtests.test(waiting=waiting, reason=reason):
            due = overdue(later(phase="Pending", waiting={"reason": waiting, "message": "why"}), SETTINGS)
            assert due is not None
            assert due.reason is reason
            assert due.message == f"not started within 300 s: {waiting}: why"


WITHOUT_HOPE = (
    ("InvalidImageName", "couldn't parse it", 0),
    ("ErrImageNeverPull", "it is not present", HOPELESS_SECONDS),
    ("ErrImagePull", "rpc error: code = NotFound desc = no such tag", HOPELESS_SECONDS),
    ("ImagePullBackOff", "Back-off: ErrImagePull: manifest unknown", HOPELESS_SECONDS),
    ("CreateContainerConfigError", 'secret "token" not found', HOPELESS_SECONDS),
    ("ErrImagePull", "dial tcp: connection refused", SETTINGS.pending_deadline_seconds),
    ("ContainerCreating", "not found", SETTINGS.pending_deadline_seconds),
)


def test_what_no_waiting_mends_is_not_waited_for(subtests: pytest.Subtests) -> None:
    for reason, message, after in WITHOUT_HOPE:
        with subtests.test(reason=reason, message=message, after=after):
            pod = later(phase="Pending", waiting={"reason": reason, "message": message})
            due = overdue(pod, SETTINGS)
            assert due is not None
            assert due.at == pod.metadata.creation_timestamp.timestamp() + after


def test_a_programs_time_runs_from_its_own_start_by_its_kubelets_clock() -> None:
    found = recorded_json("running")
    found["metadata"]["annotations"][labels.TIMEOUT_SECONDS] = "60"
    found["spec"]["activeDeadlineSeconds"] = 400
    pod = Pod.model_validate(found)
    due = overdue(pod, SETTINGS)
    assert due is not None
    # It began two seconds after its kubelet had seen it; a second is for what whole seconds hide.
    assert (due.reason, due.deadline_seconds) == (Reason.DEADLINE_EXCEEDED, 2 + 60 + 1)
    assert due.at == pod.metadata.creation_timestamp.timestamp() + 60
    shortened = pod.model_copy(update={"spec": pod.spec.model_copy(update={"active_deadline_seconds": 63})})
    assert overdue(shortened, SETTINGS) is None


@pytest.mark.parametrize("waiting", ["ContainerCreating", "ErrImagePull", ""])
def test_time_that_went_by_before_the_program_began_is_no_timeout(waiting: str) -> None:
    pod = later(reason="DeadlineExceeded", waiting={"reason": waiting})
    assert outcome(pod).reason in (Reason.IMAGE_PULL, Reason.CREATE_CONTAINER_CONFIG_ERROR)


def test_a_pod_that_its_kubelet_never_mentions_is_the_nodes_loss() -> None:
    due = overdue(later(phase="Pending"), SETTINGS)
    assert due is not None
    assert due.reason is Reason.NODE_LOST


@pytest.mark.parametrize("name", ["running", "completed", "deadline-exceeded", "deleted-by-hand-unseen"])
def test_a_pod_that_runs_or_has_ended_is_never_overdue(name: str) -> None:
    assert overdue(recorded(name), SETTINGS) is None


def test_a_pod_without_bandmasters_marks_is_none_of_its_own() -> None:
    pod = recorded("running")
    stripped = pod.model_copy(update={"metadata": pod.metadata.model_copy(update={"annotations": {}})})
    assert look(stripped) is None
