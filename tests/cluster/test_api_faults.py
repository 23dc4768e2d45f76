"""An API server that is busy, broken, silent, forgetful or away: a proxy before the real one plays it (F22, F25)."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from api_proxy import ApiProxy, Fault
from cluster_admin import Admin
from making import HELD, Connect, MakeSpec
from watcher import Watcher

from bandmaster.k8s.errors import PodsUnavailable
from bandmaster.k8s.pods import Pods
from waiting import GENEROUS_SECONDS, wait_until

CREATING = r"^POST .*/pods"
LOOKING = r"^GET .*/pods/[^/?]+$"
CREATING_SCRIPT = r"^POST .*/configmaps"
LISTING = r"^GET .*/pods\?(?!.*watch=)"
WATCHING = r"^GET .*/pods\?.*watch="
LOG = r"^GET .*/log"
PATCHING = r"^PATCH "
DELETING = r"^DELETE "
HASTY_SECONDS = 4.0
BUSY = {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "slow down"}
BROKEN = {"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcdserver: request timed out"}
NOT_FOUND = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
EXPIRED = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}


@pytest.fixture
def through(proxy: ApiProxy, connect_with: Connect, monkeypatch: pytest.MonkeyPatch) -> Pods:
    """Pods that are reached through the proxy, by somebody who waits as long as it takes on a busy machine."""
    monkeypatch.setattr("bandmaster.k8s.cluster.create.CREATE_WITHIN_SECONDS", GENEROUS_SECONDS)
    return connect_with(kubeconfig=str(proxy.kubeconfig), request_timeout_seconds=GENEROUS_SECONDS)


@pytest.fixture
def hasty(proxy: ApiProxy, connect_with: Connect) -> Pods:
    """The same by somebody who soon gives up what gets no answer, and is in doubt no longer."""
    return connect_with(kubeconfig=str(proxy.kubeconfig), request_timeout_seconds=HASTY_SECONDS)


def broken(pattern: str, times: int = 1_000_000) -> Fault:
    return Fault(pattern, status=500, body=json.dumps(BROKEN).encode(), times=times)


def busy(pattern: str, *, retry_after: str = "1", times: int = 1_000_000) -> Fault:
    return Fault(pattern, status=429, headers={"Retry-After": retry_after}, body=json.dumps(BUSY).encode(), times=times)


def creations(proxy: ApiProxy) -> int:
    return sum(1 for line in proxy.requests if line.startswith("POST") and "/pods" in line)


def test_a_creation_waits_as_long_as_a_busy_server_asks_for(proxy: ApiProxy, through: Pods, spec: MakeSpec) -> None:
    proxy.fail(busy(CREATING, retry_after="2", times=1))
    began = time.monotonic()
    through.create(spec("true"))
    assert time.monotonic() - began >= 2
    assert creations(proxy) == 2


def test_a_server_that_stays_busy_lets_the_slot_be_given_back(proxy: ApiProxy, through: Pods, spec: MakeSpec) -> None:
    proxy.fail(busy(CREATING, retry_after="3600"))
    with pytest.raises(PodsUnavailable, match="slow down") as caught:
        through.create(spec("true"))
    assert not caught.value.pod_may_exist
    assert creations(proxy) == 1


def test_a_creation_gets_over_a_broken_server(proxy: ApiProxy, through: Pods, spec: MakeSpec) -> None:
    proxy.fail(broken(CREATING, times=3))
    assert through.create(spec("true")).uid
    assert creations(proxy) == 4


def test_a_server_that_stays_broken_is_asked_for_the_pod_until_there_surely_is_none(
    proxy: ApiProxy, hasty: Pods, spec: MakeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandmaster.k8s.cluster.create.CREATE_WITHIN_SECONDS", 1.0)
    proxy.fail(broken(CREATING))
    with pytest.raises(PodsUnavailable, match="timed out") as caught:
        hasty.create(spec("true"))
    assert not caught.value.pod_may_exist


def test_a_pod_that_comes_to_be_after_its_creation_failed_is_adopted(
    proxy: ApiProxy, through: Pods, pods: Pods, spec: MakeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandmaster.k8s.cluster.create.CREATE_WITHIN_SECONDS", 0.0)
    asked = spec("sleep 100")
    failed = proxy.fail(broken(CREATING))
    with ThreadPoolExecutor(1) as creator:
        creation = creator.submit(through.create, asked)
        wait_until(lambda: failed.hits, what="the creation")
        late = pods.create(asked)
        assert creation.result(timeout=30).uid == late.uid


def test_a_server_that_fails_and_cannot_be_asked_leaves_open_whether_there_is_a_pod(
    proxy: ApiProxy, hasty: Pods, spec: MakeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandmaster.k8s.cluster.create.CREATE_WITHIN_SECONDS", 1.0)
    proxy.fail(broken(CREATING))
    proxy.fail(broken(LOOKING))
    with pytest.raises(PodsUnavailable, match="nor looked for") as caught:
        hasty.create(spec("true"))
    assert caught.value.pod_may_exist


def test_nobody_asks_again_for_a_pod_that_is_not_wanted_any_more(proxy: ApiProxy, hasty: Pods, spec: MakeSpec) -> None:
    proxy.fail(broken(CREATING))
    with pytest.raises(PodsUnavailable) as caught:
        hasty.create(spec("true"), lambda: False)
    assert not caught.value.pod_may_exist
    assert creations(proxy) == 1


def test_a_pod_whose_creation_got_no_answer_is_adopted(
    proxy: ApiProxy, through: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    lost = proxy.fail(Fault(CREATING, lose_reply=True, times=1))
    lost_too = proxy.fail(Fault(CREATING_SCRIPT, lose_reply=True, times=1))
    created = through.create(spec(python="print()"))
    assert (lost.hits, lost_too.hits) == (1, 1)
    (pod,) = admin.pods(namespace)
    assert pod["metadata"]["uid"] == created.uid
    assert len(admin.config_maps(namespace)) == 1


def test_a_pod_that_used_up_the_quota_unheard_is_adopted(
    proxy: ApiProxy, through: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    quota = {"metadata": {"name": "one"}, "spec": {"hard": {"pods": "1"}}}
    admin.core.create_namespaced_resource_quota(namespace, quota)
    wait_until(
        lambda: admin.core.read_namespaced_resource_quota("one", namespace).status.hard is not None, what="the quota"
    )
    lost = proxy.fail(Fault(CREATING, lose_reply=True, times=1))
    unseen = proxy.fail(Fault(LOOKING, status=404, body=json.dumps(NOT_FOUND).encode(), times=1))
    created = through.create(spec("sleep 100"))
    assert (lost.hits, unseen.hits) == (1, 1)
    assert creations(proxy) == 2, "the second was refused"
    (pod,) = admin.pods(namespace)
    assert pod["metadata"]["uid"] == created.uid


def test_a_server_that_is_away_makes_creating_unavailable_and_surely_without_a_pod(
    proxy: ApiProxy, hasty: Pods, spec: MakeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandmaster.k8s.cluster.create.CREATE_WITHIN_SECONDS", 0.5)
    proxy.stop()
    with pytest.raises(PodsUnavailable, match="cannot be reached") as caught:
        hasty.create(spec("true"))
    assert not caught.value.pod_may_exist
    with pytest.raises(PodsUnavailable):
        hasty.ping()
    proxy.start()
    hasty.ping()


def test_a_server_that_accepts_and_says_nothing_is_waited_for_within_bounds(
    proxy: ApiProxy, hasty: Pods, spec: MakeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandmaster.k8s.cluster.create.CREATE_WITHIN_SECONDS", 3.0)
    proxy.fail(Fault(CREATING, mute=True))
    with pytest.raises(PodsUnavailable, match="lost") as caught:
        hasty.create(spec("true"))
    assert not caught.value.pod_may_exist, "no request of it is under way any more"


def test_settling_gets_over_lost_replies_and_a_broken_server(proxy: ApiProxy, through: Pods, spec: MakeSpec) -> None:
    created = through.create(spec("true"))
    with Watcher(through) as watcher:
        watcher.end(created.name)
    proxy.fail(Fault(PATCHING, lose_reply=True, times=1))
    proxy.fail(broken(PATCHING, times=1))
    assert through.acknowledge(created.name, created.uid)
    proxy.fail(Fault(DELETING, lose_reply=True, times=1))
    through.delete(created.name, uid=created.uid)
    assert through.get(created.name) is None


def test_an_old_version_leads_to_a_new_list_and_nothing_is_told_twice(
    proxy: ApiProxy, through: Pods, spec: MakeSpec
) -> None:
    with Watcher(through, window_seconds=8) as watcher:
        wait_until(lambda: any("watch=" in line for line in proxy.requests), what="the watch")
        proxy.fail(Fault(WATCHING, status=200, body=json.dumps(EXPIRED).encode() + b"\n", times=2))
        proxy.fail(Fault(WATCHING, status=410, body=json.dumps(EXPIRED["object"]).encode(), times=1))
        proxy.cut()
        created = through.create(spec("echo seen"))
        assert watcher.end(created.name).output_tail == "seen\n"
    assert len(watcher.ends(created.name)) == 1
    lists = [line for line in proxy.requests if "/pods?" in line and "watch=" not in line]
    assert len(lists) >= 4


def test_a_watch_gets_over_a_broken_busy_and_absent_server(
    proxy: ApiProxy, through: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    created = through.create(spec(f"{HELD}; echo seen"))
    with Watcher(through, window_seconds=30) as watcher:
        watcher.wait_running(created.name)
        proxy.fail(broken(WATCHING, times=2))
        proxy.fail(busy(LISTING, times=2))
        proxy.stop()
        time_of_absence = time.monotonic()
        wait_until(lambda: time.monotonic() - time_of_absence > 1.5, what="a while")
        proxy.start()
        admin.let_go(namespace, created.name)
        assert watcher.end(created.name).output_tail == "seen\n"
    assert len(watcher.ends(created.name)) == 1


def test_a_half_open_watch_is_found_out_and_begun_again(
    proxy: ApiProxy, hasty: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    created = hasty.create(spec(f"{HELD}; echo seen"))
    fault = proxy.fail(Fault(WATCHING, fall_silent=True, times=1))
    with Watcher(hasty, window_seconds=40) as watcher:
        watcher.wait_running(created.name)
        proxy.silence.set()
        admin.let_go(namespace, created.name)
        assert watcher.end(created.name).output_tail == "seen\n"
    assert fault.hits == 1


def test_a_pod_that_ended_and_was_settled_while_the_watch_was_blind_is_not_told_as_deleted(
    proxy: ApiProxy, through: Pods, pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    created = through.create(spec(HELD))
    with Watcher(through, window_seconds=100) as blind:
        blind.wait_running(created.name)
        proxy.stop()
        admin.let_go(namespace, created.name)
        with Watcher(pods, settle=True) as other:
            other.end(created.name)
            other.wait_gone(created.name)
        # Before anybody can watch again.
        proxy.fail(Fault(WATCHING, status=410, body=json.dumps(EXPIRED["object"]).encode(), times=1))
        proxy.start()
        wait_until(lambda: blind.statuses(created.name)[-1].acknowledged, what="the end of the blindness")
        blind.finish()
        pods.create(spec("true", cpu_request="1000"))
    assert blind.ends(created.name) == []


def test_an_end_is_told_without_its_log_if_that_cannot_be_read(proxy: ApiProxy, through: Pods, spec: MakeSpec) -> None:
    proxy.fail(broken(LOG))
    created = through.create(spec("echo unheard; exit 4"))
    with Watcher(through) as watcher:
        outcome = watcher.end(created.name)
    assert outcome.exit_code == 4
    assert "its log could not be read" in outcome.output_tail


def test_following_a_log_goes_on_after_the_connection_broke(proxy: ApiProxy, through: Pods, spec: MakeSpec) -> None:
    created = through.create(spec("for i in 1 2 3 4 5 6; do echo line $i; sleep 0.5; done"))
    heard: list[bytes] = []
    for chunk in through.logs(created.name, follow=True):
        if not heard:
            proxy.cut()
        heard.append(chunk)
    assert b"".join(heard) == b"".join(f"line {i}\n".encode() for i in range(1, 7))


def test_a_window_in_which_the_server_never_answered_is_a_failure(proxy: ApiProxy, hasty: Pods) -> None:
    proxy.stop()
    with pytest.raises(PodsUnavailable, match="cannot be reached"):
        list(hasty.watch(1.0))


def test_a_followed_log_that_breaks_off_behind_the_api_server_is_followed_to_its_end(
    proxy: ApiProxy, connect_with: Connect, spec: MakeSpec
) -> None:
    pods = connect_with(kubeconfig=str(proxy.kubeconfig), termination_grace_seconds=20)
    line = "trap 'echo asked to stop; sleep 3; echo stopped; exit 0' TERM; echo begun; while :; do sleep 0.1; done"
    proxy.fail(Fault(LOG, end_early=True, times=1))
    created = pods.create(spec(line, timeout_seconds=4))
    with Watcher(pods) as watcher:
        assert watcher.end(created.name).output_tail == "begun\nasked to stop\nstopped\n"
