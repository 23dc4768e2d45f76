"""``QueueControls``: an operator's controls beside Redis, by the queue's own service.

In the flow: one side of `port.Controls`. Each call may be repeated without harm.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bandmaster.cli.naming import unused_name
from bandmaster.cli.opening import Opened
from bandmaster.scheduler.engine.controls import BOUNDS, Dropped
from bandmaster.scheduler.engine.held_schedule import readable_schedule
from bandmaster.scheduler.engine.journal import Change, Verb
from bandmaster.scheduler.engine.rate_controls import RateInForce
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.rates import Rate, readable

_READABLE: Final[dict[str, Callable[[str], str]]] = {Verb.RATE: readable, Verb.SCHEDULE: readable_schedule}


class QueueControls:
    """Controls of a queue beside Redis."""

    def __init__(self, bandmaster: Opened) -> None:
        self._queue = bandmaster.queue
        self._controls = bandmaster.queue.controls

    def pause(self, name: str) -> bool:
        """Begin a pause; whether there was none."""
        return self._controls.pause(name)

    def resume(self, name: str) -> bool:
        """End a pause; whether there was one."""
        return self._controls.resume(name)

    def paused(self) -> list[str]:
        """All names that are paused."""
        return list(self._controls.paused())

    def settings(self, lane: str | None) -> dict[str, float | None]:
        """All runtime settings; of a lane, its bounds."""
        if lane is None:
            return self._queue.views.status().settings
        settings = self._queue.on(lane).views.status().settings
        return {name: value for name, value in settings.items() if name in BOUNDS}

    def change_setting(self, name: str, value: int | None, lane: str | None) -> None:
        """Change one, whatever it is; None: its default."""
        self._controls.change_setting(name, value, lane=lane)

    def limited(self, gates: list[str] | None) -> list[GateLoad]:
        """These gates with the limits that hold for them; None: all that are limited."""
        return self._queue.gates.limited(gates)

    def set_limit(self, gate: str, limit: int | Auto | None) -> None:
        """Set or lift the limit of a gate or a kind."""
        self._controls.set_limit(gate, limit)

    def rates(self) -> dict[str, RateInForce]:
        """Every gate and kind with a rate of its own, by name."""
        return self._controls.rates.all()

    def rate_of(self, gate: str) -> RateInForce | None:
        """The rate that holds for a gate or a kind; None: it has none."""
        return self._controls.rates.of(gate)

    def set_rate(self, gate: str, rate: Rate | None) -> None:
        """Set or lift the rate of a gate or a kind."""
        self._controls.rates.set(gate, rate)

    def fair_lanes(self) -> dict[str, str]:
        """The kind of gates by which each fair lane is so, by lane."""
        return self._queue.shares.fair()

    def share(self, lane: str, kind: str | None) -> None:
        """Make a lane fair by a kind of gates; None: strict again."""
        self._queue.shares.share(lane, kind)

    def weights(self) -> dict[str, int]:
        """Every weight that was set, by gate."""
        return self._queue.shares.weights()

    def weigh(self, gate: str, weight: int | None) -> None:
        """Set the weight of a gate in fair lanes; None: 1."""
        self._queue.shares.weigh(gate, weight)

    def drop_action(self, action: str) -> Dropped:
        """Forget what was counted of an action."""
        return self._controls.drop_action(action)

    def changes(self, most: int) -> list[Change]:
        """Who changed what, the latest first; rates and schedules as people read them."""
        return [_readable(each) for each in self._queue.journal.changes(most)]

    def unused_name(self, name: str) -> str | None:
        """A warning if nothing has used a name so far; else None."""
        return unused_name(self._queue, name)


def _readable(change: Change) -> Change:
    read = _READABLE.get(change.verb)
    return change if read is None else replace(change, before=read(change.before), after=read(change.after))
