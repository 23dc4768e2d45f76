"""Every error Bandmaster raises on purpose, in one tree.

::

    BandmasterError
    ├── QueueRejected          also a Dramatiq MiddlewareError: send() raised, nothing was kept
    │   ├── QueueFull
    │   ├── UserLimitExceeded
    │   ├── DuplicateExecution
    │   ├── NotUnique
    │   └── InvalidRequest     also a ValueError
    ├── QueueUnavailable       also a Dramatiq MiddlewareError: Redis did not answer, or has no memory left
    │   └── UnknownFormat
    ├── StaleGrant
    ├── NotLeader
    ├── UnknownExecution
    ├── AmbiguousExecution
    ├── NotRunnable
    ├── SettingChanged
    ├── OnAnotherShard
    ├── UnknownSchedule
    └── ScheduleExists

Dramatiq's hooks fail open: an ordinary exception in a hook is logged, and the actor runs all the same. Only a
`MiddlewareError` stops a message, so QueueRejected and QueueUnavailable are subclasses of it. Each error's message says
what was wrong, with which value, and what to do.
"""

from typing import ClassVar

from dramatiq.middleware import MiddlewareError

from .states import State

SHOWN_CHARS = 80
"""A refused value is shown with at most this many characters."""


def shown(value: object) -> str:
    """Return a refused value as an error message may show it: shortened, and escaped by `repr`, so that it cannot forge
    lines or colours.

    A container or an object is shown by its type only, since its content may be a payload.
    """
    if isinstance(value, str | bytes):
        # Cut before repr as well: escaping a whole megabyte to show 80 characters would be waste.
        text = repr(value[: SHOWN_CHARS + 1])
    elif value is None or isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= SHOWN_CHARS):
        text = repr(value)
    else:
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


class BandmasterError(Exception):
    """Bandmaster could not do something that it was asked to do."""

    def __reduce__(self) -> tuple[object, ...]:
        # The constructors take keywords, so pickle's default (call the class with `args`) could not rebuild an error.
        return _rebuilt, (type(self), self.args, dict(self.__dict__))


def _rebuilt(error: type[BandmasterError], args: tuple[object, ...], state: dict[str, object]) -> BandmasterError:
    instance = error.__new__(error, *args)
    instance.args = args
    instance.__dict__.update(state)
    return instance


class QueueRejected(BandmasterError, MiddlewareError):
    """The execution was not accepted, and nothing of it was kept."""

    code: ClassVar[str] = "rejected"
    """The reason in one word, as the journal and ExecutionRejectedEvent give it."""

    def __init__(self, message: str, *, execution_id: str | None = None) -> None:
        super().__init__(message)
        self.execution_id = execution_id


class QueueFull(QueueRejected):
    """The lane is full: as many executions wait as its max_queue_size allows."""

    code: ClassVar[str] = "queue_full"

    def __init__(self, *, execution_id: str | None, limit: int, together: int = 1) -> None:
        """Args: `limit`, the lane's max_queue_size; `together`, how many were sent to be accepted all or none."""
        refused = f"execution {shown(execution_id)} was not accepted"
        if together > 1:
            refused = f"{together} executions were not accepted: with those that wait they would be more than {limit}"
        super().__init__(
            f"Queue full (max length: {limit}): {refused}; send it again later, or raise max_queue_size",
            execution_id=execution_id,
        )
        self.limit = limit


class UserLimitExceeded(QueueRejected):
    """The user has as many executions waiting as one user may have."""

    code: ClassVar[str] = "user_limit"

    def __init__(self, *, execution_id: str | None, user_id: str, limit: int) -> None:
        super().__init__(
            f"execution {shown(execution_id)} was not accepted: user {shown(user_id)} has {limit} executions waiting "
            f"already, which is max_executions_per_user; wait for some to start, cancel some, or raise the limit",
            execution_id=execution_id,
        )
        self.user_id = user_id
        self.limit = limit


class DuplicateExecution(QueueRejected):
    """An execution with this id waits, runs, or has ended of late (docs/ends.md, What is left of an execution)."""

    code: ClassVar[str] = "duplicate"

    def __init__(self, *, execution_id: str, state: State | None = None, origin: str = "") -> None:
        """Args: `state`, of the execution that has the id; `origin`, a digest that identifies its sending, if known."""
        super().__init__(
            f"execution {shown(execution_id)} was not accepted: that id is taken"
            f"{f' (state {state})' if state is not None else ''}; to run the same work again, send it under a new id",
            execution_id=execution_id,
        )
        self.state = state
        self.origin = origin


