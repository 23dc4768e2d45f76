"""What a pod gets and where it runs: the defaults of all, and profiles that override some of them for who names one.

In the flow: read by `k8s/profiles.py`, which makes the settings of one execution, and by `k8s/cluster/manifest.py`. A
user names a profile and never writes a part of a pod; an operator writes tolerations and affinity as the API does.
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
    """For an execution that names none."""
    cpu_request: str = Field(default="100m", min_length=1)
    """Cores, as a Kubernetes quantity, for an execution that names none; likewise below."""
    cpu_limit: str = Field(default="1", min_length=1)
    memory_request: str = Field(default="128Mi", min_length=1)
    """Bytes, as a Kubernetes quantity."""
    memory_limit: str = Field(default="512Mi", min_length=1)
    ephemeral_storage: str = ""
    """Bytes of a node's disk, requested and allowed, /tmp, /output and the log included; empty: neither."""
    extended_resources: dict[LabelName, Annotated[int, Field(ge=1)]] = Field(default={})
    """Devices, such as `"nvidia.com/gpu" = 1`."""
    tmp_size: str = Field(default="64Mi", min_length=1)
    """What a program may write to /tmp."""
    output_size: str = Field(default="256Mi", min_length=1)
    """What it may write to /output, its home."""
    image_pull_policy: Literal["IfNotPresent", "Always", "Never"] = "IfNotPresent"
    """When a node fetches an image. `Always` keeps users from running each other's private images off a node."""
    image_pull_secrets: tuple[str, ...] = ()
    """Secrets in the namespace with which nodes log in at a registry. As an environment variable: `one,two`."""
    service_account: str = Field(default="", pattern=_NAME)
    """Of the pods, which get no token of it; empty: the namespace's default."""
    runtime_class: str = Field(default="", pattern=_NAME)
    """A sandbox for untrusted programs, such as `gvisor`; empty: the cluster's default."""
    user_namespaces: bool = False
    """Whether pods get a user namespace of their own (`hostUsers: false`), which not all nodes can give."""
    init_process: bool = False
    """Whether the first process of a pod is the node's own small init (`shareProcessNamespace`), which reaps, and lets
    TERM end a program that does not handle it; injected containers and the program then see each other's processes."""
    run_as_user: int = Field(default=65_532, ge=1, lt=2**31)
    """User and group of every program; never root."""
    node_selector: dict[LabelName, LabelValue] = Field(default={})
    """Labels of the nodes on which pods may run."""
    tolerations: tuple[dict[str, str | int], ...] = ()
    """Of nodes' taints, as in a pod's specification."""
    affinity: dict[str, Any] = Field(default={})
    """As in a pod's specification."""
    priority_class: str = Field(default="", pattern=_NAME)
    """Of the pods among all of the cluster's; empty: the cluster's default. It has nothing to do with bands."""
    labels: dict[LabelName, LabelValue] = Field(default={})
    """Further labels of the pods; Bandmaster's own go before them."""
    annotations: dict[LabelName, str] = Field(default={})
    """Further annotations, likewise."""

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
    """What of it holds for who names the profile; what it does not say stays as it is for all."""

    actions: tuple[str, ...] = ()
    """Which may name it; none: any."""

    _actions = field_validator("actions", mode="before")(texts)
