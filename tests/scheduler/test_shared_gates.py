"""One gate behind which very many lanes wait: a call tells some of them that it opened or closed, later ones the rest.

Commands are counted, and not time.
"""

from collections.abc import Callable

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Grant, read_exchange
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.engine.transitions import Candidate, Next
from bandmaster.scheduler.model.states import State

LANES = 1_000
TOLD_A_CALL = 20
GATE = "tenant:acme"
MOST_COMMANDS = 500
"""Of one call: of the lanes that it tells, each takes up to twenty."""


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """The gate is full, and one execution waits behind it in each lane."""
    queue = TurnedQueue(redis_client)
    queue.controls.set_limit(GATE, 1)
    queue.transitions.park(candidate("first", "mine"))
    for start in range(0, LANES, 500):
        queue.transitions.park_many([candidate(f"e{n}", lane(n)) for n in range(start, start + 500)])
    return queue


def candidate(name: str, in_lane: str) -> Candidate:
    return Candidate(name, in_lane, 2, "work", gates=(GATE,), event=b"{}")


def lane(number: int) -> str:
    return f"lane-{number}"


def ask(queue: TurnedQueue, *lanes: str) -> list[Grant]:
    return queue.transitions.admit(lanes, 1, lease_ms=30_000, consumer=True).grants


def fill(queue: TurnedQueue) -> Grant:
    """Have the gate held, and each lane know that it is."""
    (grant,) = ask(queue, "mine")
    for number in range(LANES):
        assert not ask(queue, lane(number))
    return grant


def end(queue: TurnedQueue, grant: Grant, *following: str) -> list[Grant]:
    settled = [Release(grant.execution_id, 1, State.COMPLETED, grant.nonce)]
    call = queue.transitions.prepare_exchange(settled, Next(following, min(1, len(following)), 30_000))
    return read_exchange(call.run()).admission.grants


def cost(client: redis.Redis, act: Callable[[], object]) -> int:
    def commands() -> int:
        statistics: dict[str, dict[str, int]] = client.info("commandstats")  # type: ignore[assignment]
        return sum(each["calls"] for each in statistics.values())

    before = commands()
    act()
    return commands() - before


def test_what_a_call_costs_does_not_grow_with_the_lanes(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    grant = fill(queue)
    assert cost(redis_client, lambda: end(queue, grant)) < MOST_COMMANDS
    assert cost(redis_client, lambda: ask(queue, lane(0))) < MOST_COMMANDS
    assert cost(redis_client, lambda: queue.transitions.park(candidate("more", lane(7)))) < MOST_COMMANDS
    assert cost(redis_client, lambda: queue.controls.pause(GATE)) < 2 * MOST_COMMANDS
    assert cost(redis_client, lambda: queue.controls.resume(GATE)) < 2 * MOST_COMMANDS


def test_the_order_is_kept_over_all_lanes(queue: TurnedQueue) -> None:
    grant = fill(queue)
    for number in range(60):
        (grant,) = end(queue, grant, *(lane(each) for each in range(59, number - 1, -1)))
        assert grant.execution_id == f"e{number}"


def test_a_lane_behind_very_many_that_nobody_serves_is_told_soon(queue: TurnedQueue) -> None:
    end(queue, fill(queue))
    last = lane(LANES - 1)
    granted = next(found for _ in range(LANES // TOLD_A_CALL + 1) if (found := ask(queue, last)))
    assert [each.execution_id for each in granted] == [f"e{LANES - 1}"]
    assert not ask(queue, lane(0)), "it is full again"


def test_a_raised_limit_wakes_as_many_as_it_lets_through(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    fill(queue)
    queue.controls.set_limit(GATE, 51)
    wakes = [queue.scripts.keys.wake(lane(number)) for number in range(50)]
    assert [redis_client.llen(each) for each in wakes] == [1] * 50


def ends_until_granted(queue: TurnedQueue, grant: Grant, name: str, most: int = 5) -> int:
    """How often a busy lane `mine` gives its slot back until lane `live`, which asks before and after that, gets it."""
    for number in range(1, most + 1):
        found = [*ask(queue, "live"), *end(queue, grant, "mine"), *ask(queue, "live")]
        if name in [each.execution_id for each in found]:
            return number
        (grant,) = found or ask(queue, "mine")
    raise AssertionError("a lane that is served starves")


@pytest.mark.parametrize("many", [10, 45, 200])
@pytest.mark.parametrize("is_paused", [True, False])
def test_lanes_that_take_nothing_keep_no_room_from_those_behind_them(
    redis_client: redis.Redis, many: int, is_paused: bool
) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.set_limit(GATE, 1)
    queue.transitions.park(candidate("first", "mine"))
    queue.transitions.park_many([candidate(f"e{n}", lane(n)) for n in range(many)])
    queue.transitions.park_many([candidate("waits", "live"), *(candidate(f"more{n}", "mine") for n in range(50))])
    (grant,) = ask(queue, "mine")
    for name in ("live", *map(lane, range(many))):
        assert not ask(queue, name)
    for name in map(lane, range(many)):
        if is_paused:
            queue.controls.pause(f"lane:{name}")
        else:
            queue.controls.change_setting("max_concurrent_executions", 0, lane=name)
    assert ends_until_granted(queue, grant, "waits") == 1
