"""Unique keys: of those that are sent with one key, one execution at a time waits, lives, or was accepted in some time.

In the flow: an actor or a message says the key, until when it keeps others out, and what happens to the second one
(`middleware/intake/unique_keys.py`); park.lua decides. Pure functions.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_SECONDS: Final = 366 * 24 * 3600
"""The longest time for which a key is taken."""


class Until(StrEnum):
    """How long an execution keeps others with its key out."""

    STARTED = "started"
    """While it waits; also while it waits again for a retry, unless another has taken the key meanwhile."""
    ENDED = "ended"
    """While it waits or runs."""


class Conflict(StrEnum):
    """What happens to the second one."""

    DROP = "drop"
    """It is not accepted, and its sender is told the first one's id."""
    REPLACE = "replace"
    """It is accepted, and the first one ends as CANCELLED; refused if that one does not wait any more."""
    REFUSE = "refuse"
    """It is refused, with an exception."""


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """The unique key of one execution, checked."""

    key: str
    scope: Until | int
    """Until when it keeps others out; a number: for so many ms after its acceptance, also if it has ended."""
    on_conflict: Conflict

    @property
    def argument(self) -> str:
        """The argument of park.lua."""
        return f"{self.scope} {'replace' if self.on_conflict is Conflict.REPLACE else 'keep'} {self.key}"
