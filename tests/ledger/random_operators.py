"""Whoever sends, works and steers in a random history, with the chances of one seed."""

import random
from typing import Any

import pytest

from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.errors import QueueRejected
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

ACTIONS = ("resize", "mail", "report")
USERS = (None, "ada", "ben")
GATES: tuple[list[str], ...] = ([], ["tenant:acme"], ["tenant:acme", "region:north"])


def seeds(count: int) -> list[Any]:
    """Of so many histories: two are played before each commit, the others in `make check`."""
    return [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, count))]


class Operators:
    """Whoever sends, works and steers, with the chances of one seed."""

    def __init__(self, queue: ExecutionQueueService, seed: int) -> None:
        self._queue = queue
        self._chances = random.Random(seed)
        self._sent: list[str] = []
        self._held: dict[str, int] = {}

    def act(self) -> None:
        """Do any one thing."""
        deeds = {
            self._send: 30,
            self._admit: 25,
            self._end: 15,
            self._retry: 5,
            self._cancel: 5,
            self._reprioritise: 4,
            self._steer: 4,
            self._hand_over: 4,
            self._bury: 2,
            self._drop: 2,
        }
        self._chances.choices(list(deeds), list(deeds.values()))[0]()

    def _send(self) -> None:
        choose = self._chances.choice
        again = self._sent and self._chances.random() < 0.05
        event = ExecutionRequestedEvent.from_any(
            {
                "execution_id": choose(self._sent) if again else f"exec-{len(self._sent)}",
                "action": choose(ACTIONS),
                "metadata": {"user_id": choose(USERS)},
                "priority": choose(("CRITICAL", "NORMAL", "LOW")),
                "gates": choose(GATES),
                "command": ["true"],
            }
        )
        try:
            self._queue.enqueue(event)
        except QueueRejected:
            return
        self._sent.append(event.execution_id)

    def _admit(self) -> None:
        granted = self._queue.transitions.admit(("executions",), 1)
        for grant in granted.grants:
            self._held[grant.execution_id] = grant.attempt

    def _any_held(self) -> tuple[str, int] | None:
        if not self._held:
            return None
        one = self._chances.choice(sorted(self._held))
        return one, self._held[one]

    def _end(self) -> None:
        if held := self._any_held():
            state = self._chances.choice((State.COMPLETED, State.FAILED, State.TIMEOUT))
            self._queue.release(held[0], attempt=held[1], state=state)
            del self._held[held[0]]

    def _retry(self) -> None:
        if held := self._any_held():
            self._queue.retry(held[0], held[1], delay_ms=self._chances.choice((0, 0, 60_000)))
            del self._held[held[0]]

    def _hand_over(self) -> None:
        if held := self._any_held():
            self._queue.transitions.hand_over(held[0], held[1], f"pod-of-{held[0]}", "uid")

    def _bury(self) -> None:
        name = f"refused-{self._chances.random()}"
        candidate = Candidate(execution_id=name, lane="executions", band=2, action="mail", message=b"refused")
        self._queue.transitions.bury(candidate, "queue_full")

    def _drop(self) -> None:
        if letters := self._queue.views.dead():
            self._queue.drop(self._chances.choice(letters), by="ben")

    def _cancel(self) -> None:
        if self._sent:
            self._queue.cancel(self._chances.choice(self._sent), by="ada")

    def _reprioritise(self) -> None:
        if self._sent:
            self._queue.update_priority(self._chances.choice(self._sent), "HIGH", by="ben")

    def _steer(self) -> None:
        action = f"action:{self._chances.choice(ACTIONS)}"
        self._queue.controls.set_limit(action, self._chances.choice((None, 1, 2, Auto(5, 6))), by="ada")
