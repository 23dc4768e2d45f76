"""What a bare node leaves undone for a pod: the API server's certificate beside its token, and a route to Services.

In the flow: used by `deploy_services.py` on a node that is this machine, for the namespace of the release alone. The
controller manager would write the certificate (`--root-ca-file`), the network plugin the route; a pod that looks for
either too early tries again.
"""

import base64
import json
import re
import subprocess
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from deploy_kubectl import Kubectl, need
from deploy_watch import Watch

CERTIFICATE: Final = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", re.DOTALL)
GATEWAY: Final = re.compile(r"\bvia ([0-9.]+)")


class NodeAgents:
    """Follows the tokens and the pods of one namespace."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        need("nsenter")
        self._kubectl = kubectl
        self._namespace = namespace
        self._patch = json.dumps({"data": {"ca.crt": base64.b64encode(_authority(kubectl).encode()).decode()}})
        self._done: set[str] = set()
        tokens = "--field-selector=type=kubernetes.io/service-account-token"
        self._watches = [
            Watch(kubectl, namespace, "secrets", "{.metadata.name}", self._certify, tokens),
            Watch(kubectl, namespace, "pods", "{.metadata.uid} {.status.phase}", self._route),
        ]

    def stop(self) -> None:
        """Follow no more."""
        for watch in self._watches:
            watch.stop()

    def _certify(self, words: list[str]) -> None:
        (secret,) = words
        if secret not in self._done:
            self._done.add(secret)
            self._kubectl.run("patch", "secret", secret, "-n", self._namespace, "-p", self._patch)

    def _route(self, words: list[str]) -> None:
        uid = words[0]
        if uid in self._done:
            return
        process = _process_of(uid)
        if process is None:
            return  # not begun, or over; the watch tells of its next change
        inside = ("nsenter", "--net", "--target", process, "ip", "-4", "route")
        routes = subprocess.run([*inside, "show"], capture_output=True, text=True, check=False).stdout
        gateway = GATEWAY.search(routes)
        if gateway is None:
            return
        replace = [*inside, "replace", "default", "via", gateway[1]]
        if "default" in routes or subprocess.run(replace, check=False).returncode == 0:
            self._done.add(uid)


def _process_of(uid: str) -> str | None:
    """A process of a pod; all of them share its network, but for one that the runtime has not put there yet."""
    own_network = Path("/proc/self/ns/net").readlink()
    for cgroup in Path("/proc").glob("[0-9]*/cgroup"):
        process = cgroup.parent
        try:
            # systemd writes the dashes otherwise.
            if uid in cgroup.read_text().replace("_", "-") and (process / "ns/net").readlink() != own_network:
                return process.name
        except OSError:
            continue  # it ended
    return None


def _authority(kubectl: Kubectl) -> str:
    """The certificate of who signed the API server's."""
    need("openssl")
    server = kubectl.run("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
    shown = subprocess.run(
        ["openssl", "s_client", "-showcerts", "-connect", urlsplit(server).netloc],
        input="",
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    # The last of the chain.
    return CERTIFICATE.findall(shown.stdout)[-1]