class NotUnique(QueueRejected):
    """Another execution has its unique key."""

    code: ClassVar[str] = "not_unique"

    def __init__(
        self, *, execution_id: str | None, key: str, other: str, state: State | None = None, is_dropped: bool = False
    ) -> None:
        """Args: `other`, which has the key, and its state; `is_dropped`, whether its sender wants no exception."""
        super().__init__(
            f"execution {shown(execution_id)} was not accepted: its unique key {shown(key)} is that of execution "
            f"{shown(other)}{f' (state {state})' if state is not None else ''}; wait for that one, or cancel it",
            execution_id=execution_id,
        )
        self.key = key
        self.other = other
        self.state = state
        self.is_dropped = is_dropped


class InvalidRequest(QueueRejected, ValueError):
    """A value is not allowed where it was given."""

    code: ClassVar[str] = "invalid"

    def __init__(self, field: str, problem: str, *, allowed: str = "", execution_id: str | None = None) -> None:
        super().__init__(f"{field}: {problem}{f'; allowed: {allowed}' if allowed else ''}", execution_id=execution_id)
        self.field = field
        self.problem = problem
        self.allowed = allowed


class QueueUnavailable(BandmasterError, MiddlewareError):
    """Redis cannot be reached, or has no memory left for writes. The call may or may not have taken effect."""

    def __init__(self, problem: str, *, url: str | None = None) -> None:
        """Args: `problem`, a sentence; `url`, already redacted."""
        super().__init__(f"{problem}{f' (server {url})' if url else ''}")
        self.problem = problem
        self.url = url


class UnknownFormat(QueueUnavailable):
    """The data in Redis was written by another release in a format unknown to this one; nothing was changed."""

    def __init__(self, said: str) -> None:
        super().__init__(
            f"the queue's data is not of this release: {said}; run the release that wrote it, or give this one another "
            "prefix"
        )


class StaleGrant(BandmasterError):
    """The grant is no longer current: a later attempt has begun, or the execution has ended; nothing was changed."""

    def __init__(
        self, *, execution_id: str, attempt: int, current_attempt: int | None = None, state: State | None = None
    ) -> None:
        current = f"attempt {current_attempt}, " if current_attempt is not None else ""
        super().__init__(
            f"grant of execution {shown(execution_id)}, attempt {attempt}, is stale "
            f"({current}state {state if state is not None else 'unknown'}): nothing was changed; stop its work"
        )
        self.execution_id = execution_id
        self.attempt = attempt
        self.current_attempt = current_attempt
        self.state = state


class NotLeader(BandmasterError):
    """This process does not lead (any more), so a write that only the leader may make was refused."""

    def __init__(self, *, leader_id: str, epoch: int, current_epoch: int | None = None) -> None:
        super().__init__(
            f"{shown(leader_id)} is not the leader any more (its epoch {epoch}, current "
            f"{current_epoch if current_epoch is not None else 'unknown'}): nothing was changed; elect again first"
        )
        self.leader_id = leader_id
        self.epoch = epoch
        self.current_epoch = current_epoch


class UnknownExecution(BandmasterError):
    """No execution with this id is known: there never was one, or it ended too long ago."""

    def __init__(self, *, execution_id: str) -> None:
        super().__init__(
            f"no execution {shown(execution_id)} is known: check the id; what has ended is forgotten after a day, or "
            "after minutes"
        )
        self.execution_id = execution_id


class AmbiguousExecution(BandmasterError):
    """The ids of several executions begin with the typed text."""

    MOST_SHOWN: ClassVar = 6

    def __init__(self, *, typed: str, found: list[str]) -> None:
        listed = ", ".join(found[: self.MOST_SHOWN]) + (", …" if len(found) > self.MOST_SHOWN else "")
        super().__init__(f"{typed!r} is the beginning of {len(found)} executions ({listed}): type more of it")
        self.typed = typed
        self.found = found


class NotRunnable(BandmasterError):
    """Not enough data is left of an execution to run it again."""


class OnAnotherShard(BandmasterError):
    """What was asked for would span two servers, and nothing holds over both; nothing was changed."""


class SettingChanged(BandmasterError):
    """A setting has another value than the caller saw last; nothing was changed."""

    def __init__(self, name: str, value: float | None) -> None:
        """Args: `name`, the setting; `value`, the one in force, None for no bound."""
        super().__init__(
            f"{name} is {'none' if value is None else f'{value:g}'} by now, and was not changed: read it, then decide "
            "again"
        )
        self.name = name
        self.value = value


class UnknownSchedule(BandmasterError):
    """There is no schedule of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no schedule {shown(name)}: `bandmaster schedule list` shows all")
        self.name = name


class ScheduleExists(BandmasterError):
    """There is a schedule of this name already; nothing was changed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a schedule {shown(name)} already: take another name, or replace it")
        self.name = name
