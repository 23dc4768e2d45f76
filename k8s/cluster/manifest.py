"""Builds the pod and the ConfigMap of a specification, as the API's own JSON. Pure.

In the flow: `create.py` sends them. Only this module decides what a program may do: it is never root, gains no
privilege, sees no token, no service and no host namespace, cannot write outside of two bounded folders, and has
requests and limits. A user chooses image, command and sizes, never a part of the pod itself. That suffices for Pod
Security's `restricted` profile.

The script travels in a ConfigMap that the pod owns, so it is deleted with the pod. The pod is created first, since the
ConfigMap needs its UID; the kubelet waits until the ConfigMap exists. The ConfigMap's name has a random part and is in
the pod's spec, so an adopted pod says which ConfigMap it needs, and never gets the one of an earlier pod.
"""

import math
import secrets
from typing import Any, Final

from ...configs.areas import KubernetesSettings
from ...configs.placement import Placement
from ..errors import BackendNotAvailable, PodRejected
from ..images import check_image
from ..profiles import settings_of
from ..quantity import cpu_cores, memory_bytes
from ..runtimes import Runtime
from ..spec import PodScript, PodSpec
from . import labels
from .items import items_environment, items_mount, items_volume
from .objects import Pod
from .owning import owned_by

SCRIPT_FOLDER: Final = "/bandmaster"
OUTPUT_FOLDER: Final = "/output"
_READ_AND_RUN: Final = 0o555
#: Namespaces that everyone shares, or that belong to the cluster.
_REFUSED: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
_UNREACHABLE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")

Json = dict[str, Any]


def check_settings(settings: KubernetesSettings) -> None:
    """Check that pods can be made with these settings at all.

    Raises:
        BackendNotAvailable: If the namespace is refused, or a default quantity is invalid.
    """
    if settings.namespace in _REFUSED:
        raise BackendNotAvailable(
            f"setting k8s.namespace: {settings.namespace!r} is refused: what runs there is not kept apart from other "
            "things; use a namespace of its own"
        )
    for where, placement in (("k8s", settings), *((f"k8s.profiles.{n}", p) for n, p in settings.profiles.items())):
        try:
            _check_quantities(placement)
        except PodRejected as error:
            # The settings are wrong, not a specification: no pod at all could be made.
            raise BackendNotAvailable(f"a setting of {where}: {error}") from error


def _check_quantities(placement: Placement) -> None:
    cpu_cores(placement.cpu_request)
    cpu_cores(placement.cpu_limit)
    sizes = (placement.memory_request, placement.memory_limit, placement.tmp_size, placement.output_size)
    for size in (*sizes, *filter(None, [placement.ephemeral_storage])):
        memory_bytes(size)


def pod_manifest(spec: PodSpec, settings: KubernetesSettings) -> Json:
    """Build the pod of an attempt.

    Raises:
        PodRejected: If the image or the profile is not allowed, or the script is too long.
    """
    settings = settings_of(settings, spec.profile, spec.action)
    image = spec.image or settings.default_image
    check_image(image, settings.allowed_images)
    if spec.script is not None and (size := len(spec.script.text.encode())) > settings.max_script_bytes:
        raise PodRejected(f"the script has {size} bytes; k8s.max_script_bytes allows {settings.max_script_bytes}")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": spec.name,
            "labels": settings.labels | _labels(spec, settings),
            "annotations": settings.annotations
            | {labels.EXECUTION_ID: spec.execution_id, labels.TIMEOUT_SECONDS: f"{spec.timeout_seconds:g}"}
            | _trace(spec),
            "finalizers": [labels.FINALIZER],
        },
        "spec": _isolation(settings)
        | _nodes(settings)
        | {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": longest_seconds(spec, settings),
            "terminationGracePeriodSeconds": settings.termination_grace_seconds,
            "imagePullSecrets": [{"name": name} for name in settings.image_pull_secrets],
            "volumes": _volumes(spec, settings),
            "containers": [_container(spec, image, settings)],
        },
    }


def longest_seconds(spec: PodSpec, settings: KubernetesSettings) -> int:
    """How long a pod may take to start, run and end if nobody watches it, counted from when the kubelet first saw it.

    The program's own timeout is shorter, and `overdue.py` sets the deadline to it.
    """
    return settings.pending_deadline_seconds + math.ceil(spec.timeout_seconds) + settings.termination_grace_seconds


def script_of(pod: Pod) -> str | None:
    """The name of the ConfigMap that a pod needs, if it runs a script."""
    sources = {volume.name: volume.config_map for volume in pod.spec.volumes}
    source = sources.get(labels.SCRIPT_VOLUME)
    return source.name if source is not None else None


