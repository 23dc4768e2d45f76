"""The rough weather of a chaos run: a fault and a change of operators in each turn, until there was enough of both."""

import random
import time
from collections.abc import Callable
from typing import Final

from bandmaster.scheduler.model.errors import BandmasterError
from bandmaster.scheduler.queue import ExecutionQueueService
from chaos.faults import ENDING_SECONDS, Faults
from chaos.operators import Operators
from chaos.plan import LANES

PROGRESS_SECONDS: Final = 10.0
MOST_TURNS: Final = 2_000
"""Beyond the time that is asked for: what nothing came to by then, the report does not tell of."""


class Weather:
    """Driven by one thread."""

    def __init__(
        self,
        faults: Faults,
        operators: Operators,
        queue: ExecutionQueueService,
        chance: random.Random,
        say: Callable[[str], None],
    ) -> None:
        """Nothing is harmed yet.

        Args:
            faults: Are made.
            operators: Change something.
            queue: Its calls give up soon.
            chance: Decides.
            say: Is told how it goes.
        """
        self._faults = faults
        self._operators = operators
        self._queue = queue
        self._chance = chance
        self._say = say
        self._began = self._said_at = time.monotonic()

    def last(self, seconds: float, faults: int, is_recorded: Callable[[], bool]) -> None:
        """Make faults for so long, at least so many, and until enough is recorded without any that goes on."""
        while time.monotonic() - self._began < seconds:
            self._turn()
        for _ in range(MOST_TURNS):
            made = self._faults.done.total() >= faults
            # Once more when all have ended: a server that came back with an older copy has forgotten some of it.
            if made and is_recorded() and self._end() and is_recorded():
                return
            self._turn()
        self._end()

    def _turn(self) -> None:
        # The moment itself, not a wait for something; what is due is ended meanwhile.
        pause_until = time.monotonic() + self._chance.uniform(0.1, 1.5)
        while time.monotonic() < pause_until:
            self._faults.later.look()
            time.sleep(0.05)
        self._operators.act()
        elapsed = time.monotonic() - self._began
        if done := self._faults.one():
            self._say(f"{elapsed:6.0f} s  {done}")
        if time.monotonic() - self._said_at > PROGRESS_SECONDS:
            self._said_at = time.monotonic()
            self._say(f"{elapsed:6.0f} s  {self._faults.done.total()} faults; {self._progress()}")

    def _end(self) -> bool:
        """End those that go on; whether they have."""
        deadline = time.monotonic() + ENDING_SECONDS + 1
        while not (ended := self._faults.end()) and time.monotonic() < deadline:
            time.sleep(0.1)  # a worker that was asked to end is waited for
        return ended

    def _progress(self) -> str:
        try:
            return f"{sum(self._queue.views.lane_size(lane) for lane in LANES)} wait or run"
        except BandmasterError:
            return "the server is away"
