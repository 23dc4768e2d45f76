"""Tells the server the limits that the actors of this process declare, again if it lost them.

In the flow: asked before each admission. A worker declares once, for one that started later may declare other limits,
and these hold. But a server that came back without its last data has lost the declaration: it is made again within
`LOOK_SECONDS`.
"""

import time
from collections.abc import Mapping
from typing import Final

from ...configs.logger import Logger
from ...scheduler.engine.controls import Controls

log = Logger(__name__)
LOOK_SECONDS: Final = 10.0
"""Between looks whether the server has it still."""


class Declaration:
    """The last one of this process."""

    def __init__(self) -> None:
        self._number = 0
        self._due = 0.0

    def forget(self) -> None:
        """Something else is to be declared."""
        self._number = 0

    def holds(self, controls: Controls) -> bool:
        """Whether it was made, and the server has it, or a later one.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        if self._number and time.monotonic() >= self._due:
            self._due = time.monotonic() + LOOK_SECONDS
            if controls.last_declaration() < self._number:
                log.warning("declared_limits_lost", action="they are declared again")
                self._number = 0
        return self._number > 0

    def make(self, controls: Controls, declared: Mapping[str, Mapping[str, int]]) -> None:
        """Declare.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        self._number = controls.declare_limits(declared)
        self._due = time.monotonic() + LOOK_SECONDS
