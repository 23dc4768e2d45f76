"""A real cluster: whichever KUBECONFIG names. Every test has a namespace of its own there.

Without KUBECONFIG these tests are skipped, or fail if BANDMASTER_REQUIRE_CLUSTER is 1. The images that they run are on
the node already, or named by BANDMASTER_TEST_BUSYBOX_IMAGE and BANDMASTER_TEST_PYTHON_IMAGE. Tests that disturb the
whole cluster have it for themselves. Most of their time is spent waiting for the cluster: run several at once
(``pytest -n 4 tests/cluster``), in the order that `turns.py` gives them.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from api_proxy import ApiProxy
from cluster_admin import Admin
from components import RESET_BEFORE_HANDSHAKE
from installation import Installation
from making import PYTHON, Connect, MakeSpec, pod_settings
from sharing import cluster_of_ones_own
from turns import in_turns, turn_of

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.backend import connect
from bandmaster.k8s.pods import Pods, PodScript, PodSpec

HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "disturbs: has the cluster for itself, since it stops a part of it")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE not in item.path.parents:
            continue
        if isinstance(item, pytest.Function) and "kubeconfig" in item.fixturenames:
            item.add_marker(pytest.mark.cluster)
        # A test cluster's certificate may be one that nobody knows.
        item.add_marker(pytest.mark.filterwarnings("ignore:Unverified HTTPS request"))
        item.add_marker(pytest.mark.filterwarnings(f"ignore:{RESET_BEFORE_HANDSHAKE}:ResourceWarning"))
    items.sort(key=lambda item: turn_of(item.nodeid))


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return in_turns(config, log)


@pytest.fixture(scope="session")
def kubeconfig() -> str:
    """The path of the kubeconfig."""
    named = os.environ.get("KUBECONFIG", "")
    if named:
        return named
    if os.environ.get("BANDMASTER_REQUIRE_CLUSTER") == "1":
        pytest.fail("BANDMASTER_REQUIRE_CLUSTER is 1, but KUBECONFIG names no cluster", pytrace=False)
    pytest.skip("KUBECONFIG names no cluster")


@pytest.fixture(scope="session")
def admin(kubeconfig: str) -> Admin:
    return Admin(kubeconfig)


@pytest.fixture(autouse=True)
def peace(request: pytest.FixtureRequest) -> Iterator[None]:
    """The cluster is shared with the other tests, or, for one that is marked `disturbs`, not."""
    if "kubeconfig" not in request.fixturenames:
        yield
        return
    node: Any = request.node
    with cluster_of_ones_own(alone=node.get_closest_marker("disturbs") is not None):
        yield


@pytest.fixture
def namespace(admin: Admin) -> Iterator[str]:
    name = admin.create_namespace()
    yield name
    admin.remove_namespace(name)


@pytest.fixture
def cluster_settings(kubeconfig: str, namespace: str) -> KubernetesSettings:
    return pod_settings(kubeconfig, namespace)


@pytest.fixture
def connect_with(cluster_settings: KubernetesSettings, tmp_path: Path) -> Connect:
    """Get the pods with other settings."""

    def make(**changes: Any) -> Pods:
        return connect("kubernetes", root=tmp_path, cluster=cluster_settings.model_copy(update=changes))

    return make


@pytest.fixture
def pods(connect_with: Connect) -> Pods:
    return connect_with()


@pytest.fixture
def proxy(admin: Admin, tmp_path: Path) -> Iterator[ApiProxy]:
    """Before the API server."""
    proxy = ApiProxy(admin, tmp_path)
    yield proxy
    proxy.stop()


@pytest.fixture
def installation(
    redis_client: redis.Redis, redis_url: str, tmp_path: Path, cluster_settings: KubernetesSettings, admin: Admin
) -> Iterator[Installation]:
    """A queue whose executions run in the test's namespace; no worker runs yet."""
    installation = Installation(redis_client, redis_url, tmp_path, cluster_settings, admin)
    yield installation
    print(installation.members.end_all())


@pytest.fixture
def spec() -> MakeSpec:
    def make(line: str | None = None, *, python: str | None = None, **fields: Any) -> PodSpec:
        values: dict[str, Any] = {"execution_id": f"test-{uuid4()}", "attempt": 1, "action": "pod"}
        values["timeout_seconds"] = 300.0
        if line is not None:
            values["command"] = ("sh", "-c", line)
        if python is not None:
            values |= {"script": PodScript(python, runtime="python"), "image": PYTHON}
        return PodSpec(**(values | fields))

    return make
