"""The chart with ledger and API on a real cluster, and a PostgreSQL that its pods reach, as the manual says.

One installation serves all these tests, in this order; each leaves it as ready as it found it. The database runs on
this machine, at the address of the node.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from deploy_caller import Caller, Line
from deploy_image import Image, usable_image
from deploy_kubectl import Kubectl, cluster_or_skip, skip_or_fail, undisturbed
from deploy_manual import manual_command, manual_values
from deploy_namespaces import own_namespaces
from deploy_release import API, LEDGER, Release
from deploy_services import node_address, services
from postgres import PostgresServer, installations, postgres_server

from bandmaster.admin.client import calls
from bandmaster.admin.client.errors import ApiProblem
from bandmaster.scheduler.model.states import State
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]

SECONDS: Final = 90.0


def held(*names: str) -> tuple[str, ...]:
    """A program that prints a word, and another after each of these files is there."""
    steps = [f"until [ -e /tmp/{name} ]; do sleep 0.1; done; echo {name}" for name in names]
    return ("sh", "-c", "; ".join(["echo begun", *steps, "exit 3"]))


def values_for(image: Image, database: PostgresServer, *, with_api: bool) -> dict[str, Any]:
    """What the manual sets, and a small installation beside it."""
    peers = [{"ipBlock": {"cidr": f"{database.address}/32"}}]
    return {
        "settings": {
            "k8s": {"default_image": image.reference, "cpu_request": "10m", "memory_request": "32Mi"},
            "ledger": {"lease_ms": 3000},
        },
        "worker": {"replicas": 1, "processes": 1, "shutdownTimeoutSeconds": 10, "shutdownMarginSeconds": 10},
        "scheduler": {"replicas": 1},
        "redis": {"trial": {"persistence": {"enabled": False}}},
        "networkPolicy": {"database": {"peers": peers, "port": database.port}},
        **manual_values("ledger.enabled"),
        **(manual_values("api.enabled") if with_api else {}),
    }


@dataclass
class Installed:
    """What the tests share."""

    release: Release
    database: PostgresServer
    caller: Caller
    sent: list[str] = field(default_factory=list[str])
    """Every execution that a test has sent."""

    def submit(self, line: Line, *command: str) -> str:
        """Send an execution."""
        execution_id = line.client.submit(command=list(command)).execution_id
        self.sent.append(execution_id)
        return execution_id

    def writer(self) -> str:
        """The ledger's pod that writes; empty while none does."""
        looked = self.release.attempt("exec", f"deployment/{LEDGER}", "--", "bandmaster", "ledger", "--json")
        if looked.returncode != 0:
            return ""
        consumer: str = json.loads(looked.stdout)["ledger"]["consumer"]
        return consumer.partition(":")[0]


@pytest.fixture(autouse=True)
def peace() -> None:
    """The release holds off the disturbing tests for as long as it is there; to ask again could wait for ever."""


@pytest.fixture(scope="module")
def kubectl() -> Kubectl:
    return cluster_or_skip()


@pytest.fixture(scope="module")
def database(kubectl: Kubectl) -> Iterator[PostgresServer]:
    address = node_address(kubectl)
    if address is None:
        skip_or_fail("the cluster's node is not this machine, so its pods cannot reach a database here")
    with postgres_server(next(iter(installations().values())), address=address) as server:
        yield server


@pytest.fixture(scope="module")
def installed(kubectl: Kubectl, database: PostgresServer) -> Iterator[Installed]:
    with (
        usable_image(kubectl.kubeconfig) as image,
        undisturbed(kubectl),
        services(kubectl) as stand_in,
        own_namespaces(kubectl, of_executions=False) as namespaces,
    ):
        release = Release(kubectl, namespaces, image, stand_in)
        *secret, url = manual_command("create secret", "bandmaster-ledger")
        name, _, example = url.rpartition("=")
        assert example.startswith("postgresql://")
        release.run(*secret, f"{name}={database.create_remote_database()}")
        release.install(values_for(image, database, with_api=False))
        caller = Caller(release)
        release.upgrade(values_for(image, database, with_api=True))
        yield Installed(release, database, caller)


def test_the_tables_are_made_at_the_installation_and_at_each_upgrade(installed: Installed) -> None:
    release = installed.release
    events = release.kubectl.items("events", "-n", release.namespaces.release, "--field-selector=reason=Completed")
    jobs = {each["involvedObject"]["uid"]: each["involvedObject"]["name"] for each in events}
    assert list(jobs.values()) == [f"{LEDGER}-upgrade"] * 2, release.what_happened()
    pods = {component: release.pods(component) for component in ("ledger", "api")}
    assert {component: len(found) for component, found in pods.items()} == {"ledger": 2, "api": 2}
    statuses = [each for found in pods.values() for pod in found for each in pod["status"]["containerStatuses"]]
    assert all(each["ready"] and each["restartCount"] == 0 for each in statuses), release.what_happened()


