"""The watch: windows, several watchers, and many events."""

import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import cast

import pytest
from api_proxy import ApiProxy, Fault
from cluster_admin import Admin, Json
from making import Connect, MakeSpec
from watcher import Watcher

from bandmaster.k8s.pods import ChangeKind, PodChange, PodPhase, Pods, Reason
from waiting import GENEROUS_SECONDS, wait_until

STATUSES: list[Json] = [
    {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]},
    {"phase": "Running", "containerStatuses": [{"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]},
    {
        "phase": "Succeeded",
        "containerStatuses": [{"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}],
    },
]  # fmt: skip
OURS = {"app.kubernetes.io/managed-by": "bandmaster", "bandmaster.dev/installation": "bandmaster"}
LISTING = r"^GET .*/pods\?(?!.*watch=).*%21bandmaster"
WATCHING = r"^GET .*/pods\?.*watch="
NOTHING = {"name": "program", "image": "x", "imageID": "", "ready": False, "restartCount": 0}


def test_a_window_ends_on_time_whether_or_not_anything_happens(pods: Pods) -> None:
    lengths: list[float] = []
    for window_seconds in (0.3, 0.3, 0.3, 2.0):
        began = time.monotonic()
        assert list(pods.watch(window_seconds)) == []
        lengths.append(time.monotonic() - began)
        assert lengths[-1] >= window_seconds
    assert min(lengths) < 2.0, "a short window lasts as long as a long one"


def test_pods_are_seen_to_also_in_windows_that_are_shorter_than_a_look_around(
    connect_with: Connect, spec: MakeSpec
) -> None:
    hasty = connect_with(pending_deadline_seconds=1)
    created = hasty.create(spec("true", cpu_request="1000"))
    with Watcher(hasty, window_seconds=0.2) as watcher:
        assert watcher.end(created.name).reason is Reason.UNSCHEDULABLE
    pods = connect_with()  # a second is not always enough for a pod that does start
    discarded = pods.create(spec("trap 'exit 1' TERM; while :; do sleep 0.1; done"))
    with Watcher(pods, window_seconds=0.2) as watcher:
        watcher.wait_running(discarded.name)
        pods.delete(discarded.name, uid=discarded.uid)
        wait_until(lambda: pods.get(discarded.name) is None, timeout_seconds=150, what="the pod's departure")


@pytest.mark.parametrize("ahead_seconds", [600, -600])
def test_a_worker_whose_clock_is_wrong_gives_up_no_pod(
    ahead_seconds: int, pods: Pods, spec: MakeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = pods.create(spec("true", cpu_request="1000"))  # waits for a node that large
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + ahead_seconds)
    assert list(pods.watch(3.0))
    status = pods.get(created.name)
    assert status is not None
    assert not status.deleting


def test_a_window_is_not_over_before_all_pods_were_seen(proxy: ApiProxy, connect_with: Connect, spec: MakeSpec) -> None:
    through = connect_with(kubeconfig=str(proxy.kubeconfig))
    created = through.create(spec("sleep 100"))
    list_is_ready = threading.Event()
    proxy.fail(Fault(r"^GET .*/pods\?(?!.*watch=)", until=list_is_ready))
    with ThreadPoolExecutor(1) as watcher:
        window_seconds = 0.2
        began = time.monotonic()
        seen = watcher.submit(lambda: list(through.watch(window_seconds)))
        wait_until(lambda: time.monotonic() - began > 5 * window_seconds, what="the window's end")
        list_is_ready.set()
        assert [change.status.name for change in seen.result(timeout=30)] == [created.name]


def test_a_list_of_many_pages_may_take_longer_than_one_answer(proxy: ApiProxy, connect_with: Connect) -> None:
    an_answer_seconds, a_page_seconds = 8.0, 5.0
    through = connect_with(kubeconfig=str(proxy.kubeconfig), request_timeout_seconds=an_answer_seconds)
    ready = [threading.Event(), threading.Event()]
    pages = [b'{"metadata": {"continue": "more"}, "items": []}', b'{"metadata": {"resourceVersion": "0"}, "items": []}']
    lists = [
        proxy.fail(Fault(LISTING, until=until, status=200, body=page, times=1))
        for until, page in zip(ready, pages, strict=True)
    ]
    with ThreadPoolExecutor(1) as watcher:
        seen = watcher.submit(lambda: list(through.watch(0.2)))
        for page, until in zip(lists, ready, strict=True):
            wait_until(lambda page=page: page.hits, what="the request for a page")
            time.sleep(a_page_seconds)  # so long takes the page
            until.set()
        assert seen.result(timeout=30) == []


def test_where_a_list_takes_long_the_next_window_goes_on_from_what_is_known(
    proxy: ApiProxy,
    connect_with: Connect,
    spec: MakeSpec,
    admin: Admin,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What a window knew is left to the next one only if its thread has ended.
    monkeypatch.setattr("bandmaster.k8s.cluster.stream._CLOSED_WITHIN_SECONDS", GENEROUS_SECONDS)
    through = connect_with(kubeconfig=str(proxy.kubeconfig))
    ended, waits = (through.create(spec("true", cpu_request="1000")).name for _ in range(2))
    list_is_ready = threading.Event()
    lists = proxy.fail(Fault(LISTING, until=list_is_ready))
    with ThreadPoolExecutor(1) as watcher:
        first = watcher.submit(lambda: list(through.watch(0.2)))
        wait_until(lambda: lists.hits, what="the list")
        began = time.monotonic()
        wait_until(lambda: time.monotonic() - began > 1, what="a list that took long")
        list_is_ready.set()
        assert {change.status.name for change in first.result(timeout=30)} == {ended, waits}
    admin.patch_status(namespace, ended, STATUSES[-1])  # while nobody watches
    wanted = {(ended, True), (waits, False)}
    assert wanted <= set(_watched_until(through, wanted))
    assert lists.hits == 1
    # Nobody can tell any more what became of them since: it begins anew.
    proxy.fail(Fault(WATCHING, status=410, body=b"{}", times=1))
    third = _watched_until(through, wanted)
    assert lists.hits == 2
    assert sorted(third) == sorted(wanted)


def _watched_until(pods: Pods, wanted: set[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Watch until all that is wanted was told; return what was told: a pod's name, and whether it has ended."""
    told: list[tuple[str, bool]] = []
    with closing(cast("Generator[PodChange]", pods.watch(GENEROUS_SECONDS))) as changes:
        for change in changes:
            told.append((change.status.name, change.status.outcome is not None))
            if wanted <= set(told):
                break
    return told


def test_a_watch_that_is_given_up_leaves_no_thread_behind(
    pods: Pods, spec: MakeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server says something within a minute, and ends the watch later: neither is what ends the thread here.
    monkeypatch.setattr("bandmaster.k8s.cluster.stream._CLOSED_WITHIN_SECONDS", GENEROUS_SECONDS / 2)
    monkeypatch.setattr("bandmaster.k8s.cluster.stream._LONGEST_WATCH_SECONDS", 600)
    pods.create(spec("true", cpu_request="1000"))
    changes = pods.watch(600)
    next(changes)
    assert any(thread.name == "pod-stream" for thread in threading.enumerate())
    changes.close()  # type: ignore[attr-defined]
    assert not any(thread.name == "pod-stream" for thread in threading.enumerate())


def test_two_watchers_at_once_see_the_same_and_settle_once(pods: Pods, spec: MakeSpec) -> None:
    with Watcher(pods, settle=True) as first, Watcher(pods, settle=True) as second:
        names = [pods.create(spec(f"echo {number}")).name for number in range(4)]
        for name in names:
            wait_until(partial(_is_told, name, first, second), timeout_seconds=90, what=f"the end of {name}")
            first.wait_gone(name)
            second.wait_gone(name)
    for name in names:
        # Whoever came second saw a settled pod, never a deleted one.
        assert all(change.status.acknowledged for change in first.of(name) if change.kind is ChangeKind.DELETED)
        assert all(change.status.acknowledged for change in second.of(name) if change.kind is ChangeKind.DELETED)
        assert len({*first.ends(name), *second.ends(name)}) == 1


def _is_told(name: str, *watchers: Watcher) -> bool:
    return any(watcher.ends(name) for watcher in watchers)


def test_a_pod_that_somebody_rips_out_is_told_as_deleted(
    pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    created = pods.create(spec("true", cpu_request="1000"))
    with Watcher(pods, window_seconds=20) as watcher:  # all of it within one
        wait_until(lambda: watcher.of(created.name), what="the first sight")
        admin.strip(namespace, created.name)
        admin.delete(namespace, created.name, grace_period_seconds=0)
        assert watcher.end(created.name).reason is Reason.DELETED
        wait_until(lambda: watcher.of(created.name)[-1].kind is ChangeKind.DELETED, what="its departure")
    assert len(watcher.ends(created.name)) == 1


@pytest.mark.parametrize("moment", ["pending", "creating", "running"])
def test_a_pod_may_be_cancelled_at_any_moment(
    pods: Pods, spec: MakeSpec, admin: Admin, namespace: str, moment: str
) -> None:
    asked = spec(
        "trap 'exit 1' TERM; while :; do sleep 0.1; done", cpu_request="1000" if moment == "pending" else "10m"
    )
    created = pods.create(asked)
    with Watcher(pods, settle=True) as watcher:
        wait_until(lambda: watcher.of(created.name), what="the first sight")
        if moment == "creating":
            wait_until(lambda: (admin.pod(namespace, created.name) or {})["spec"].get("nodeName"), what="its node")
        if moment == "running":
            watcher.wait_running(created.name)
        assert pods.delete(created.name, uid=created.uid)
        watcher.wait_gone(created.name, timeout_seconds=150)
        wait_until(lambda: pods.get(created.name) is None, timeout_seconds=150, what="the pod's departure")
    assert {outcome.reason for outcome in watcher.ends(created.name)} <= {Reason.DELETED}


def test_one_watcher_keeps_up_with_as_many_events_as_the_api_server_takes(
    connect_with: Connect, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    # No scheduler takes these pods, so the test plays the kubelet, as fast as the API server lets it.
    pods = connect_with(pending_deadline_seconds=10_000)
    count = 200
    names = [f"exec-fast-{number}-1" for number in range(count)]
    for number, name in enumerate(names):
        admin.create(namespace, unscheduled(name, f"fast-{number}"))
    seen: set[str] = set()
    ended: set[str] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            for change in pods.watch(10):
                seen.add(change.status.name)
                if change.status.phase is PodPhase.SUCCEEDED:
                    ended.add(change.status.name)
                if over.is_set():
                    break

    def patch(job: tuple[str, Json]) -> None:
        name, status = job
        merged = status | {"containerStatuses": [NOTHING | status["containerStatuses"][0]]}
        admin.patch_status(namespace, name, merged)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        wait_until(lambda: len(seen) == count, what="the first sight of all")
        began = time.monotonic()
        with ThreadPoolExecutor(8) as kubelets:
            for status in STATUSES:
                list(kubelets.map(patch, [(name, status) for name in names]))
        all_patched = time.monotonic()
        wait_until(lambda: len(ended) == count, what="all ends")
        lag_seconds = time.monotonic() - all_patched
    finally:
        over.set()
        watcher.join(timeout=30)
    assert lag_seconds < max(10.0, all_patched - began), "the watcher falls behind"
    print(f"{3 * count / (all_patched - began):.0f} events/s, the last of them seen {lag_seconds * 1000:.0f} ms later")


def unscheduled(name: str, execution_id: str) -> Json:
    return {
        "metadata": {
            "name": name,
            "labels": OURS | {"bandmaster.dev/attempt": "1"},
            "annotations": {"bandmaster.dev/execution-id": execution_id},
            "finalizers": ["bandmaster.dev/result"],
        },
        "spec": {
            "schedulerName": "nobody",
            "automountServiceAccountToken": False,
            "containers": [{"name": "program", "image": "x"}],
        },
    }
