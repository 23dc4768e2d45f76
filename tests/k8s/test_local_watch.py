"""Watching local pods and following their logs."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from living_pods import ended, running, spec, supervisor_of

from bandmaster.k8s.local import watching
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import ChangeKind, PodChange, PodPhase, PodStatus, Reason
from waiting import GENEROUS_SECONDS

NEVER_SECONDS = 600.0
"""Longer than any test waits."""


def until(changes: Iterator[PodChange], kind: ChangeKind, uid: str, phase: PodPhase | None = None) -> PodStatus:
    """The status of the first change of this kind."""
    for change in changes:
        if change.kind is kind and change.status.uid == uid and phase in (None, change.status.phase):
            return change.status
    raise AssertionError(f"the watch ended without {kind}")


def test_a_watch_begins_with_all_pods_and_then_sees_each_change(pods: LocalPods) -> None:
    over = pods.create(spec("true"))
    ended(pods, over.name)
    lasting = pods.create(spec("sleep 600"))
    running(pods, lasting.name)
    watch = pods.watch(NEVER_SECONDS)
    first = [next(watch), next(watch)]
    assert {change.kind for change in first} == {ChangeKind.SEEN}
    assert {change.status.uid for change in first} == {over.uid, lasting.uid}

    created = pods.create(spec("sleep 600"))
    assert until(watch, ChangeKind.SEEN, created.uid, PodPhase.RUNNING).outcome is None
    pods.delete(lasting.name)
    assert until(watch, ChangeKind.DELETED, lasting.uid).name == lasting.name
    pods.acknowledge(over.name, over.uid)
    assert until(watch, ChangeKind.SEEN, over.uid).acknowledged
    pods.delete(over.name)
    assert until(watch, ChangeKind.DELETED, over.uid).phase is PodPhase.SUCCEEDED


def test_a_completion_is_seen_at_the_next_tick_which_is_within_a_tenth_of_a_second(
    pods: LocalPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_FULL_LOOK_SECONDS", NEVER_SECONDS)
    watch = pods.watch(NEVER_SECONDS)
    for _ in range(5):
        created = pods.create(spec("sleep 0.1"))
        assert until(watch, ChangeKind.SEEN, created.uid, PodPhase.SUCCEEDED).outcome is not None
    assert watching._TICK_SECONDS <= 0.1  # pyright: ignore[reportPrivateUsage]


def test_a_pod_that_was_replaced_between_two_looks_is_seen_to_go_and_come(pods: LocalPods) -> None:
    wanted = spec("true")
    first = pods.create(wanted)
    ended(pods, first.name)
    watch = pods.watch(NEVER_SECONDS)
    assert next(watch).status.uid == first.uid
    pods.delete(first.name)
    second = pods.create(wanted)
    changes = [next(watch), next(watch)]
    assert [(change.kind, change.status.uid) for change in changes] == [
        (ChangeKind.DELETED, first.uid),
        (ChangeKind.SEEN, second.uid),
    ]


def test_a_lost_pod_is_seen_by_a_watch(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("sleep 600"))
    status = running(pods, created.name)
    watch = pods.watch(NEVER_SECONDS)
    assert next(watch).status == status
    supervisor_of(root, status).kill()
    outcome = until(watch, ChangeKind.SEEN, created.uid, PodPhase.FAILED).outcome
    assert outcome is not None
    assert outcome.reason is Reason.NODE_LOST


def test_a_watch_ends_with_its_window(pods: LocalPods) -> None:
    began = time.monotonic()
    assert list(pods.watch(0.2)) == []
    assert 0.2 <= time.monotonic() - began < GENEROUS_SECONDS


def test_a_watch_of_many_pods_costs_little(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("true"))
    ended(pods, created.name)
    folder = root / "pods" / created.name
    for number in range(300):
        copy = folder.with_name(f"{created.name}{number:04}")
        copy.mkdir()
        for name in ("spec.json", "status.json", "lock"):
            (copy / name).write_text((folder / name).read_text().replace(created.uid, f"uid-{number}"))
    watch = pods.watch(1.5)
    for _ in range(301):
        next(watch)
    began = time.thread_time()
    assert list(watch) == []
    assert time.thread_time() - began < 0.5


def test_a_followed_log_ends_with_the_pod(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("echo one; until [ -e go ]; do sleep 0.01; done; echo two"))
    log = pods.logs(created.name, follow=True)
    assert next(log) == b"one\n"
    (root / "pods" / created.name / "work" / "go").touch()
    assert b"".join(log) == b"two\n"
    assert b"".join(pods.logs(created.name, follow=True, tail_bytes=4)) == b"two\n"


def test_a_followed_log_ends_when_the_pod_is_deleted(pods: LocalPods) -> None:
    created = pods.create(spec("echo one; sleep 600"))
    log = pods.logs(created.name, follow=True)
    assert next(log) == b"one\n"
    threading.Timer(0.1, pods.delete, [created.name]).start()
    assert list(log) == []


@pytest.mark.parametrize("size", [0, 1, 5, 100])
def test_a_logs_tail_has_the_bytes_asked_for(pods: LocalPods, size: int) -> None:
    created = pods.create(spec("printf 0123456789"))
    ended(pods, created.name)
    assert b"".join(pods.logs(created.name, tail_bytes=size)) == b"0123456789"[max(0, 10 - size) :]
