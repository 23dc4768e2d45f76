"""What ageing may cost a call: a few that rise, and nothing where no lane ages."""

from typing import Any

import redis
from ageing_lane import LANE, T_SECONDS, a_worker_asks, queue, send, take
from turned_queue import TurnedQueue

from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.transport.library import read_lua

__all__ = ["queue"]

RISEN_A_CALL = 20
MANY = 2_000
COMMANDS_A_RISE = 16


def calls(client: redis.Redis) -> dict[str, int]:
    """How often the scripts made each command since the last `config_resetstat`."""
    statistics: Any = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): each["calls"] for name, each in statistics.items()}


def test_of_thousands_that_are_due_at_once_a_call_moves_a_few_and_the_earliest_first(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    for begin in range(0, MANY, 100):
        queue.clock.turn(1)
        send(queue, *(f"e{number}" for number in range(begin, begin + 100)))
    queue.clock.turn(T_SECONDS * 1_000)
    a_worker_asks(queue)
    risen = [entry for entry in queue.journal.entries() if entry.fields.get("reason") == "aged"]
    assert len(risen) == RISEN_A_CALL
    assert {int(entry.execution_id[1:]) // 100 for entry in risen} == {0}
    redis_client.config_resetstat()
    a_worker_asks(queue)
    assert sum(calls(redis_client).values()) < RISEN_A_CALL * COMMANDS_A_RISE
    a_worker_asks(queue, times=MANY // RISEN_A_CALL)
    assert queue.on(LANE).get_pending_by_priority()["NORMAL"] == MANY, "workers alone let all rise"


def test_a_scheduler_alone_lets_all_rise(queue: TurnedQueue) -> None:
    send(queue, *(f"e{number}" for number in range(MANY)))
    queue.clock.turn(T_SECONDS * 1_000)
    queue.maintenance.sweep()
    assert queue.on(LANE).get_pending_by_priority()["NORMAL"] == MANY


def cost_of_a_life(queue: TurnedQueue, redis_client: redis.Redis) -> dict[str, int]:
    """The commands for executions of a lane without ageing: all that may happen to one that waits."""
    for _ in range(2):  # so that all is indexed, and the settings are known
        queue.maintenance.sweep()
    redis_client.config_resetstat()
    for number in range(3):
        send(queue, f"a{number}", f"b{number}", f"c{number}", lane="plain")
        queue.transitions.reprioritise(f"c{number}", int(Priority.BACKGROUND))
        queue.cancel(f"c{number}")
        for name in take(queue, 2, lane="plain"):
            queue.transitions.release(name, 1, State.COMPLETED)
        queue.clock.turn(2_000)
    return calls(redis_client)


def test_a_lane_without_ageing_costs_no_command_more(redis_client: redis.Redis) -> None:
    functions = ("rises_at", "is_used", "enter", "leave")
    own = read_lua("include/ageing.lua")
    assert all(f"function ageing.{name}(" in own for name in functions)
    ageless = f"local ageing = {{{', '.join(f'{name} = function() end' for name in functions)}}}\n"
    costs: list[dict[str, int]] = []
    for includes, of_another_lane in (({"ageing": ageless}, None), ({}, None), ({}, T_SECONDS)):
        redis_client.flushdb()
        redis_client.function_flush()  # so that each begins with nothing in its memory
        queue = TurnedQueue(redis_client, includes)
        queue.controls.change_setting("ageing_seconds", of_another_lane, lane=LANE)
        costs.append(cost_of_a_life(queue, redis_client))
    assert costs[1] == costs[0]
    more = {name: count - costs[0][name] for name, count in costs[2].items() if count != costs[0][name]}
    assert more.keys() == {"zrangebyscore"}
    assert more["zrangebyscore"] <= costs[0]["fcall"], "a call looks once at what is due to rise, in any lane"
