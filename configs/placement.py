"""Settings of pods (image, resources, nodes): defaults for all pods, and profiles that override some of them.

In the flow: `k8s/profiles.py`, which makes the settings of one execution, and `k8s/cluster/manifest.py` read them. A
user names a profile and never writes a part of a pod. An operator writes tolerations and affinity as in the API.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator

from .area import Area, tables, texts

_NAME: Final = r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$"
_LABEL_NAME: Final = r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"
_TOLERATION: Final = {"key", "operator", "value", "effect", "tolerationSeconds"}

LabelName = Annotated[str, Field(pattern=_LABEL_NAME)]
LabelValue = Annotated[str, Field(pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$")]


class Placement(Area, frozen=True):
    """What every pod gets, and where it may run."""

    default_image: str = Field(default="python:3.11-slim", min_length=1)
    """The image of an execution that names none."""
    cpu_request: str = Field(default="100m", min_length=1)
    """Cores, as a Kubernetes quantity, for an execution that gives none; likewise the next three."""
    cpu_limit: str = Field(default="1", min_length=1)
    memory_request: str = Field(default="128Mi", min_length=1)
    """Bytes, as a Kubernetes quantity."""
    memory_limit: str = Field(default="512Mi", min_length=1)
    ephemeral_storage: str = ""
    """Bytes of a node's disk, as request and limit, with /tmp, /output and the log included; empty: neither is set."""
    extended_resources: dict[LabelName, Annotated[int, Field(ge=1)]] = Field(default={})
    """Devices, such as `"nvidia.com/gpu" = 1`."""
    tmp_size: str = Field(default="64Mi", min_length=1)
    """How much a program may write to /tmp."""
    output_size: str = Field(default="256Mi", min_length=1)
    """How much it may write to /output, its home."""
    image_pull_policy: Literal["IfNotPresent", "Always", "Never"] = "IfNotPresent"
    """When a node fetches an image. `Always` keeps users from running each other's private images off a node."""
    image_pull_secrets: tuple[str, ...] = ()
    """Secrets in the namespace with which nodes log in to a registry. As an environment variable: `one,two`."""
    service_account: str = Field(default="", pattern=_NAME)
    """The pods' service account, of which they get no token; empty: the namespace's default."""
    runtime_class: str = Field(default="", pattern=_NAME)
    """A sandbox for untrusted programs, such as `gvisor`; empty: the cluster's default."""
    user_namespaces: bool = False
    """Whether pods get a user namespace of their own (`hostUsers: false`), which not all nodes support."""
    init_process: bool = False
    """Whether the first process of a pod is the node's small init (`shareProcessNamespace`). It reaps zombies, and TERM
    then ends programs that do not handle it; injected containers and the program see each other's processes."""
    run_as_user: int = Field(default=65_532, ge=1, lt=2**31)
    """User and group of every program; never root."""
    node_selector: dict[LabelName, LabelValue] = Field(default={})
    """Labels of the nodes on which pods may run."""
    tolerations: tuple[dict[str, str | int], ...] = ()
    """Tolerations of nodes' taints, as in a pod's specification."""
    affinity: dict[str, Any] = Field(default={})
    """Affinity, as in a pod's specification."""
    priority_class: str = Field(default="", pattern=_NAME)
    """The pods' PriorityClass in the cluster; empty: the cluster's default. It has nothing to do with bands."""
    labels: dict[LabelName, LabelValue] = Field(default={})
    """Further labels of the pods; Bandmaster's own labels override them."""
    annotations: dict[LabelName, str] = Field(default={})
    """Further annotations of the pods; Bandmaster's own override them."""

    _texts = field_validator("image_pull_secrets", mode="before")(texts)
    _tables = field_validator(
        "extended_resources", "node_selector", "tolerations", "affinity", "labels", "annotations", mode="before"
    )(tables)

    @field_validator("tolerations")
    @classmethod
    def _as_the_api_writes_them(cls, value: tuple[dict[str, str | int], ...]) -> tuple[dict[str, str | int], ...]:
        if unknown := {name for toleration in value for name in toleration} - _TOLERATION:
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}; allowed: {', '.join(sorted(_TOLERATION))}")
        return value


class Profile(Placement, frozen=True):
    """Settings for executions that name the profile; those that it does not give keep their values for all pods."""

    actions: tuple[str, ...] = ()
    """The actions whose executions may name it; none: all."""

    _actions = field_validator("actions", mode="before")(texts)
