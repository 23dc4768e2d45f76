"""F10 for an admission that waited for its token: whatever is lost on the way, it takes effect once and is answered."""

import threading

import pytest
import redis
from blocked import blocked_clients, wait_until_somebody_waits
from proxy import Command, Loss, Proxy
from turned_queue import TurnedQueue

from bandmaster.scheduler.errors import QueueUnavailable
from bandmaster.scheduler.grants import read_admission
from bandmaster.scheduler.scripts import Call
from bandmaster.scheduler.waking import when_woken
from faults.acts import LANE, candidate
from waiting import wait_until


def admission(queue: TurnedQueue) -> Call:
    return queue.transitions.prepare_admit(LANE, 1, lease_ms=30_000, consumer=True)


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("name", [b"BLPOP", b"FCALL"])
def test_a_lost_reply_has_one_effect(
    name: bytes, loss: Loss, redis_client: redis.Redis, far_client: redis.Redis, proxy: Proxy
) -> None:
    near, far = TurnedQueue(redis_client), TurnedQueue(far_client)
    near.transitions.park(candidate("one"))
    near.transitions.park(candidate("two"))
    sent: list[bytes] = []
    left = iter([True])

    def doomed(command: Command) -> bool:
        sent.append(command[0])
        return command[0] == name and next(left, False)

    proxy.lose_reply(doomed, loss)
    token, answer = when_woken(far.scripts, LANE, 0.1, admission(far))
    assert proxy.lost == 1
    assert token is None
    assert sent.count(b"FCALL") == 2, "the same call was made again"
    assert [(grant.execution_id, grant.attempt) for grant in read_admission(answer).grants] == [("one", 1)]
    assert near.get_queue_status()["active_count"] == 1


def test_a_client_that_is_gone_before_its_token_comes_is_granted_nothing(
    redis_client: redis.Redis, far_client: redis.Redis, proxy: Proxy
) -> None:
    near, far = TurnedQueue(redis_client), TurnedQueue(far_client)

    def cut() -> None:
        wait_until_somebody_waits(redis_client)
        proxy.refuses = True
        proxy.break_connections()

    other = threading.Thread(target=cut)
    other.start()
    with pytest.raises(QueueUnavailable):
        when_woken(far.scripts, LANE, 0.4, admission(far))
    other.join()
    wait_until(lambda: not blocked_clients(redis_client), what="the server drops it")
    near.transitions.park(candidate("one"))
    assert near.get_queue_status()["active_count"] == 0
