"""A temporary namespace on the cluster of KUBECONFIG, used with the official client in its default configuration.

In the flow: each question about pods opens one for every side it measures; it is emptied and removed at the end. If
this process is killed, the namespace stays; its name shows that it belongs to the benchmarks.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from bandmaster.configs.areas import KubernetesSettings

KUBECONFIG: Final = "KUBECONFIG"
IMAGE_VARIABLE: Final = "BANDMASTER_BENCH_IMAGE"
DEFAULT_IMAGE: Final = "localhost/busybox:test"
"""Any image with a shell suffices."""
TIMEOUT: Final = (3, 30)
READY_SECONDS: Final = 30.0
CLEARERS: Final = 8

Json = dict[str, Any]


class ClusterMissing(Exception):
    """No cluster is named."""


def named_cluster() -> str:
    """The path of the kubeconfig.

    Raises:
        ClusterMissing: If KUBECONFIG is not set.
    """
    path = os.environ.get(KUBECONFIG, "")
    if not path:
        raise ClusterMissing(f"this question needs a cluster to create pods on: name its kubeconfig with {KUBECONFIG}")
    return path


class Place:
    """One namespace."""

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        self.namespace = namespace
        self.settings = KubernetesSettings(
            backend="kubernetes",
            namespace=namespace,
            kubeconfig=kubeconfig,
            default_image=os.environ.get(IMAGE_VARIABLE, DEFAULT_IMAGE),
            cpu_request="10m",
            memory_request="16Mi",
            termination_grace_seconds=1,
            pending_deadline_seconds=3_600,
        )
        configuration = client.Configuration()
        config.load_kube_config(kubeconfig, client_configuration=configuration)
        configuration.retries = False  # pyright: ignore[reportAttributeAccessIssue] # urllib3 takes it
        configuration.connection_pool_maxsize = 64
        self.api = client.ApiClient(configuration)
        self.core: Any = client.CoreV1Api(self.api)

    def pods(self) -> list[Json]:
        """All pods, as the API server returns them."""
        answer = self.core.list_namespaced_pod(self.namespace, _preload_content=False, _request_timeout=TIMEOUT)
        return json.loads(answer.data)["items"] or []

    def clear(self) -> None:
        """Remove all pods with their finalizers, several at once: one by one would take longer than the measurement."""
        with ThreadPoolExecutor(CLEARERS) as clearers:
            list(clearers.map(self._remove, [pod["metadata"]["name"] for pod in self.pods()]))

    def _remove(self, name: str) -> None:
        with contextlib.suppress(ApiException):
            self.core.patch_namespaced_pod(name, self.namespace, {"metadata": {"finalizers": None}})
            self.core.delete_namespaced_pod(name, self.namespace, grace_period_seconds=0)


@contextlib.contextmanager
def place() -> Generator[Place]:
    """Provide a namespace during the block.

    Raises:
        ClusterMissing: If no cluster is named.
        TimeoutError: If the namespace cannot be used.
    """
    kubeconfig = named_cluster()
    urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # a test cluster has a self-signed certificate
    own = Place(kubeconfig, f"bandmaster-bench-{secrets.token_hex(4)}")
    own.core.create_namespace({"metadata": {"name": own.namespace}}, _request_timeout=TIMEOUT)
    try:
        _give_account(own)
        yield own
    finally:
        try:
            own.clear()
        finally:
            own.core.delete_namespace(own.namespace, _request_timeout=TIMEOUT)
            own.api.close()


def _give_account(own: Place) -> None:
    """Create the service account `default`, which pods need and which only a controller would create otherwise."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            own.core.create_namespaced_service_account(own.namespace, {"metadata": {"name": "default"}})
        except ApiException as error:
            if error.status != 409:
                raise
        return
