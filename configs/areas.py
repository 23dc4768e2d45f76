"""The sections of the settings, one frozen class for each, with the unit and default of every field.

The defaults are sufficient: a worker, a test or a library user needs no settings at all. `configs/bandmaster.toml`
lists all settings, and a test compares the two. `settings.py` reads the values.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_serializer, field_validator, model_validator

from .area import Area, tables, texts
from .errors import SettingsError
from .placement import Placement, Profile
from .prefix import NAMESPACE, PREFIX, prefix_of
from .redaction import redacted_url
from .redis_url import checked_redis_url


class RedisSettings(Area, frozen=True):
    """The Redis server that holds the state of all waiting and running executions."""

    url: str | None = None
    """redis://, rediss://, unix:// or redis+sentinel:// URL; none: the embedded server, found through its socket under
    `paths.var_dir`."""
    prefix: str = Field(default=PREFIX, pattern=r"^[!-z{|}~]{1,80}$")
    """Before every key; `{exec_queue}` puts all keys in one cluster slot; not set: it follows `dramatiq_namespace`."""
    dramatiq_namespace: str = Field(default=NAMESPACE, pattern=r"^[!-z{|}~]{1,64}$")
    """The prefix of all of Dramatiq's own keys, for actors without gates."""
    socket_timeout_seconds: float = Field(default=5, gt=0)
    """How long one answer may take; blocking commands wait less than this."""
    deadline_seconds: float = Field(default=5, gt=0, le=20)
    """How long a call of the queue may take in all, retries included; below the time after which a probe fails."""
    max_message_bytes: int = Field(default=1_048_576, ge=1_024)
    """The size limit of a gated actor's message; a longer one is refused."""
    connect_wait_seconds: float = Field(default=30, ge=0)
    """How long a starting process waits for the server."""

    @model_validator(mode="after")
    def _prefix_follows_namespace(self) -> "RedisSettings":
        if "prefix" not in self.model_fields_set:
            # `self` is frozen, hence __setattr__ of object; so the field still counts as not set.
            object.__setattr__(self, "prefix", prefix_of(self.dramatiq_namespace))
        return self

    @field_validator("url")
    @classmethod
    def _a_redis_url(cls, value: str | None) -> str | None:
        return None if value is None else checked_redis_url(value)

    @property
    def command_timeout_seconds(self) -> float:
        """How long one of Dramatiq's commands may take: each is sent once, and takes no longer than a call."""
        return min(self.socket_timeout_seconds, self.deadline_seconds)

    @field_serializer("url")
    def _without_password(self, value: str | None) -> str | None:
        return None if value is None else redacted_url(value)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, redacted_url(value) if name == "url" and isinstance(value, str) else value


class LimitSettings(Area, frozen=True):
    """How many executions may wait and run in lane `executions`, and how many may run in all lanes; these are the
    initial values of the runtime settings in Redis."""

    max_concurrent: int | None = Field(default=None, ge=0)
    """How many executions may hold a slot at the same time in all lanes together; none: no such limit; 0: nothing
    starts."""
    max_concurrent_executions: int = Field(default=10, ge=0)
    """How many executions may hold a slot at the same time; 0: nothing starts."""
    max_queue_size: int = Field(default=10_000, ge=1)
    """How many executions may wait; one more is refused (QueueFull)."""
    max_executions_per_user: int = Field(default=100, ge=1)
    """How many executions of one user may wait; one more is refused (UserLimitExceeded)."""
    stale_timeout_seconds: int = Field(default=3_600, ge=1)
    """An execution that waits longer than this ends as EXPIRED."""
    ageing_seconds: int | None = Field(default=None, ge=1)
    """An execution that waits so long in a band below HIGH rises by one; none: it stays in its band."""


class LeaseSettings(Area, frozen=True):
    """The lengths of leases, and what happens when they run out."""

    lease_ttl_ms: int = Field(default=30_000, ge=100)
    """The lease of a grant that a worker's thread holds; the worker renews it three times in this time."""
    pod_lease_ttl_ms: int = Field(default=60_000, ge=100)
    """The lease of a grant that was handed over to a pod."""
    max_crashes: int = Field(default=3, ge=0)
    """How many lost leases an execution survives; after one more it is dead-lettered."""
    start_deadline_ms: int = Field(default=300_000, ge=0)
    """For a grant that nobody renews (`try_schedule`): the time until its program starts, as for pulling an image. Its
    lease is the sum of this, the event's timeout and `grace_ms`. Not set: follows `k8s.pending_deadline_seconds`."""
    grace_ms: int = Field(default=30_000, ge=0)
    """The last part of that lease, for the program's end; not set: longer than `k8s.termination_grace_seconds`."""


class SchedulerSettings(Area, frozen=True):
    """The periodic repairs and the election of their leader."""

    interval_seconds: float = Field(default=10, gt=0)
    """The time between two runs of `try_schedule`."""
    misfire_grace_seconds: int = Field(default=30, ge=1)
    """A run that is later than this is left out."""
    leader_ttl_ms: int = Field(default=10_000, ge=100)
    """How long a leader leads without renewing."""


