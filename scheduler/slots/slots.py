"""``Slots``: the slots of one queue, for code that is no actor; and `slot`, of the queue that the program uses.

In the flow: an application's code enters here; `slot.py` waits, and `attendant.py` serves it. The server and its prefix
are those of the broker that is set at that moment, or of the settings, which have the defaults too; or they are given.
"""

import threading
from types import TracebackType
from typing import Final, Self

import dramatiq.broker

from ...configs.queue import QueueSettings
from ...configs.settings import Settings, load_settings
from ..engine.engine import Engine
from ..model.errors import InvalidRequest, shown
from ..model.identifiers import check_action, slot_lane
from ..model.limits import check_limit
from ..queue import ExecutionQueueService
from ..server.connection import client_of, redis_url
from ..transport.forks import anew_in_child
from .attendant import Attendant
from .slot import Slot
from .statistics import QueueStats, queue_stats

TIMEOUT_MAX_SECONDS: Final = 365 * 86_400.0


class Slots:
    """The slots of one queue. Safe to share between threads and across forks; a context manager that closes itself."""

    def __init__(
        self,
        queue: Engine,
        *,
        max_queue_length: int | None = None,
        queue_timeout_seconds: float = QueueSettings().queue_timeout_seconds,
    ) -> None:
        """Makes no call.

        Args:
            queue: An `ExecutionQueueService`, or a broker's engine.
            max_queue_length: How many may wait for slots of one name, where nobody has set another number in Redis;
                None: 10,000 there.
            queue_timeout_seconds: How long a wait may take that says nothing itself.

        Raises:
            InvalidRequest: If a value is not allowed, or it is no queue on a server, as that of `bandmaster.testing`.
        """
        if not isinstance(queue, Engine):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest(
                "queue",
                f"a {type(queue).__name__} has no slots, which need a server",
                allowed="an ExecutionQueueService, or the queue of a broker on a server",
            )
        self._queue = queue
        self._timeout_seconds = _check_timeout(queue_timeout_seconds)
        self._attendant = Attendant(queue, max_queue_length)

    @classmethod
    def from_url(cls, url: str, *, prefix: str = "exec_queue") -> Self:
        """Return the slots of a server, under a prefix.

        Raises:
            QueueUnavailable: If the URL cannot be used.
        """
        return cls(ExecutionQueueService(client_of(url, name="bandmaster-slots"), prefix=prefix))

    @classmethod
    def from_settings(cls, queue: Engine | None = None) -> Self:
        """Return slots with the lengths and times of the settings.

        Args:
            queue: The queue; None: the one that the settings name (`BANDMASTER_REDIS__URL` and the like).

        Raises:
            SettingsError: If a setting is wrong.
            QueueUnavailable: If the server's URL cannot be used.
            InvalidRequest: As for `Slots`.
        """
        settings = load_settings()
        given = settings.queue.model_fields_set
        return cls(
            queue if queue is not None else _queue_of(settings),
            max_queue_length=settings.queue.max_queue_length if "max_queue_length" in given else None,
            queue_timeout_seconds=settings.queue.queue_timeout_seconds,
        )

    def slot(self, name: str, limit: int | None = None, timeout: float | None = None) -> Slot:
        """Return a context manager that takes one slot of a name: for ``with``, and for ``async with``.

        Who asks first gets the next slot, over all threads, tasks and processes, and among the executions of actors
        with the action `name`, which pass the same gate. Two slots of one name in one thread are two slots: with a
        limit of 1 the second would wait for the first until its timeout.

        Args:
            name: What is limited: an action.
            limit: How many slots of the name there are, unless an operator has set another limit (`bandmaster limit
                action:NAME 5`), which takes precedence. Processes should agree: the last one that says it holds. None:
                as it is; without any limit, nobody waits.
            timeout: How long to wait, in seconds; 0: not at all. None: `queue.queue_timeout_seconds`.

        Raises:
            InvalidRequest: If a value is not allowed.
        """
        slot_lane(check_action(name))
        if limit is not None:
            check_limit("limit", limit)
        timeout_seconds = self._timeout_seconds if timeout is None else _check_timeout(timeout)
        return Slot(self._attendant, name, limit, timeout_seconds)

    def get_queue_stats(self, name: str) -> QueueStats:
        """Return the figures of a name's queue.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        return queue_stats(self._queue.views, check_action(name))

    def close(self) -> None:
        """End all waits, give all slots back, and end the threads; whoever enters afterwards is refused.

        At the end of a process that is done anyway.
        """
        self._attendant.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _queue_of(settings: Settings) -> ExecutionQueueService:
    timeout_seconds = settings.redis.command_timeout_seconds
    client = client_of(redis_url(settings), socket_timeout_seconds=timeout_seconds, name="bandmaster-slots")
    return ExecutionQueueService(client, prefix=settings.redis.prefix, deadline_seconds=settings.redis.deadline_seconds)


def _queue_set() -> Engine | None:
    """Return the queue of the broker that is set now; None: none is, or it has none on a server."""
    queue = getattr(dramatiq.broker.global_broker, "queue", None)
    return queue if isinstance(queue, Engine) else None


class _Opened:
    """The slots of this process by queue; None is the one that the settings name."""

    def __init__(self) -> None:
        self._slots: dict[Engine | None, Slots] = {}
        self._begin_anew()
        anew_in_child(self._begin_anew)

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()

    def of(self, queue: Engine | None) -> Slots:
        queue = _queue_set() if queue is None else queue
        found = self._slots.get(queue)
        if found is None:
            with self._lock:
                found = self._slots.get(queue) or Slots.from_settings(queue)
                self._slots[queue] = found
        return found


_opened: Final = _Opened()


def slot(name: str, limit: int | None = None, timeout: float | None = None, *, queue: Engine | None = None) -> Slot:
    """Return a context manager that takes one slot of a name, as `Slots.slot` does.

    ::

        with slot("core.http.get", limit=2):
            fetch()

    Args:
        name: What is limited: an action.
        limit: How many slots of the name there are, unless an operator has set another limit.
        timeout: How long to wait, in seconds; None: `queue.queue_timeout_seconds`.
        queue: The queue; None: that of the broker that is set (`dramatiq.set_broker`), and where none is, or none on a
            server, the one that the settings name.
    """
    return _opened.of(queue).slot(name, limit, timeout)


def get_queue_stats(name: str, *, queue: Engine | None = None) -> QueueStats:
    """Return the figures of a name's queue, as `Slots.get_queue_stats` does."""
    return _opened.of(queue).get_queue_stats(name)


def _check_timeout(seconds: object) -> float:
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds <= TIMEOUT_MAX_SECONDS:
        return float(seconds)
    raise InvalidRequest("timeout", f"{shown(seconds)} is no time to wait", allowed="seconds, 0 to a year")
