"""What Kubernetes says of an object: the schemas of its releases, and the Pod Security Standard `restricted`.

The schemas are those of the package ``kubernetes-validate``, in their strict form, in which an unknown field is an
error. The standard is here as it is written down (https://kubernetes.io/docs/concepts/security/pod-security-standards/),
control by control, since a cluster older than 1.23 has no admission that would apply it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import kubernetes_validate

#: From the first release with all that the manifests use to the newest that the package knows.
RELEASES: Final = tuple(f"1.{minor}" for minor in range(29, 38))
#: An object as the API takes it.
Object = Mapping[str, Any]

_VOLUMES: Final = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
_SECCOMP: Final = ("RuntimeDefault", "Localhost")
_SELINUX_TYPES: Final = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SYSCTLS: Final = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
}


def schema_fault(found: Object, release: str) -> str | None:
    """What a release's schema has against an object; None: nothing."""
    try:
        used = kubernetes_validate.validate(dict(found), release, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{found['kind']} in {release}: {error.json_path}: {error.message}"
    assert used == release, "the package has no schema of this release"
    return None


def restricted_faults(pod: Object) -> list[str]:
    """What `restricted` has against a pod's specification, `baseline` included."""
    return [
        *_pod_faults(pod),
        *(f"{each['name']}: {fault}" for each in _containers(pod) for fault in _faults(each, pod)),
    ]


def _part(found: Object, name: str) -> Object:
    return found.get(name) or dict[str, Any]()


def _list(found: Object, name: str) -> Sequence[Any]:
    return found.get(name) or ()


def _containers(pod: Object) -> list[Object]:
    return [each for kind in ("containers", "initContainers", "ephemeralContainers") for each in _list(pod, kind)]


def _pod_faults(pod: Object) -> Iterator[str]:
    security = _part(pod, "securityContext")
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield f"Host Namespaces: {name}"
    for volume in _list(pod, "volumes"):
        if not set(volume) - {"name"} <= _VOLUMES:
            yield f"Volume Types: {volume}"
    if unsafe := {each["name"] for each in _list(security, "sysctls")} - _SYSCTLS:
        yield f"Sysctls: {unsafe}"
    if _part(security, "windowsOptions").get("hostProcess"):
        yield "HostProcess"
    yield from _shared_faults(security)


def _faults(container: Object, pod: Object) -> Iterator[str]:
    own = _part(container, "securityContext")
    # What a container does not say, its pod says for it.
    both = {**_part(pod, "securityContext"), **own}
    capabilities = _part(own, "capabilities")
    if own.get("privileged"):
        yield "Privileged Containers"
    if own.get("allowPrivilegeEscalation") is not False:
        yield "Privilege Escalation"
    if "ALL" not in _list(capabilities, "drop") or set(_list(capabilities, "add")) - {"NET_BIND_SERVICE"}:
        yield f"Capabilities: {capabilities}"
    if both.get("runAsNonRoot") is not True:
        yield "Running as Non-root"
    if both.get("runAsUser") == 0:
        yield "Running as Non-root user"
    if _part(both, "seccompProfile").get("type") not in _SECCOMP:
        yield "Seccomp"
    if own.get("procMount", "Default") != "Default":
        yield "/proc Mount Type"
    if any(port.get("hostPort") for port in _list(container, "ports")):
        yield "Host Ports"
    yield from (f"Host Probes: {name}" for name, probe in _handlers(container) if _names_host(probe))
    yield from _shared_faults(own)


def _shared_faults(security: Object) -> Iterator[str]:
    """The controls of fields that a pod and its containers have alike."""
    selinux = _part(security, "seLinuxOptions")
    if selinux.get("type", "") not in _SELINUX_TYPES or selinux.get("user") or selinux.get("role"):
        yield f"SELinux: {selinux}"
    if _part(security, "appArmorProfile").get("type", "RuntimeDefault") == "Unconfined":
        yield "AppArmor"
    if security.get("seccompProfile", {"type": _SECCOMP[0]}).get("type") not in _SECCOMP:
        yield "Seccomp"


def _handlers(container: Object) -> Iterator[tuple[str, Object]]:
    yield from ((name, _part(container, name)) for name in ("livenessProbe", "readinessProbe", "startupProbe"))
    yield from _part(container, "lifecycle").items()


def _names_host(handler: Object) -> bool:
    return any(_part(handler, kind).get("host") for kind in ("httpGet", "tcpSocket"))
