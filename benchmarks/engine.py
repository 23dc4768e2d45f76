"""Drives the engine without Dramatiq: questions about the server's cost park, admit and release by this.

In the flow: used where one script at a time is measured, or where a million executions have to wait.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

import redis
from dramatiq import Message

from bandmaster.scheduler.engine.controls import Controls
from bandmaster.scheduler.engine.grants import Grant
from bandmaster.scheduler.engine.transitions import Candidate, Next, Transitions
from bandmaster.scheduler.keys import Keys
from bandmaster.scheduler.model.errors import QueueRejected
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.transport.scripts import Scripts

LANE: Final = "default"
NORMAL: Final = 2
LEASE_MS: Final = 30_000
PAGE: Final = 10_000


class Engine:
    """One queue under its own prefix, and an application's lane in it without bounds."""

    def __init__(self, client: "redis.Redis", prefix: str = "exec_queue") -> None:
        self.keys = Keys(prefix)
        scripts = Scripts(client, self.keys)
        self.transitions = Transitions(scripts)
        self.controls = Controls(scripts)
        self._numbers = count()

    def candidate(self, *gates: str, band: int = NORMAL, action: str = "count") -> Candidate:
        """A message with a new id, for an actor with two arguments."""
        message: Message[object] = Message(LANE, action, (next(self._numbers), 0), {}, {})
        return Candidate(message.message_id, LANE, band, action, gates=gates, message=message.encode())

    def park(self, *gates: str, band: int = NORMAL) -> None:
        """Park one execution."""
        self.transitions.park(self.candidate(*gates, band=band))

    def fill(self, how_many: int, gates_of: Callable[[int], tuple[str, ...]] = lambda _: ()) -> list[str]:
        """Park many executions, a hundred a call.

        Returns:
            Their ids.
        """
        ids: list[str] = []
        for page in _pages(how_many):
            candidates = [self.candidate(*gates_of(number)) for number in page]
            for outcome in self.transitions.park_many(candidates):
                if isinstance(outcome, QueueRejected):
                    raise outcome
            ids += [candidate.execution_id for candidate in candidates]
        return ids

    def admit(self, most: int = 1) -> list[Grant]:
        """Admit up to so many executions in one call."""
        return self.transitions.admit((LANE,), most, lease_ms=LEASE_MS, consumer=True).grants

    def release(self, grant: Grant, following: int = 0) -> list[Grant]:
        """Release one execution, and admit up to `following` in the same call."""
        call = self.transitions.release(
            grant.execution_id,
            grant.attempt,
            State.COMPLETED,
            only=State.RUNNING,
            following=Next((LANE,), following, LEASE_MS),
        )
        return call.grants


def _pages(how_many: int) -> Iterator[range]:
    for start in range(0, how_many, PAGE):
        yield range(start, min(how_many, start + PAGE))
