"""``Stream``: what can be followed, and what comes of it. Both clients follow the same streams.

In the flow: a function for each route that sends events; nothing here sends anything.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from ...scheduler.model.identifiers import check_execution_id
from ..answers.document import Answer
from ..answers.following import KINDS, EndTold, Told
from .call import V1, given
from .frames import Frame

T = TypeVar("T", bound=BaseModel)
RESET: Final = "reset"


class Reset(Answer):
    """Something is not known any more: what was made of earlier events has to be loaded anew."""


class Event(Answer):
    """Something that happened. Further fields, by verb, are in `model_extra`."""

    model_config = ConfigDict(extra="allow")

    event_id: str
    """To go on after it."""
    verb: str
    at: str
    execution_id: str | None = None
    user_id: str | None = None
    priority: str | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Stream(Generic[T]):
    """One thing to be followed."""

    path: str
    read: Callable[[Frame], T | None]
    """Makes an event of what came; None: it is none that this release knows."""
    is_end: Callable[[T], bool]
    """Whether nothing comes after it."""
    needs_reset: bool
    """Whether something may be missing when a connection is lost before the first event has come."""
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    last_event_id: str | None = None
    """To begin after this event."""


def events(last_event_id: str | None = None) -> Stream[Event]:
    """What happens, from now on or after the event with that id."""
    return Stream(f"{V1}/events", _event, lambda _: False, needs_reset=True, last_event_id=last_event_id)


def output(execution_id: str, tail_bytes: int | None = None) -> Stream[Told]:
    """What an execution prints, until it has ended; `tail_bytes`, so much of what was printed before."""
    check_execution_id(execution_id)
    path = f"{V1}/executions/{quote(execution_id, safe='')}/logs/follow"
    return Stream(path, _output, _is_end, needs_reset=False, query=given(tail_bytes=tail_bytes))


def _event(frame: Frame) -> Event | None:
    if frame.event_id is None:
        return None
    told = json.loads(frame.data)
    return Event.model_validate({**told, "event_id": frame.event_id} if isinstance(told, dict) else told)


def _output(frame: Frame) -> Told | None:
    kind = KINDS.get(frame.name)
    return None if kind is None else kind.model_validate_json(frame.data)


def _is_end(told: Told) -> bool:
    return isinstance(told, EndTold)
