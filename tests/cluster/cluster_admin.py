"""The cluster seen from its administrator's side: what tests do to it behind Bandmaster's back."""

import contextlib
import json
import secrets
from pathlib import Path
from typing import Any

from deploy_kubectl import Kubectl
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from waiting import GENEROUS_SECONDS, wait_until

Json = dict[str, Any]
TIMEOUT = (GENEROUS_SECONDS, GENEROUS_SECONDS)


class Admin:
    """An administrator of the whole cluster, with the official client as it comes."""

    def __init__(self, kubeconfig: str) -> None:
        self._kubectl = Kubectl(Path(kubeconfig))
        self.configuration = client.Configuration()
        config.load_kube_config(kubeconfig, client_configuration=self.configuration)
        self.configuration.retries = False  # pyright: ignore[reportAttributeAccessIssue] # urllib3 takes it
        self.api_client = client.ApiClient(self.configuration)
        self.core: Any = client.CoreV1Api(self.api_client)
        self._admission: Any = client.AdmissionregistrationV1Api(self.api_client)

    def is_ready(self) -> bool:
        """Whether the API server says that it is, all that it starts with included."""
        api: Any = self.api_client
        request = api.param_serialize("GET", "/readyz", auth_settings=["BearerToken"])
        answer = api.call_api(*request, _request_timeout=TIMEOUT)
        answer.read()
        return answer.status == 200

    def create_namespace(self) -> str:
        """Create a namespace in which pods can be created."""
        name = f"bandmaster-test-{secrets.token_hex(4)}"
        self.core.create_namespace({"metadata": {"name": name}}, _request_timeout=TIMEOUT)
        wait_until(lambda: self._has_account(name), what="the default service account")
        return name

    def remove_namespace(self, name: str) -> None:
        """Ask for a namespace's deletion with all that is in it, whatever holds it."""
        for pod in self.pods(name):
            self.strip(name, pod["metadata"]["name"])
            with contextlib.suppress(ApiException):
                self.delete(name, pod["metadata"]["name"], grace_period_seconds=0)
        self.core.delete_namespace(name, _request_timeout=TIMEOUT)

    def pods(self, namespace: str) -> list[Json]:
        """All pods, as the API server has them."""
        return self._json(self.core.list_namespaced_pod, namespace)["items"] or []

    def pod(self, namespace: str, name: str) -> Json | None:
        """One pod, as the API server has it."""
        try:
            return self._json(self.core.read_namespaced_pod, name, namespace)
        except ApiException as error:
            if error.status == 404:
                return None
            raise

    def waiting(self, namespace: str, name: str) -> str | None:
        """What a pod's container waits for, in the kubelet's words."""
        pod = self.pod(namespace, name) or {"status": {}}
        states = [each["state"] for each in pod["status"].get("containerStatuses", [])]
        return next((state["waiting"].get("reason") for state in states if "waiting" in state), None)

    def is_with_kubelet(self, namespace: str, name: str) -> bool:
        """Whether a kubelet has said something of a pod's containers: mostly that it creates them, or, of a quick one,
        that they run already."""
        pod = self.pod(namespace, name) or {"status": {}}
        return bool(pod["status"].get("containerStatuses"))

    def wait_running(self, namespace: str, name: str) -> None:
        """Wait until a pod's program runs."""
        wait_until(
            lambda: (self.pod(namespace, name) or {"status": {"phase": ""}})["status"]["phase"] == "Running",
            timeout_seconds=120,
            what=f"the start of {name}",
        )

    def config_maps(self, namespace: str) -> list[str]:
        """The names of Bandmaster's ConfigMaps."""
        found = self._json(
            self.core.list_namespaced_config_map, namespace, label_selector="app.kubernetes.io/managed-by=bandmaster"
        )
        items: list[Json] = found["items"] or []
        return [each["metadata"]["name"] for each in items]

    def secrets(self, namespace: str) -> list[str]:
        """The names of Bandmaster's Secrets."""
        selector = "app.kubernetes.io/managed-by=bandmaster"
        found = self._json(self.core.list_namespaced_secret, namespace, label_selector=selector)
        items: list[Json] = found["items"] or []
        return [each["metadata"]["name"] for each in items]

    def let_go(self, namespace: str, name: str) -> None:
        """Let a running program that is `HELD` go on."""
        self._kubectl.run("exec", f"--namespace={namespace}", name, "--", "touch", "/tmp/go")

    def delete(self, namespace: str, name: str, **options: Any) -> None:
        """Delete a pod by hand."""
        self._json(self.core.delete_namespaced_pod, name, namespace, **options)

    def evict(self, namespace: str, name: str) -> None:
        """Have a pod evicted, as draining a node does."""
        meta = {"name": name, "namespace": namespace}
        for version in ("policy/v1", "policy/v1beta1"):  # the one of old clusters
            body = {"apiVersion": version, "kind": "Eviction", "metadata": meta}
            try:
                self._json(self.core.create_namespaced_pod_eviction, name, namespace, body)
                return
            except ApiException as error:
                if error.status != 400 or version != "policy/v1":
                    raise

    def patch(self, namespace: str, name: str, change: Json) -> None:
        """Change a pod."""
        self._json(self.core.patch_namespaced_pod, name, namespace, change)

    def patch_status(self, namespace: str, name: str, status: Json) -> None:
        """Play the kubelet."""
        self._json(self.core.patch_namespaced_pod_status, name, namespace, {"status": status})

    def create(self, namespace: str, pod: Json) -> None:
        """Create a pod that is not Bandmaster's, or looks like one."""
        self._json(self.core.create_namespaced_pod, namespace, pod)

    def add_failing_webhook(self, namespace: str) -> None:
        """From soon on, every creation of a pod in a namespace is answered by 500: its webhook is nobody's."""
        self.core.patch_namespace(namespace, {"metadata": {"labels": {"webhook": namespace}}}, _request_timeout=TIMEOUT)
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        webhook = {
            "name": "fails.bandmaster.dev",
            "clientConfig": {"service": {"namespace": namespace, "name": "nobody"}},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"webhook": namespace}},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        body = {"metadata": {"name": namespace}, "webhooks": [webhook]}
        self._admission.create_validating_webhook_configuration(body, _request_timeout=TIMEOUT)

    def remove_webhook(self, namespace: str) -> None:
        """Pods can be created again, soon."""
        self._admission.delete_validating_webhook_configuration(namespace, _request_timeout=TIMEOUT)

    def strip(self, namespace: str, name: str) -> None:
        """Take all finalizers off a pod."""
        with contextlib.suppress(ApiException):
            self.patch(namespace, name, {"metadata": {"finalizers": None}})

    def _has_account(self, namespace: str) -> bool:
        try:
            self.core.read_namespaced_service_account("default", namespace, _request_timeout=TIMEOUT)
        except ApiException as error:
            if error.status != 404:
                raise
            return False
        return True

    @staticmethod
    def _json(method: Any, *arguments: Any, **options: Any) -> Json:
        answer = method(*arguments, _preload_content=False, _request_timeout=TIMEOUT, **options)
        return json.loads(answer.data)
