"""Service addresses and their names, on a one-node cluster that has neither kube-proxy nor DNS.

In the flow: the release of the deployment tests runs as on any cluster: it finds the API server and the Redis server by
their Services. A cluster with a DNS service needs nothing from here; on a bare node this process takes the Services'
addresses, forwards their connections, and answers names. It ends with the test, and gives the addresses back.
"""

import contextlib
import fcntl
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from deploy_forwarding import Address, Forwarder, NameServer, serving
from deploy_kubectl import Kubectl, skip_or_fail
from deploy_node import NodeAgents

DNS: Final = ("kube-system", "kube-dns")
DNS_PORT: Final = 53


class Services:
    """What stands in for kube-proxy and DNS."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self._names: dict[str, str] = {}
        self._forwarders: dict[Address, Forwarder] = {}
        self._addresses: set[str] = set()
        self._ends = contextlib.ExitStack()

    def start(self) -> None:
        """Take the API server's address and the name server's."""
        api = urlsplit(self._kubectl.run("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"))
        assert api.hostname is not None
        assert api.port is not None
        spec = self._kubectl.get("service", "kubernetes", "-n", "default")["spec"]
        self._forward((spec["clusterIP"], spec["ports"][0]["port"]), (api.hostname, api.port))
        # By convention the tenth address of the Services' range, which the kubelet tells every pod.
        address = f"{spec['clusterIP'].rpartition('.')[0]}.10"
        self._take(address)
        self._ends.enter_context(serving(NameServer((address, DNS_PORT), self._names)))

    def stop(self) -> None:
        """Give everything back."""
        self._ends.close()

    def admit(self, namespace: str) -> None:
        """Let the pods of a namespace use Services, and trust the API server."""
        self._ends.callback(NodeAgents(self._kubectl, namespace).stop)

    def serve(self, namespace: str, service: str, pod: str) -> None:
        """Let a Service's address and name lead to a pod, which is running."""
        spec = self._kubectl.get("service", service, "-n", namespace)["spec"]
        target = self._kubectl.get("pod", pod, "-n", namespace)["status"]["podIP"]
        for port in spec["ports"]:
            self._forward((spec["clusterIP"], port["port"]), (target, port["port"]))
        self._names[f"{service}.{namespace}.svc"] = spec["clusterIP"]

    def _forward(self, address: Address, target: Address) -> None:
        if address in self._forwarders:
            self._forwarders[address].target = target
            return
        self._take(address[0])
        self._forwarders[address] = Forwarder(address, target)
        self._ends.enter_context(serving(self._forwarders[address]))

    def _take(self, address: str) -> None:
        where = (f"{address}/32", "dev", "lo")
        if address not in self._addresses:
            self._addresses.add(address)
            self._ends.callback(subprocess.run, ("ip", "address", "del", *where), check=True)
        subprocess.run(("ip", "address", "replace", *where), check=True)


@contextlib.contextmanager
def services(kubectl: Kubectl) -> Generator[Services | None]:
    """What the cluster lacks; None: nothing."""
    namespace, service = DNS
    if kubectl.attempt("get", "service", service, "-n", namespace).returncode == 0:
        yield None
        return
    if node_address(kubectl) is None:
        skip_or_fail("the cluster has no DNS, and its node is not this machine")
    # This machine has each address once: another test process waits for its turn.
    with Path(tempfile.gettempdir(), "bandmaster-services.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = Services(kubectl)
        found.start()
        try:
            yield found
        finally:
            found.stop()


def node_address(kubectl: Kubectl) -> str | None:
    """The address of the cluster's node, if that is this machine: pods reach there what this process serves."""
    here = subprocess.run(["ip", "-o", "address"], capture_output=True, text=True, check=True).stdout
    addresses = [each["address"] for each in kubectl.items("nodes")[0]["status"]["addresses"]]
    return next((each for each in addresses if f"inet {each}/" in here), None)
