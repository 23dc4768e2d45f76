"""A release of the chart on the cluster, as the deployment tests use it: installed, looked at, and sent executions.

In the flow: the namespaces and the image are there; Helm's own engine installs. Ports of the Redis server and the admin
API are forwarded through the API server, so that a test speaks to them as any caller does.
"""

import contextlib
import json
import secrets
import subprocess
from base64 import b64decode
from collections.abc import Generator
from typing import Any, Final

import redis
from deploy_chart import CHART, RELEASE, Values, helm
from deploy_image import Image
from deploy_kubectl import Kubectl, Manifest
from deploy_namespaces import Namespaces
from deploy_services import Services

READY_SECONDS: Final = 180
SERVER: Final = f"{RELEASE}-redis"
WORKER: Final = f"{RELEASE}-worker"
LEDGER: Final = f"{RELEASE}-ledger"
API: Final = f"{RELEASE}-api"
OF_RELEASE: Final = f"app.kubernetes.io/instance={RELEASE}"


class Release:
    """One installation."""

    def __init__(self, kubectl: Kubectl, namespaces: Namespaces, image: Image, services: Services | None) -> None:
        self.kubectl = kubectl
        self.namespaces = namespaces
        self._image = image
        self._services = services

    def install(self, values: Values) -> None:
        """Install, and wait until every pod is ready."""
        if self._services is not None:
            self._services.admit(self.namespaces.release)
        self._make_secret()
        self._act("install", values)
        self._rolled_out("statefulset", SERVER)
        if self._services is not None:
            self._services.serve(self.namespaces.release, SERVER, f"{SERVER}-0")
        self.wait_ready()

    def upgrade(self, values: Values) -> None:
        """Change the values, and wait until every pod has them."""
        self._act("upgrade", values)
        self.wait_ready()

    def uninstall(self) -> None:
        """Remove the release."""
        with helm().Config(kubeconfig_path=self.kubectl.kubeconfig, namespace=self.namespaces.release) as config:
            config.uninstall(RELEASE)

    def _make_secret(self) -> None:
        """As the manual says."""
        password = secrets.token_hex(24)
        url = f"redis://:{password}@{SERVER}.{self.namespaces.release}.svc:6379/0"
        variables = f"password={password}\nurl={url}\n"
        self.run("create", "secret", "generic", SERVER, "--from-env-file=/dev/stdin", stdin=variables)

    def _act(self, action: str, values: Values) -> None:
        image = {"repository": self._image.repository, "tag": self._image.tag}
        whole = {**values, "image": image, "executions": {"namespace": self.namespaces.executions}}
        engine, namespace = helm(), self.namespaces.release
        with engine.Config(kubeconfig_path=self.kubectl.kubeconfig, namespace=namespace) as config:
            try:
                getattr(config, action)(CHART, RELEASE, whole, namespace=namespace)
            except engine.HelmError as error:
                raise AssertionError(f"{action}: {error}\n{self.what_happened()}") from error

    def wait_ready(self) -> None:
        """Wait until the Deployments' pods are all new and ready."""
        for each in self.kubectl.items("deployments", "-n", self.namespaces.release, "-l", OF_RELEASE):
            self._rolled_out("deployment", each["metadata"]["name"])

    def _rolled_out(self, kind: str, name: str) -> None:
        done = self.attempt("rollout", "status", kind, name, f"--timeout={READY_SECONDS}s", seconds=READY_SECONDS + 30)
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}\n{self.what_happened()}"

    def run(self, *arguments: str, stdin: str | None = None, seconds: float = 120.0) -> str:
        """``kubectl`` in the release's namespace."""
        return self.kubectl.run("-n", self.namespaces.release, *arguments, stdin=stdin, seconds=seconds)

    def attempt(self, *arguments: str, seconds: float = 120.0) -> "subprocess.CompletedProcess[str]":
        """``kubectl`` in the release's namespace, which may fail."""
        return self.kubectl.attempt("-n", self.namespaces.release, *arguments, seconds=seconds)

    def command(self, *arguments: str, stdin: str | None = None, within: str = WORKER) -> Any:
        """``bandmaster … --json`` in a worker's container, or another Deployment's; the document that it printed."""
        entered = ("exec", *(["-i"] if stdin is not None else []), f"deployment/{within}", "--")
        return json.loads(self.run(*entered, "bandmaster", *arguments, "--json", stdin=stdin))

    def pods(self, component: str) -> list[Manifest]:
        """The pods of worker, scheduler, ledger, api or redis that are not about to go."""
        selector = f"{OF_RELEASE},app.kubernetes.io/component={component}"
        found = self.kubectl.items("pods", "-n", self.namespaces.release, "-l", selector)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def password(self) -> str:
        """The server's."""
        return b64decode(self.run("get", "secret", SERVER, "-o", "jsonpath={.data.password}")).decode()

    @contextlib.contextmanager
    def server(self) -> Generator[redis.Redis]:
        """A client of the release's server."""
        with (
            self.forwarded(f"service/{SERVER}", 6379) as port,
            redis.Redis(port=port, password=self.password(), socket_timeout=10) as client,
        ):
            yield client

    @contextlib.contextmanager
    def forwarded(self, target: str, port: int) -> Generator[int]:
        """A port of this machine that leads to one of a Service, or of a pod."""
        forward = subprocess.Popen(
            self.kubectl.command("-n", self.namespaces.release, "port-forward", target, f":{port}"),
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert forward.stdout is not None
            # Forwarding from 127.0.0.1:40123 -> 6379
            yield int(forward.stdout.readline().split(" -> ")[0].rpartition(":")[2])
        finally:
            with forward:
                forward.terminate()

    def what_happened(self) -> str:
        """Pods, warnings and logs, for a failure's message."""
        warnings = (
            "get",
            "events",
            "--field-selector=type=Warning",
            "-o",
            "custom-columns=:.involvedObject.name,:.message",
        )
        logs = ("logs", "-l", OF_RELEASE, "--all-containers", "--prefix", "--tail=15")
        return "\n".join(self.attempt(*each).stdout for each in (("get", "pods", "-o", "wide"), warnings, logs))