class RetentionSettings(Area, frozen=True):
    """How long Redis keeps data."""

    meta_ttl_seconds: int = Field(default=86_400, ge=1)
    """The record of an ended execution; for as long, its id is recognised as a duplicate."""
    direct_ttl_seconds: int = Field(default=600, ge=1)
    """The same for messages sent directly to `BandedRedisBroker` under an id that Dramatiq made up; longer than their
    senders repeat a send."""
    result_ttl_seconds: int = Field(default=86_400, ge=1)
    """Exit code, reason and the output's tail."""
    reply_ttl_seconds: int = Field(default=600, ge=1)
    """The last answer to each caller; longer than the longest retry."""
    dead_message_ttl_seconds: int = Field(default=604_800, ge=1)
    """Dead letters with all their data, and ends that no worker has reported to their senders yet."""
    max_dead_messages: int = Field(default=10_000, ge=1)
    """How many dead letters are kept, and how many unreported ends of each lane for which no worker has asked in an
    hour; of more, the oldest are forgotten."""
    journal_max_bytes: int = Field(default=67_108_864, ge=1_048_576)
    """How much of the server's memory the journal takes: of a full one the oldest entries are dropped. With a ledger it
    seldom gets full, as what the ledger has is dropped after `ledger.keep_journal_seconds`."""


_RUNTIME_AREAS: Final = (LimitSettings, LeaseSettings, RetentionSettings)
"""The sections with the initial values of the runtime settings in Redis, which have the same names."""


def least_of(name: str) -> int:
    """Return the least value of a runtime setting; 0 if these sections do not have it."""
    for area in _RUNTIME_AREAS:
        if name in area.model_fields:
            return next((each.ge for each in area.model_fields[name].metadata if hasattr(each, "ge")), 0)
    return 0


class KubernetesSettings(Placement, frozen=True):
    """Where executions run, and their default image and resources."""

    backend: Literal["local", "kubernetes"] = "local"
    """`local`: child processes on this machine; `kubernetes`: pods."""
    namespace: str = Field(default="bandmaster", pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    """The pods' namespace."""
    installation: str = Field(default="bandmaster", pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")
    """The name that marks this installation's pods; installations that share a namespace need different names."""
    allowed_images: tuple[str, ...] = ()
    """Images an execution may name, as patterns of repository, tag and digest (`k8s/images.py`); none: any. As an
    environment variable: `one,two`."""
    max_script_bytes: int = Field(default=524_288, ge=1, le=1_048_576)
    """The size limit of a script; etcd, whose space the whole cluster shares, holds each one while its pod runs."""
    profiles: dict[Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")], Profile] = Field(default={})
    """Name → the settings of an execution that names this profile (`metadata.profile`); no other may be named. As an
    environment variable: JSON, as for all tables."""
    kubeconfig: str = ""
    """The file that says how to reach the cluster; empty: a pod's own service account, else KUBECONFIG, else
    ~/.kube/config."""
    context: str = ""
    """The context in the kubeconfig; empty: its current one."""
    request_timeout_seconds: float = Field(default=10, gt=0)
    """How long one answer of the API server may take."""
    pending_deadline_seconds: int = Field(default=300, ge=1)
    """How long a pod may take to start; after that it is deleted, and its execution ends with the reason."""
    node_lost_seconds: int = Field(default=60, ge=1)
    """How long a pod's node may be out of reach before the pod is deleted; the node's answer frees its slot."""
    termination_grace_seconds: int = Field(default=5, ge=1, le=3_600)
    """The time between TERM and KILL."""
    pod_ttl_seconds: int = Field(default=300, ge=0)
    """How long an ended pod is kept after its result was stored, for its log."""

    _image_list = field_validator("allowed_images", mode="before")(texts)
    _profile_table = field_validator("profiles", mode="before")(tables)


class PathSettings(Area, frozen=True):
    """The folders for files."""

    var_dir: Path = Path("var")
    """The data of local runs (embedded server, local pods); relative to the folder in which the process was started."""

    pulse_dir: Path | None = None
    """The folder in which each worker and scheduler process keeps its health file for a probe
    (`configs/deploy/probe.py`); none: there are no health files."""

    @property
    def ledger_file(self) -> Path:
        """Where the ledger is unless `ledger.url` names another database. Raises SettingsError, as `absolute` does."""
        return self.absolute / "ledger.sqlite3"

    @property
    def absolute(self) -> Path:
        """`var_dir` as an absolute path, without following links, so that every process gets the same.

        Raises:
            SettingsError: If it is relative to a current folder that was deleted.
        """
        try:
            return Path(os.path.abspath(self.var_dir.expanduser()))
        except FileNotFoundError:
            raise SettingsError(
                f"the current folder was deleted, and {str(self.var_dir)!r} (BANDMASTER_PATHS__VAR_DIR) is relative to "
                "it: change to another folder"
            ) from None


class LoggingSettings(Area, frozen=True):
    """The level and the format of logs."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The least important level that is shown."""
    format: Literal["console", "json"] = "console"
    """`console`: for people; `json`: one object a line."""

    @field_validator("level", mode="before")
    @classmethod
    def _in_any_case(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value
