"""Tells the server the limits that the actors of this process declare, and repeats this if the server lost them.

In the flow: called before each admission. A worker declares its limits once: a worker that starts later may declare
other limits, and these hold from then on. But if the server came back without its last data, it has lost the
declaration. The worker notices that within `LOOK_SECONDS` and declares again.
"""

import time
from collections.abc import Mapping
from typing import Final

from ...configs.logger import Logger
from ...scheduler.engine.controls import Controls
from ...scheduler.model.auto import Auto
from ...scheduler.model.rates import Rate

log = Logger(__name__)
LOOK_SECONDS: Final = 2.0
"""The time between two checks whether the server still has the declaration: so long may work start without its limits
after they were lost. A check is one HGET of the whole process."""


class Declaration:
    """The last declaration of this process."""

    def __init__(self) -> None:
        self._number = 0
        self._due = 0.0
        self.was_lost = False
        """Whether the server has lost it, and has not been told it again."""

    def forget(self) -> None:
        """Have the limits declared anew: they have changed."""
        self._number = 0

    def holds(self, controls: Controls) -> bool:
        """Whether the declaration was made, and the server has it or a later one.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        if self._number and time.monotonic() >= self._due:
            self._due = time.monotonic() + LOOK_SECONDS
            if controls.last_declaration() < self._number:
                log.warning("server_lost_settings", action="limits, bounds and settings are declared again")
                self._number, self.was_lost = 0, True
        return self._number > 0

    def make(
        self,
        controls: Controls,
        limits: Mapping[str, Mapping[str, int | Auto]],
        rates: Mapping[str, Mapping[str, Rate]],
    ) -> None:
        """Declare limits and rates, by lane.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        controls.rates.declare(rates)
        self._number, self.was_lost = controls.declare_limits(limits), False
        self._due = time.monotonic() + LOOK_SECONDS
