"""Four processes of eight threads hammer one queue; the journal of it is then replayed entry by entry."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
import redis
from history import History
from model.dump import read_dump
from model.invariants import Invariants, left_behind

from bandmaster.scheduler.queue import ExecutionQueueService
from stress.hammering import THREADS, Job, hammer

pytestmark = pytest.mark.slow

PROCESSES = 4
PARKED_BY_EACH_THREAD = 40
MAX_ACTIVE = 12
MAX_ACTIVE_OF = {"executions": 10, "mail": 8}
LIMITS = {"tenant:1": 2, "tenant:2": 3, "gpu": 1, "user:ann": 2, "action:resize": 4}


def test_no_limit_is_passed_and_the_order_is_kept_by_thirty_two_threads_at_once(
    redis_client: redis.Redis, redis_url: str
) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("max_concurrent", MAX_ACTIVE)
    for lane, most in MAX_ACTIVE_OF.items():
        queue.controls.change_setting("max_concurrent_executions", most, lane=lane)
    queue.controls.change_setting("max_executions_per_user", 10_000)
    for gate, limit in LIMITS.items():
        queue.controls.set_limit(gate, limit)

    jobs = [Job(redis_url, number, PARKED_BY_EACH_THREAD) for number in range(PROCESSES)]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as processes:
        given = [grant for grants in processes.map(hammer, jobs) for grant in grants]

    history = History(MAX_ACTIVE, LIMITS).read(queue.journal.entries())
    assert len(history.executions) == PROCESSES * THREADS * PARKED_BY_EACH_THREAD
    assert history.living() == []
    assert len(set(given)) == len(given), "a grant was given to two"
    assert sorted(given) == sorted(history.grants)
    assert {"park", "reject", "admit", "release", "retry", "cancel", "hand_over", "reprioritise"} <= set(history.verbs)
    dump = read_dump(redis_client, queue.scripts.keys)
    Invariants().check(dump)
    assert left_behind(dump) == {}
