"""The API server's objects, as far as Bandmaster reads them: typed, frozen, parsed straight from the answer's bytes.

In the flow: `client.py` parses every answer into one of these; no other module sees a raw dict. Fields that Bandmaster
does not read are left out, and fields that a newer cluster adds are ignored. Field names are the API's, in snake case.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel


class Wire(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Owner(Wire):
    """An owner reference: the object is deleted with its owner."""

    uid: str
    kind: str
    name: str


class Metadata(Wire):
    """The metadata of an object."""

    name: str
    uid: str
    creation_timestamp: datetime
    resource_version: str = ""
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    annotations: dict[str, str] = Field(default_factory=dict[str, str])
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[Owner, ...] = ()


class Waiting(Wire):
    """A container that has not started."""

    reason: str = ""
    message: str = ""


class Running(Wire):
    """A container that runs."""

    started_at: datetime | None = None


class Terminated(Wire):
    """A container that has ended."""

    exit_code: int
    signal: int | None = None
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerState(Wire):
    """A container's state: at most one of the three is set."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Wire):
    """The status of a container, reported by the kubelet."""

    name: str
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class Condition(Wire):
    """A condition of a pod, such as PodScheduled or DisruptionTarget."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class Status(Wire):
    """A pod's status."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class ConfigMapSource(Wire):
    """The ConfigMap that a volume contains."""

    name: str = ""


class SecretSource(Wire):
    """The Secret that a volume contains."""

    secret_name: str = ""


class Volume(Wire):
    """A pod's volume."""

    name: str
    config_map: ConfigMapSource | None = None
    secret: SecretSource | None = None


class Spec(Wire):
    """A pod's specification."""

    node_name: str = ""
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int = 30
    volumes: tuple[Volume, ...] = ()


class Pod(Wire):
    """A pod."""

    metadata: Metadata
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def uid(self) -> str:
        """Its UID, unique also among successive pods of the same name."""
        return self.metadata.uid

    @property
    def deleting(self) -> bool:
        """Whether its deletion was requested."""
        return self.metadata.deletion_timestamp is not None


class ListMetadata(Wire):
    """The metadata of a list: the version from which a watch may begin, and the token of the next page."""

    resource_version: str = ""
    continue_: str = Field(default="", alias="continue")


class PodList(Wire):
    """A page of pods."""

    metadata: ListMetadata
    items: tuple[Pod, ...] | None = None


class Bare(Wire):
    """An object of which only the metadata was requested."""

    metadata: Metadata


class BareList(Wire):
    """A page of such objects."""

    metadata: ListMetadata
    items: tuple[Bare, ...] | None = None


class PodNews(Wire):
    """An event about a pod (the API's Event): something that a component of the cluster did for it, or failed to do."""

    metadata: Metadata
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None

    @property
    def at(self) -> datetime:
        """When it last occurred."""
        return self.last_timestamp or self.event_time or self.metadata.creation_timestamp


class PodNewsList(Wire):
    """A page of such events."""

    metadata: ListMetadata
    items: tuple[PodNews, ...] | None = None


class ApiStatus(Wire):
    """The API server's description of a failure: the API's Status."""

    code: int = 0
    reason: str = ""
    message: str = ""


class Mark(Wire):
    """A bookmark's object, which has only a version."""

    metadata: ListMetadata


class PodEvent(Wire):
    """A pod was added, modified or deleted."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Pod


class BookmarkEvent(Wire):
    """A bookmark: all changes up to this version were sent."""

    type: Literal["BOOKMARK"]
    object: Mark


class ErrorEvent(Wire):
    """The watch cannot go on."""

    type: Literal["ERROR"]
    object: ApiStatus


Event = PodEvent | BookmarkEvent | ErrorEvent
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


def read_event(line: bytes) -> Event:
    """Parse one line of a watch.

    Raises:
        pydantic.ValidationError: The line is not an event.
    """
    return _EVENT.validate_json(line)