def test_what_an_execution_prints_is_followed_as_it_comes_and_then_it_is_history(installed: Installed) -> None:
    with installed.caller.line() as line:
        wait_until(lambda: line.readiness() == "ready", timeout_seconds=SECONDS, what="a history that is written")
        execution_id = installed.submit(line, *held("done"))
        with line.following(execution_id) as stream:
            wait_until(lambda: stream.text() == "begun\n", timeout_seconds=SECONDS, what="its first word")
            shown = line.client.send(calls.show(execution_id))
            assert shown.state is State.POD
            assert line.client.send(calls.logs(execution_id)).output == "begun\n"
            installed.caller.touch(shown.pod, "done")
            assert stream.ended.wait(SECONDS)
        assert stream.text() == "begun\ndone\n"
        assert "withheld" not in stream.names()
        assert stream.events[-1]["event"] == "end"
        assert stream.events[-1]["data"]["exit_code"] == 3
        timeline = line.told(execution_id)
        assert timeline.complete
        assert [step.state for step in timeline.steps if step.state][-1] == State.FAILED
        kept = line.history()[execution_id]
        assert (kept.exit_code, kept.user_id) == (3, "ann")


def test_without_its_right_the_api_says_so_and_shows_what_was_kept(installed: Installed) -> None:
    kubectl, where = installed.release.kubectl, ("-n", installed.release.namespaces.executions)
    binding = kubectl.get("rolebinding", API, *where)
    kubectl.run("delete", "rolebinding", API, *where)
    with installed.caller.line() as line:
        execution_id = installed.submit(line, *held("done"))
        with line.following(execution_id) as stream:
            wait_until(lambda: "withheld" in stream.names(), timeout_seconds=SECONDS, what="that it is withheld")
            answer = line.client.send(calls.logs(execution_id))
            assert (answer.source, answer.output, answer.withheld) == ("none", "", True)
            wait_until(lambda: _is_running(installed, execution_id), timeout_seconds=SECONDS, what="its start")
            installed.caller.touch(line.client.send(calls.show(execution_id)).pod, "done")
            assert stream.ended.wait(SECONDS)
        assert stream.text() == "begun\ndone\n"
        assert line.client.send(calls.logs(execution_id)).source == "result"
    made = {name: binding["metadata"][name] for name in ("name", "namespace", "labels", "annotations")}
    kubectl.create([binding | {"metadata": made}])


def _is_running(installed: Installed, execution_id: str) -> bool:
    """Whether the cluster says so."""
    where = ("-n", installed.release.namespaces.executions, "-l", f"bandmaster.dev/execution={execution_id}")
    return [pod["status"]["phase"] for pod in installed.release.kubectl.items("pods", *where)] == ["Running"]


def test_a_follower_goes_on_at_another_pod_when_its_own_is_killed(installed: Installed) -> None:
    first, second = [pod["metadata"]["name"] for pod in installed.release.pods("api")]
    with installed.caller.line(second) as other:
        with installed.caller.line(first) as line:
            execution_id = installed.submit(line, *held("on", "done"))
            with line.following(execution_id) as stream:
                wait_until(lambda: stream.text() == "begun\n", timeout_seconds=SECONDS, what="its first word")
                installed.release.run("delete", "pod", first, "--force", "--grace-period=0")
                assert stream.ended.wait(SECONDS)
            assert "end" not in stream.names()
            last = next(each["id"] for each in reversed(stream.events) if "id" in each)
        pod = other.client.send(calls.show(execution_id)).pod
        installed.caller.touch(pod, "on")
        with other.following(execution_id, last) as stream:
            wait_until(lambda: stream.text() == "on\n", timeout_seconds=SECONDS, what="what it prints meanwhile")
            installed.caller.touch(pod, "done")
            assert stream.ended.wait(SECONDS)
        assert stream.text() == "on\ndone\n"
        assert "reset" not in stream.names()
    installed.release.wait_ready()
    assert len(installed.release.pods("api")) == 2


def test_another_pod_writes_the_history_when_the_one_that_writes_is_killed(installed: Installed) -> None:
    writer = wait_until(installed.writer, timeout_seconds=SECONDS, what="a writer")
    assert writer in [pod["metadata"]["name"] for pod in installed.release.pods("ledger")]
    installed.release.run("delete", "pod", writer, "--force", "--grace-period=0")
    wait_until(lambda: installed.writer() not in (writer, ""), timeout_seconds=SECONDS, what="another writer")
    with installed.caller.line() as line:
        execution_id = installed.submit(line, "echo", "hello")
        assert line.told(execution_id).steps[-1].state == State.COMPLETED
    installed.release.wait_ready()


def test_executions_go_on_without_the_database_and_are_history_when_it_is_back(installed: Installed) -> None:
    with installed.caller.line() as line:
        before = installed.submit(line, *held("done"))
        wait_until(lambda: _is_running(installed, before), timeout_seconds=SECONDS, what="its start")
        installed.database.stop()
        wait_until(lambda: line.readiness() == "degraded", timeout_seconds=SECONDS, what="that this is noticed")
        with pytest.raises(ApiProblem) as problem:
            line.history()
        assert problem.value.code == "ledger_unavailable"
        meanwhile = installed.submit(line, "echo", "hello")
        installed.caller.touch(line.client.send(calls.show(before)).pod, "done")
        assert line.ended(before).exit_code == 3
        assert line.ended(meanwhile).exit_code == 0
        installed.database.start()
        wait_until(lambda: line.readiness() == "ready", timeout_seconds=SECONDS, what="that it is back")
        for execution_id in installed.sent:
            assert line.told(execution_id).complete
        assert line.history().keys() == set(installed.sent)
    ledger = installed.release.command("ledger", within=LEDGER)["ledger"]
    assert (ledger["missed_entries"], ledger["lost_executions"]) == (0, 0)
    pods = (*installed.release.pods("api"), *installed.release.pods("ledger"), *installed.release.pods("worker"))
    assert {each["restartCount"] for pod in pods for each in pod["status"]["containerStatuses"]} == {0}
