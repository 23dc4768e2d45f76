"""What the API server sends, as far as Bandmaster reads it: typed, frozen, parsed straight from the answer's bytes.

In the flow: `client.py` parses every answer into one of these; nothing further in sees a raw dict. Fields that are not
read are left out, and anything a newer cluster adds is ignored. Field names are the API's, in this language's spelling.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel


class Wire(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Owner(Wire):
    """Whose deletion takes the object along."""

    uid: str
    kind: str
    name: str


class Metadata(Wire):
    """What every object has."""

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
    """At most one of the three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Wire):
    """What the kubelet says about a container."""

    name: str
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class Condition(Wire):
    """What somebody in the cluster says about a pod, such as PodScheduled or DisruptionTarget."""

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
    """Which ConfigMap a volume shows."""

    name: str = ""


class Volume(Wire):
    """A pod's volume."""

    name: str
    config_map: ConfigMapSource | None = None


class Spec(Wire):
    """What was asked for."""

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
        """Unique, also among pods that have the same name one after the other."""
        return self.metadata.uid

    @property
    def deleting(self) -> bool:
        """Whether its deletion was asked for."""
        return self.metadata.deletion_timestamp is not None


class ListMetadata(Wire):
    """Where a list ends, and where a watch may begin."""

    resource_version: str = ""
    continue_: str = Field(default="", alias="continue")


class PodList(Wire):
    """A page of pods."""

    metadata: ListMetadata
    items: tuple[Pod, ...] | None = None


class Bare(Wire):
    """An object of which only the metadata was asked for."""

    metadata: Metadata


class BareList(Wire):
    """A page of those."""

    metadata: ListMetadata
    items: tuple[Bare, ...] | None = None


class PodNews(Wire):
    """What somebody in the cluster did for a pod, or failed to: the API's Event."""

    metadata: Metadata
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None

    @property
    def at(self) -> datetime:
        """When it was last said."""
        return self.last_timestamp or self.event_time or self.metadata.creation_timestamp


class PodNewsList(Wire):
    """A page of those."""

    metadata: ListMetadata
    items: tuple[PodNews, ...] | None = None


class ApiStatus(Wire):
    """How the API server says what went wrong."""

    code: int = 0
    reason: str = ""
    message: str = ""


class Mark(Wire):
    """A bookmark's object: nothing but a version."""

    metadata: ListMetadata


class PodEvent(Wire):
    """Something became of a pod."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Pod


class BookmarkEvent(Wire):
    """Nothing happened up to this version."""

    type: Literal["BOOKMARK"]
    object: Mark


class ErrorEvent(Wire):
    """The watch cannot go on."""

    type: Literal["ERROR"]
    object: ApiStatus


Event = PodEvent | BookmarkEvent | ErrorEvent
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


def read_event(line: bytes) -> Event:
    """One line of a watch.

    Raises:
        pydantic.ValidationError: It is none.
    """
    return _EVENT.validate_json(line)
