"""What has to be undone, or looked at again, when its time has come."""

import time
from collections.abc import Callable


class Later:
    """Kept by the one thread of the driver."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, Callable[[], bool]]] = []

    def after(self, seconds: float, act: Callable[[], bool]) -> None:
        """Do it then, and each time that one looks from then on until it answers True."""
        self._waiting.append((time.monotonic() + seconds, act))

    def look(self, *, all_of_it: bool = False) -> bool:
        """Do what is due, or everything; returns whether nothing is left."""
        due = [one for one in self._waiting if all_of_it or one[0] <= time.monotonic()]
        self._waiting = [one for one in self._waiting if one not in due]
        self._waiting += [one for one in due if not one[1]()]
        return not self._waiting
