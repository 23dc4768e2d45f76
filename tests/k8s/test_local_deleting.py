"""How a local pod goes: deleted with TERM first, and what stays of it until its end is acknowledged."""

from pathlib import Path

import pytest
from living_pods import ended, gone, processes_under, running, spec

from bandmaster.k8s.errors import PodConflict
from bandmaster.k8s.local.limits import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import Reason


def test_a_running_pod_is_deleted_with_term_first(pods: LocalPods, tmp_path: Path) -> None:
    line = f"trap 'echo bye > {tmp_path}/bye; exit 0' TERM; echo up; while :; do sleep 0.01; done"
    created = pods.create(spec(line))
    running(pods, created.name, printed=b"up")
    assert pods.delete(created.name, uid=created.uid)
    gone(pods, created.name)
    assert (tmp_path / "bye").read_text() == "bye\n"
    assert not pods.delete(created.name)


def test_a_pod_that_ignores_term_is_there_until_it_is_killed(pods: LocalPods, root: Path) -> None:
    wanted = spec("trap '' TERM; echo up; while :; do sleep 0.01; done")
    created = pods.create(wanted)
    running(pods, created.name, printed=b"up")
    assert pods.delete(created.name)
    status = pods.get(created.name)
    assert status is not None
    assert status.deleting
    with pytest.raises(PodConflict, match="being deleted"):
        pods.create(wanted)
    gone(pods, created.name)
    assert not [process for process in processes_under(root) if "sh" in process.name()]
    assert pods.create(wanted).uid != created.uid


def test_a_deletion_for_another_uid_deletes_nothing(pods: LocalPods) -> None:
    created = pods.create(spec("sleep 600"))
    assert not pods.delete(created.name, uid="another")
    status = pods.get(created.name)
    assert status is not None
    assert not status.deleting


def test_an_ended_pod_is_gone_as_soon_as_it_is_deleted(pods: LocalPods) -> None:
    created = pods.create(spec("true"))
    ended(pods, created.name)
    assert pods.delete(created.name, uid=created.uid)
    assert pods.get(created.name) is None


def test_a_folder_that_a_program_locked_up_is_removed(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("mkdir -p a/b; touch a/b/c; ln -s / a/root; chmod 0 a/b a"))
    ended(pods, created.name)
    pods.delete(created.name)
    swept = LocalPods(root, LocalLimits(keep_seconds=0.0))
    assert swept.list() == []
    assert list((root / "pods").iterdir()) == []


def test_only_the_last_words_of_a_deleted_pod_are_kept(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("echo data > big; trap 'echo bye; exit 4' TERM; echo up; while :; do :; done"))
    running(pods, created.name, printed=b"up")
    assert pods.last_words(created.name, created.uid) is None, "it is there"
    pods.delete(created.name)
    gone(pods, created.name)
    LocalPods(root).list()
    last = pods.last_words(created.name, created.uid)
    assert last is not None
    assert last.outcome is not None
    assert (last.outcome.output_tail, last.outcome.exit_code, last.outcome.reason) == ("up\nbye\n", 4, Reason.DELETED)
    assert pods.last_words(created.name, "another") is None
    assert pods.last_words(created.name, "../" + created.name) is None
    assert not list(root.rglob("big"))
    assert LocalPods(root, LocalLimits(keep_seconds=0.0)).list() == []
    assert pods.last_words(created.name, created.uid) is None
    assert list((root / "pods").iterdir()) == []


def test_what_was_acknowledged_leaves_nothing_when_it_is_deleted(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("echo kept"))
    ended(pods, created.name)
    pods.acknowledge(created.name, created.uid)
    pods.delete(created.name)
    LocalPods(root).list()
    assert list((root / "pods").iterdir()) == []


def test_an_outcome_stays_until_it_is_acknowledged(pods: LocalPods, root: Path) -> None:
    forgetful = LocalLimits(keep_seconds=0.0)
    created = pods.create(spec("echo kept"))
    assert not pods.acknowledge(created.name, "another")
    outcome = ended(pods, created.name)
    (listed,) = LocalPods(root, forgetful).list()
    assert (listed.outcome, listed.acknowledged) == (outcome, False)
    assert pods.acknowledge(created.name, created.uid)
    assert pods.acknowledge(created.name, created.uid)
    (listed,) = pods.list()
    assert listed.acknowledged
    assert b"".join(pods.logs(created.name)) == b"kept\n"
    assert LocalPods(root, forgetful).list() == []


def test_a_running_pod_cannot_be_acknowledged(pods: LocalPods) -> None:
    created = pods.create(spec("sleep 600"))
    assert not pods.acknowledge(created.name, created.uid)
