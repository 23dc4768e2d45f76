"""Limits, pauses and bounds in memory, with the interface of those in Redis: ``broker.queue.controls``.

In the flow: a test sets them, `MemoryQueue` reads them at each acceptance and each admission. Wrong values raise the
same errors as with a server. There are no bounds until they are set.
"""

from collections import Counter
from collections.abc import Mapping
from threading import Condition
from typing import Any, Final

from bandmaster.scheduler.engine.controls import check_bound, check_pausable, check_setting
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.errors import InvalidRequest, shown
from bandmaster.scheduler.model.identifiers import check_lane
from bandmaster.scheduler.model.limits import EVERYTHING, Limits, check_limit_of, check_limited
from bandmaster.scheduler.model.operators import check_by

from .unheld import MemoryRates

BOUNDS: Final = ("max_concurrent_executions", "max_executions_per_user", "max_queue_size")
"""The bounds of lanes that have an effect in memory."""
OVER_EVERYTHING: Final = "max_concurrent"


class MemoryControls:
    """An operator's controls, for one broker in memory."""

    def __init__(self, changed: Condition, held: Counter[str]) -> None:
        """Args: `changed`, the queue's lock, notified of every change; `held`, the number of holders of each gate."""
        self._changed = changed
        self._held = held
        self._limits = Limits()
        self.rates = MemoryRates()
        self._paused: set[str] = set()
        self._bounds: dict[tuple[str, str], int] = {}

    def set_limit(self, gate: str, limit: int | Auto | None, *, by: str | None = None) -> int:
        """Let at most `limit` executions hold a gate at once, or each gate of a kind; None lifts the limit.

        Args:
            gate: `action:X`, `user:Y` or any gate key.
            limit: 0 or more; one that would adjust itself stays at its least.
            by: The operator, here and below: checked, but not stored.

        Returns:
            How many executions hold the gate now; 0 for a kind.

        Raises:
            InvalidRequest: If the gate or the limit is not allowed.
        """
        check_by(by)
        check_limited(gate)
        if limit is not None:
            check_limit_of(gate, limit)
        with self._changed:
            _put(self._limits.by_operators, gate, limit.least if isinstance(limit, Auto) else limit)
            self._changed.notify_all()
            return self._held[gate]

    def declare_limits(self, declared: Mapping[str, Mapping[str, int | Auto]]) -> None:
        """Replace the limits that some lanes declared."""
        with self._changed:
            self._limits.declare(declared)
            self._changed.notify_all()

    def limits(self) -> dict[str, int]:
        """All limits of gates and kinds that were set, without those that actors declare."""
        return dict(sorted(self._limits.by_operators.items()))

    def pause(self, name: str = EVERYTHING, *, by: str | None = None) -> bool:
        """Pause a gate, a lane (`lane:NAME`) or, with `*`, everything; True if it was not paused before."""
        check_by(by)
        with self._changed:
            is_new = check_pausable(name) not in self._paused
            self._paused.add(name)
            return is_new

    def resume(self, name: str = EVERYTHING, *, by: str | None = None) -> bool:
        """End a pause; True if it was paused."""
        check_by(by)
        with self._changed:
            was_paused = check_pausable(name) in self._paused
            self._paused.discard(name)
            self._changed.notify_all()
            return was_paused

    def change_setting(
        self,
        name: str,
        value: int | None,
        *,
        lane: str | None = None,
        only_if_unset: bool = False,
        by: str | None = None,
    ) -> float | None:
        """Set one of the `BOUNDS` of a lane, or `max_concurrent`; None for no bound.

        Args:
            name: The name of the bound.
            value: As with a server: 0 or more, of some bounds 1 or more.
            lane: The lane of the bound; None: lane executions, as with a server.
            only_if_unset: Keep a value that is set already.
            by: The operator.

        Returns:
            The value in force.

        Raises:
            InvalidRequest: If there is no such bound, it is not one of lanes, or the value is not allowed.
        """
        check_by(by)
        if lane is not None:
            check_lane(lane)
            check_bound(name)
        if name not in (*BOUNDS, OVER_EVERYTHING):
            allowed = ", ".join((*BOUNDS, OVER_EVERYTHING))
            raise InvalidRequest("setting", f"{shown(name)} means nothing in memory", allowed=allowed)
        check_setting(name, value)
        key = (EVERYTHING if name == OVER_EVERYTHING else lane or DEFAULT_LANE, name)
        with self._changed:
            if not (only_if_unset and key in self._bounds):
                _put(self._bounds, key, value)
            self._changed.notify_all()
            return self._bounds.get(key)

    def bound(self, lane: str, name: str) -> int | None:
        """One of the `BOUNDS` of a lane, if it is set."""
        return self._bounds.get((lane, name))

    @property
    def max_concurrent(self) -> int | None:
        """How many may run at once in all lanes, if that is set."""
        return self._bounds.get((EVERYTHING, OVER_EVERYTHING))

    def is_paused(self, name: str) -> bool:
        """Whether a gate, a lane or everything is paused now."""
        return name in self._paused

    def has_room(self, gate: str) -> bool:
        """Whether a gate is not paused, and is held by fewer executions than its limit allows."""
        holding = self._limits.of(gate)
        return gate not in self._paused and (holding is None or self._held[gate] < holding.limit)


def _put(values: "dict[Any, int]", name: object, value: int | None) -> None:
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
