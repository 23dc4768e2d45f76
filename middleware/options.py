"""The options of actors and of messages as types, for who checks programs with pyright or mypy.

`bandmaster.actor` and what it declares take these and nothing else, so that a misspelt name or band is found before
anything runs. The options of an application's own middleware are declared by inheriting from these, or are passed by
``dramatiq.actor``, which takes everything. Nothing here is looked at when a program runs: `misspelt_options.py` and
`message_options.py` do that.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from dramatiq import Actor

from ..scheduler.model.priority import Priority

Band = Priority | Literal["CRITICAL", "HIGH", "NORMAL", "LOW", "BACKGROUND", 0, 1, 2, 3, 4]
"""0, ``CRITICAL``, starts first."""


class _OfBoth(TypedDict, total=False):
    """Dramatiq's, each in milliseconds where it is a time."""

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
    """What may stand in ``@actor(…)``."""

    band: Band
    action: str
    gates: Sequence[str]
    limits: Mapping[str, int]
    runs_events: bool
    keep_unrun: bool
    retry_when: Callable[[int, BaseException], bool]
    throws: type[BaseException] | tuple[type[BaseException], ...]
    on_success: str
    on_failure: str
    pipe_target: dict[str, Any]


class MessageOptions(_OfBoth, total=False):
    """What may stand in ``send_with_options(…)``, beside ``args``, ``kwargs`` and ``delay``."""

    band: Band
    user_id: str | int
    gates: Sequence[str]
    execution_id: str
    scheduled_at: datetime | str
    on_success: "Actor[..., Any] | str"
    on_failure: "Actor[..., Any] | str"
