"""F10 for an admission that waited for its token: token and answer are lost, and what was admitted is not."""

import threading

import pytest
import redis
from blocked import blocked_clients, wait_until_somebody_waits
from proxy import Loss, Proxy
from turned_queue import TurnedQueue

from bandmaster.scheduler.errors import QueueUnavailable
from bandmaster.scheduler.grants import read_admission
from bandmaster.scheduler.waking import when_woken
from faults.acts import LANE, candidate
from waiting import wait_until


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("name", [b"BLPOP", b"FCALL"])
def test_the_same_call_made_again_gives_what_was_admitted(
    name: bytes, loss: Loss, redis_client: redis.Redis, far_client: redis.Redis, proxy: Proxy
) -> None:
    near, far = TurnedQueue(redis_client), TurnedQueue(far_client)
    near.transitions.park(candidate("one"))
    near.transitions.park(candidate("two"))
    call = far.transitions.prepare_admit(LANE, 1, lease_ms=30_000, consumer=True)
    proxy.lose_next_reply(name, loss)
    with pytest.raises(QueueUnavailable):
        when_woken(far.scripts, LANE, 0.1, call)
    assert proxy.lost == 1
    assert [grant.execution_id for grant in read_admission(call.run()).grants] == ["one"]
    assert near.get_queue_status()["active_count"] == 1


def test_a_client_that_is_gone_before_its_token_comes_is_granted_nothing(
    redis_client: redis.Redis, redis_url: str, proxy: Proxy
) -> None:
    near, far = TurnedQueue(redis_client), TurnedQueue(redis.Redis.from_url(proxy.url, retry=None))
    call = far.transitions.prepare_admit(LANE, 1, lease_ms=30_000, consumer=True)

    def break_connections() -> None:
        wait_until_somebody_waits(redis_client)
        proxy.break_connections()

    other = threading.Thread(target=break_connections)
    other.start()
    with pytest.raises(QueueUnavailable):
        when_woken(far.scripts, LANE, 2.0, call)
    other.join()
    wait_until(lambda: blocked_clients(redis_client) == 0, what="the server drops it")
    near.transitions.park(candidate("one"))
    assert near.get_queue_status()["active_count"] == 0
