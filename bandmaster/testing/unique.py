"""Unique keys in memory: who took each last, and whether that one keeps others out still.

In the flow: `MemoryQueue` asks before it accepts an execution, and notes who took a key. As in Redis, this follows from
the state of the one that took it.
"""

import time

from bandmaster.scheduler.model.states import TERMINAL, WAITING
from bandmaster.scheduler.model.unique import Until

from .execution import Execution


class MemoryKeys:
    """The unique keys of one broker; not safe by itself to share between threads."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[Execution, float]] = {}

    def take(self, execution: Execution) -> None:
        """Note that an accepted execution takes its key, if it has one."""
        if execution.candidate.unique is not None:
            self._taken[execution.candidate.unique.key] = execution, time.monotonic()

    def holder(self, key: str) -> Execution | None:
        """Return the execution that keeps others with this key out."""
        execution, at = self._taken.get(key, (None, 0.0))
        if execution is None or execution.candidate.unique is None:
            return None
        scope = execution.candidate.unique.scope
        if isinstance(scope, int):
            keeps = (time.monotonic() - at) * 1000 < scope
        else:
            keeps = execution.state in WAITING or (scope is Until.ENDED and execution.state not in TERMINAL)
        return execution if keeps else None

    def clear(self) -> None:
        """Forget all."""
        self._taken.clear()
