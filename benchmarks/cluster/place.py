"""A namespace of one's own on the cluster that KUBECONFIG names, seen with the official client as it comes.

In the flow: each question about pods opens one for every side it measures; what is left in it is removed at its end. If
this process is killed, the namespace stays, and its name says whose it is.
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
"""Anything with a shell."""
TIMEOUT: Final = (3, 30)
READY_SECONDS: Final = 30.0
CLEARERS: Final = 8

Json = dict[str, Any]


class ClusterMissing(Exception):
    """No cluster is named."""


def named_cluster() -> str:
    """The kubeconfig.

    Raises:
        ClusterMissing: If none is named.
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
        """All pods, as the API server has them."""
        answer = self.core.list_namespaced_pod(self.namespace, _preload_content=False, _request_timeout=TIMEOUT)
        return json.loads(answer.data)["items"] or []

    def clear(self) -> None:
        """Remove all pods, whatever holds them; thousands one by one would take longer than what was measured."""
        with ThreadPoolExecutor(CLEARERS) as clearers:
            list(clearers.map(self._remove, [pod["metadata"]["name"] for pod in self.pods()]))

    def _remove(self, name: str) -> None:
        with contextlib.suppress(ApiException):
            self.core.patch_namespaced_pod(name, self.namespace, {"metadata": {"finalizers": None}})
            self.core.delete_namespaced_pod(name, self.namespace, grace_period_seconds=0)


@contextlib.contextmanager
def place() -> Generator[Place]:
    """A namespace, while the block runs.

    Raises:
        ClusterMissing: If no cluster is named.
        TimeoutError: If it cannot be used.
    """
    kubeconfig = named_cluster()
    urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # a test cluster's certificate is its own
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
    """Pods need the account `default`; where no controller runs, nobody else makes it."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            own.core.create_namespaced_service_account(own.namespace, {"metadata": {"name": "default"}})
        except ApiException as error:
            if error.status != 409:
                raise
        return
