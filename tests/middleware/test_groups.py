"""A group is sent as a whole, or not at all."""

import dramatiq
import pytest
import redis
from dramatiq import Message, group
from dramatiq.middleware import GroupCallbacks
from dramatiq.rate_limits.backends import RedisBackend
from working import plain_redis_broker, running

from bandmaster import BandedRedisBroker, ExecutionQueueService, InvalidRequest, QueueFull, UserLimitExceeded
from waiting import wait_until

SIZE = 10_500


def test_a_group_of_ten_thousand_is_taken_or_refused_as_a_whole(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None: ...

    queue.controls.change_setting("max_queue_size", 10_000, lane="default")
    with pytest.raises(QueueFull, match=r"10500 executions were not accepted: .* more than 10000"):
        group([work.message(number) for number in range(SIZE)]).run()
    assert broker.do_qsize("default") == 0
    queue.controls.change_setting("max_queue_size", SIZE, lane="default")
    assert len(group([work.message(number) for number in range(SIZE)]).run()) == SIZE
    assert broker.do_qsize("default") == SIZE


def test_one_that_is_refused_for_what_it_is_keeps_all_from_being_sent(broker: BandedRedisBroker) -> None:
    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None: ...

    @dramatiq.actor
    def ungated() -> None: ...

    messages: list[Message[None]] = [work.message(1), ungated.message(), work.message_with_options(args=(2,), band="X")]
    with pytest.raises(InvalidRequest, match="band: 'X' is not a priority"):
        group(messages).run()
    assert broker.do_qsize("default") == 0
    group(messages[:2]).run()
    assert broker.do_qsize("default") == 2


def test_a_users_bound_is_looked_at_first(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None: ...

    queue.controls.change_setting("max_executions_per_user", 3, lane="default")
    work.send_with_options(args=(0,), user_id="ann")
    with pytest.raises(UserLimitExceeded, match="user 'ann'"):
        group([work.message_with_options(args=(number,), user_id="ann") for number in range(3)]).run()
    assert broker.do_qsize("default") == 1
    group([work.message_with_options(args=(number,), user_id="ann") for number in range(2)]).run()
    assert broker.do_qsize("default") == 3


def test_groups_with_callbacks_delays_pipelines_and_groups_run(
    broker: BandedRedisBroker, redis_client: redis.Redis
) -> None:
    broker.add_middleware(GroupCallbacks(RedisBackend(client=redis_client)))
    ran: list[str] = []

    @dramatiq.actor(band="HIGH")
    def work(name: str) -> None:
        ran.append(name)

    pipeline = work.message("second") | work.message_with_options(args=("third",), pipe_ignore=True)
    whole = group([work.message("first"), pipeline])
    whole.add_completion_callback(work.message("all"))
    with running(broker):
        whole.run()
        group([group([work.message("inner")]), work.message("outer")]).run(delay=10)
        wait_until(lambda: {*ran} == {"first", "second", "third", "all", "inner", "outer"}, what="all of it")


def test_on_a_plain_broker_a_group_runs_as_dramatiq_runs_it(redis_url: str, redis_client: redis.Redis) -> None:
    plain = plain_redis_broker(redis_url)

    @dramatiq.actor(broker=plain, band="HIGH")
    def work(number: int) -> None: ...

    group([work.message(number) for number in range(3)], broker=plain).run()
    assert plain.do_qsize("default") == 3
    plain.close()
