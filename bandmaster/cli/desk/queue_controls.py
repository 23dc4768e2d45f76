"""``QueueControls``: an operator's controls beside Redis, by the queue's own service.

In the flow: one side of `port.Controls`. Each call may be repeated without harm.
"""

from bandmaster.cli.naming import unused_name
from bandmaster.cli.opening import Opened
from bandmaster.scheduler.engine.controls import BOUNDS, Dropped
from bandmaster.scheduler.engine.journal import Change
from bandmaster.scheduler.overview import GateLoad


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
        return self._queue.overview.limited(gates)

    def set_limit(self, gate: str, limit: int | None) -> None:
        """Set or lift the limit of a gate or a kind."""
        self._controls.set_limit(gate, limit)

    def drop_action(self, action: str) -> Dropped:
        """Forget what was counted of an action."""
        return self._controls.drop_action(action)

    def changes(self, most: int) -> list[Change]:
        """Who changed what, the latest first."""
        return self._queue.journal.changes(most)

    def unused_name(self, name: str) -> str | None:
        """A warning if nothing has used a name so far; else None."""
        return unused_name(self._queue, name)
