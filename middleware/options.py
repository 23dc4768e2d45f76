"""The options of actors and messages as types, for programs that are checked with pyright or mypy.

`bandmaster.actor` and its actors accept only these options, so a type checker finds a misspelt name or band before
anything runs. For options of its own middleware, an application inherits from these types, or uses ``dramatiq.actor``,
which accepts any option. These types do nothing at run time: `misspelt_options.py` and `message_options.py` check the
options then.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from dramatiq import Actor

from ..scheduler.model.priority import Priority
from .intake.declared_schedules import Schedule
from .intake.unique_keys import Unique

Band = Priority | Literal["CRITICAL", "HIGH", "NORMAL", "LOW", "BACKGROUND", 0, 1, 2, 3, 4]
"""A band: 0, ``CRITICAL``, starts first."""


class _OfBoth(TypedDict, total=False):
    """Dramatiq's own options of actors and of messages; times are in milliseconds."""

    max_age: int
    max_retries: int | None
    min_backoff: int
    max_backoff: int
    time_limit: int
    notify_shutdown: bool
    store_results: bool
    result_ttl: int
    pipe_ignore: bool
    on_retry_exhausted: str


class ActorOptions(_OfBoth, total=False):
    """The options of ``@actor(…)``."""

    band: Band
    action: str
    gates: Sequence[str]
    limits: Mapping[str, int | str]
    unique: str | Unique
    schedule: str | Schedule
    runs_events: bool
    keep_unrun: bool
    retry_when: Callable[[int, BaseException], bool]
    throws: type[BaseException] | tuple[type[BaseException], ...]
    on_success: str
    on_failure: str
    pipe_target: dict[str, Any]


class MessageOptions(_OfBoth, total=False):
    """The options of ``send_with_options(…)``, beside ``args``, ``kwargs`` and ``delay``."""

    band: Band
    user_id: str | int
    gates: Sequence[str]
    unique: str | Unique | None
    execution_id: str
    scheduled_at: datetime | str
    on_success: "Actor[..., Any] | str"
    on_failure: "Actor[..., Any] | str"
