"""D35: whoever times out at the very moment at which the slot is granted leaks nothing, and takes it from nobody."""

import random
import threading

from crowding import NAME, is_free

from bandmaster import ExecutionQueueService, Slots, SlotTimeout
from waiting import GENEROUS_SECONDS

ROUNDS = 200


def test_a_timeout_while_being_woken_leaks_nothing(slots: Slots, queue: ExecutionQueueService) -> None:
    chance = random.Random(35)
    outcomes: list[str] = []
    for _ in range(ROUNDS):
        holds = slots.slot(NAME, limit=1)
        with holds:
            waiting = threading.Thread(target=_take, args=(slots, chance.uniform(0, 0.003), outcomes))
            waiting.start()
            threading.Event().wait(chance.uniform(0, 0.006))
        waiting.join(GENEROUS_SECONDS)
        assert not waiting.is_alive()
        assert is_free(queue), "who timed out, or got the slot, left nothing when it went"
    assert len(outcomes) == ROUNDS
    assert {"timed out", "got it"} == set(outcomes)


def _take(slots: Slots, timeout_seconds: float, outcomes: list[str]) -> None:
    try:
        with slots.slot(NAME, timeout=timeout_seconds):
            outcomes.append("got it")
    except SlotTimeout:
        outcomes.append("timed out")