def script_manifest(name: str, script: PodScript, pod: Pod) -> Json:
    """Build the ConfigMap with a pod's script."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "immutable": True,
        "metadata": owned_by(pod, name),
        "data": {labels.SCRIPT_KEY: script.text},
    }


def _labels(spec: PodSpec, settings: KubernetesSettings) -> dict[str, str]:
    found = {
        labels.MANAGED_BY: labels.BANDMASTER,
        labels.INSTALLATION: settings.installation,
        labels.EXECUTION: labels.label_value(spec.execution_id),
        labels.ATTEMPT: str(spec.attempt),
        labels.ACTION: labels.label_value(spec.action),
    }
    return found if spec.user_id is None else found | {labels.USER: labels.digest(spec.user_id)}


def _trace(spec: PodSpec) -> dict[str, str]:
    if spec.trace is None:
        return {}
    both = {labels.TRACEPARENT: spec.trace.traceparent, labels.TRACESTATE: spec.trace.tracestate}
    return {name: value for name, value in both.items() if value}


def _isolation(settings: KubernetesSettings) -> Json:
    found: Json = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": settings.run_as_user,
            "runAsGroup": settings.run_as_user,
            "fsGroup": settings.run_as_user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    if settings.user_namespaces:
        found["hostUsers"] = False
    if settings.init_process:
        found["shareProcessNamespace"] = True
    if settings.service_account:
        found["serviceAccountName"] = settings.service_account
    if settings.runtime_class:
        found["runtimeClassName"] = settings.runtime_class
    return found


def _nodes(settings: KubernetesSettings) -> Json:
    """Where the pod may run, and with which priority."""
    lost = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": settings.node_lost_seconds}
    found: Json = {"tolerations": [*settings.tolerations, *({"key": key} | lost for key in _UNREACHABLE)]}
    if settings.node_selector:
        found["nodeSelector"] = settings.node_selector
    if settings.affinity:
        found["affinity"] = settings.affinity
    if settings.priority_class:
        found["priorityClassName"] = settings.priority_class
    return found


def _container(spec: PodSpec, image: str, settings: KubernetesSettings) -> Json:
    command = list(spec.command or ()) if spec.script is None else _script_command(spec.script)
    mounts: list[Json] = [{"name": "tmp", "mountPath": "/tmp"}, {"name": "output", "mountPath": OUTPUT_FOLDER}]
    found: Json = {
        "name": labels.CONTAINER,
        "image": image,
        "imagePullPolicy": settings.image_pull_policy,
        # Kubernetes expands $(NAME) and reduces $$ to $ in a command: double every $, so that it arrives unchanged.
        "command": [argument.replace("$", "$$") for argument in command],
        # Values are expanded as well; a tracestate may have a $.
        "env": [{"name": name, "value": value.replace("$", "$$")} for name, value in _environment(spec).items()],
        "resources": _resources(spec, settings),
        "securityContext": {
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }
    if spec.script is not None:
        mounts.append({"name": labels.SCRIPT_VOLUME, "mountPath": SCRIPT_FOLDER, "readOnly": True})
        # A command runs in its image's working directory, a script in a folder that it may write to.
        found["workingDir"] = OUTPUT_FOLDER
    if spec.items_file is not None:
        mounts.append(items_mount())
    return found


def _script_command(script: PodScript) -> list[str]:
    path = f"{SCRIPT_FOLDER}/{script.resolved_file_name}"
    match script.resolved_runtime:
        case Runtime.ITSELF:
            return [path]
        case Runtime.PYTHON:
            return ["python3", path]
        case Runtime.PROGRAM:
            return [script.runtime or "", path]
        case runtime:
            return [runtime.value, path]


def _environment(spec: PodSpec) -> dict[str, str]:
    return {
        "HOME": OUTPUT_FOLDER,
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",  # so that a log can be followed, and a killed script leaves what it printed
        **spec.identity,
        **items_environment(spec),
    }


def _resources(spec: PodSpec, settings: KubernetesSettings) -> Json:
    # The specification's values override the defaults; a default is adjusted if its request would exceed its limit.
    cpu_limit = spec.cpu_limit or max(settings.cpu_limit, spec.cpu_request or settings.cpu_limit, key=cpu_cores)
    memory_limit = spec.memory_limit or max(
        settings.memory_limit, spec.memory_request or settings.memory_limit, key=memory_bytes
    )
    # These are both requested and limited: devices have to be, and disk space should be reserved.
    others = {name: str(number) for name, number in settings.extended_resources.items()}
    if settings.ephemeral_storage:
        others["ephemeral-storage"] = settings.ephemeral_storage
    return {
        "requests": others
        | {
            "cpu": spec.cpu_request or min(settings.cpu_request, cpu_limit, key=cpu_cores),
            "memory": spec.memory_request or min(settings.memory_request, memory_limit, key=memory_bytes),
        },
        "limits": others | {"cpu": cpu_limit, "memory": memory_limit},
    }


def _volumes(spec: PodSpec, settings: KubernetesSettings) -> list[Json]:
    volumes: list[Json] = [
        {"name": "tmp", "emptyDir": {"sizeLimit": settings.tmp_size}},
        {"name": "output", "emptyDir": {"sizeLimit": settings.output_size}},
    ]
    if spec.script is not None:
        file = {"key": labels.SCRIPT_KEY, "path": spec.script.resolved_file_name, "mode": _READ_AND_RUN}
        name = f"{spec.name}-{secrets.token_hex(4)}"
        volumes.append({"name": labels.SCRIPT_VOLUME, "configMap": {"name": name, "items": [file]}})
    if spec.items_file is not None:
        volumes.append(items_volume(spec))
    return volumes
