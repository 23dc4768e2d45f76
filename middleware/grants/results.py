"""Stores results whose backend was away when the body ended, before the execution is settled.

In the flow: Dramatiq's `Results` stores results in a hook after the body. Dramatiq logs and ignores a hook's exception,
so the execution would be COMPLETED without a result. From worker boot on, a result that the hook could not store is
kept on the entry, and stored before the slot is given back, as long as this process holds the grant. If the process
dies before that, the execution is reaped and runs again.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from dramatiq import Broker, MessageProxy
from dramatiq.results import Results

from ...configs.logger import Logger
from ...scheduler.model.errors import QueueUnavailable
from ..errors import UNAVAILABLE
from .context import current_entry
from .table import Entry

log = Logger(__name__)
AWAY: Final = (*UNAVAILABLE, OSError)
"""The errors of a result backend that cannot be reached. Any other error would recur, and is only logged, as usual."""
PATIENCE_SECONDS: Final = 60.0
"""How long at least a thread waits for a result backend that is away while the queue's own server answers."""
_HOOK: Final = "after_process_message"


def keep_results(broker: Broker) -> None:
    """From now on, keep the results that the broker's `Results` cannot store."""
    for each in broker.middleware:
        if isinstance(each, Results) and _HOOK not in vars(each):
            setattr(each, _HOOK, _keeping(getattr(each, _HOOK)))


def forget_kept(results: Results) -> None:
    """Give a copy of `Results` its own hook back, so that nothing is kept."""
    vars(results).pop(_HOOK, None)


def _keeping(store: Callable[..., None]) -> Callable[..., None]:
    def after_process_message(
        broker: Broker, message: MessageProxy, *, result: Any = None, exception: BaseException | None = None
    ) -> None:
        try:
            store(broker, message, result=result, exception=exception)
        except AWAY as error:
            entry = current_entry()
            if entry is None:
                raise
            log.warning("result_deferred", execution_id=entry.grant.execution_id, error=type(error).__name__)
            entry.unstored.append(lambda: store(broker, message, result=result, exception=exception))

    return after_process_message


def store_unstored(entry: Entry) -> None:
    """Store results that could not be stored when the body ended, unless the grant was lost and another attempt runs.

    Raises:
        QueueUnavailable: If a result cannot be stored yet, or it is not known yet who holds the grant; call again.
    """
    while entry.unstored and not entry.lost and entry.settling is None:
        if not entry.is_valid():
            raise QueueUnavailable("the lease was not renewed while Redis was away: its next renewal tells")
        try:
            entry.unstored[0]()
        except AWAY as error:
            if time.monotonic() < entry.ended_at + _patience_seconds(entry):
                raise QueueUnavailable(f"the result cannot be stored: {type(error).__name__}") from error
            log.error("result_lost", execution_id=entry.grant.execution_id, error=type(error).__name__)
        entry.unstored.pop(0)


def _patience_seconds(entry: Entry) -> float:
    # A lease that is still valid after twice its length was renewed meanwhile: the queue's own server answers.
    return max(PATIENCE_SECONDS, 2 * entry.grant.lease_ms / 1000)
