"""Request tokens: the names of callers are used again, so their last answers stay few, and never by two at once."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.scripts import StaleCall

THREADS = 4


def answers_kept(client: redis.Redis) -> set[bytes]:
    return set(client.keys("exec_queue:reply:*"))  # type: ignore[arg-type]


def test_answers_are_kept_for_callers_and_not_for_calls(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)

    def work(number: int) -> None:
        name = f"e{number}"
        queue.enqueue(event(name))
        queue.cancel(name)
        queue.release(name)
        queue.retry(name, 1)

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(work, range(40)))
    assert 1 <= len(answers_kept(redis_client)) <= THREADS


def test_a_service_or_a_client_a_request_needs_no_answer_more(redis_client: redis.Redis, redis_url: str) -> None:
    for number in range(20):
        ExecutionQueueService(redis_client).enqueue(event(f"own-service-{number}"))
        with redis.Redis.from_url(redis_url) as client:
            ExecutionQueueService(client, prefix="exec_queue").enqueue(event(f"own-client-{number}"))
    assert len(answers_kept(redis_client)) == 1


def test_a_prepared_call_keeps_its_token_as_long_as_it_may_be_run(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x"))
    queue.try_schedule()
    call = queue.transitions.prepare_exchange([Release("x", 1, State.COMPLETED)])
    first = call.run()
    for number in range(10):
        queue.enqueue(event(f"e{number}"))
    assert call.run() == first


def test_a_call_that_was_overtaken_is_refused_and_changes_nothing(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    script = queue.scripts.script("remove", "id silent by")
    queue.enqueue(event("x"))
    late = queue.scripts.prepare(script, "x", 0, "")
    arguments = late.arguments
    del late  # it timed out in its process, which went on
    queue.enqueue(event("y"))
    with pytest.raises(StaleCall):
        queue.scripts.execute(script, arguments)
    assert queue.get_queue_status()["queue_depth"] == 2


def test_a_forked_child_takes_names_of_its_own(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("of-the-parent"))
    before = answers_kept(redis_client)
    child = os.fork()
    if child == 0:  # nothing of the test runner may run in here
        try:
            queue.enqueue(event("of-the-child"))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    queue.enqueue(event("of-the-parent-again"))
    assert queue.get_queue_status()["queue_depth"] == 3
    after = answers_kept(redis_client)
    assert before < after
    assert len(after) == 2
