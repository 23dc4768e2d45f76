"""More than a thousand due in one millisecond start in the order in which they were sent."""

import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Parked
from bandmaster.scheduler.engine.parking import Candidate

COUNT = 5_000


def test_any_number_due_in_one_millisecond_keep_their_order(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    due_ms = queue.clock.now_ms + 60_000
    # Names whose order is not that of their sending.
    names = [f"{number * 7_919 % COUNT}" for number in range(COUNT)]
    outcomes = queue.transitions.park_many(
        [Candidate(name, queue.lane, 2, "pod", due_ms=due_ms, event=b"{}") for name in names]
    )
    assert all(isinstance(outcome, Parked) for outcome in outcomes)
    assert queue.views.scheduled(COUNT) == names
    first, last = (redis_client.zscore(queue.scripts.keys.named("scheduled"), names[index]) for index in (0, -1))
    assert (first, last) == (due_ms, due_ms + (COUNT - 1) / 1024)
    queue.clock.turn(59_000)
    assert queue.maintenance.promote() == 0
    queue.clock.turn(2_000)
    assert queue.maintenance.promote() == COUNT
    assert queue.views.pending(COUNT) == names
