"""F10: the reply of a script is lost after it took effect. The call is made again, and the effect happens once.

Each script is called twice from the same start: undisturbed, and with its reply thrown away by a proxy. The contents of
Redis must be the same afterwards, and so must the answer.
"""

import re
from typing import Any

import pytest
import redis
from model.dump import read_dump
from model.invariants import Invariants
from proxy import Loss, Proxy
from redis.backoff import NoBackoff
from redis.retry import Retry
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Parked
from bandmaster.scheduler.engine.parking import PARKED_A_CALL
from bandmaster.scheduler.transport.library import assemble, script_names
from faults.acts import ACTS, ARRANGEMENTS, candidate, prepare

HARMLESSLY_REPEATED = {"elect": ("epoch", "leader"), "wake": ("wake:executions",)}
"""Scripts without a token that leave more when they are called again: a further epoch, a further wake token."""


def contents(queue: TurnedQueue, client: redis.Redis) -> dict[str, Any]:
    """Everything but the callers' last answers and the nonces of grants, which are named at random."""
    dump = read_dump(client, queue.scripts.keys)
    Invariants().check(dump)
    kept: dict[str, Any] = {key: entry for key, entry in dump.contents().items() if not key.startswith("reply:")}
    for key, meta in dump.metas().items():
        kept[f"meta:{key}"] = ("hash", frozenset((name, value) for name, value in meta.items() if name != "nonce"))
    return kept


def nameless(answer: object) -> str:
    """An answer without the nonces of its grants."""
    return re.sub(r"'[\w-]{12}:\d+'", "nonce", repr(answer))


def prepared(client: redis.Redis, name: str) -> TurnedQueue:
    client.flushdb()
    queue = TurnedQueue(client)
    prepare(queue)
    ARRANGEMENTS.get(name, lambda _: None)(queue)
    return queue


def test_every_script_is_among_the_acts() -> None:
    assert set(ACTS) == set(script_names())


@pytest.mark.parametrize("loss", [Loss.CLOSED, pytest.param(Loss.SILENT, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", script_names())
def test_a_lost_reply_has_one_effect(
    name: str, loss: Loss, redis_client: redis.Redis, far_client: redis.Redis, proxy: Proxy
) -> None:
    near = prepared(redis_client, name)
    answer = ACTS[name](near)
    expected = contents(near, redis_client)

    near = prepared(redis_client, name)
    far = TurnedQueue(far_client)
    far.clock.turn(near.clock.now_ms - far.clock.now_ms)
    # The server knows the script since the first call, so the reply that is lost is that of its effect.
    proxy.lose_next_reply(b"FCALL", loss)
    answer_again = ACTS[name](far)

    assert proxy.lost == 1
    found = contents(near, redis_client)
    for key in HARMLESSLY_REPEATED.get(name, ()):
        assert found.pop(key) != expected.pop(key)
    if "due" not in found:
        expected.pop("due", None)  # a token that Redis itself deletes soon, and a busy machine takes that long
    assert found == expected
    if assemble().scripts[name].takes_token or name in HARMLESSLY_REPEATED:
        assert nameless(answer_again) == nameless(answer)


def test_a_lost_election_leaves_one_leader_who_knows_its_epoch(redis_client: redis.Redis, proxy: Proxy) -> None:
    near = TurnedQueue(redis_client)
    assert ACTS["elect"](near)
    redis_client.delete(near.scripts.keys.named("leader"))
    # Not the far client: it would call again after an answer that is only late, and each call makes an epoch.
    with redis.Redis.from_url(proxy.url, retry=Retry(NoBackoff(), 0)) as patient:
        far = TurnedQueue(patient)
        proxy.lose_next_reply(b"FCALL")
        assert ACTS["elect"](far)
    assert proxy.lost == 1
    # Epoch 2 was given and its reply lost; the leader knows itself by 3.
    assert redis_client.get(near.scripts.keys.named("leader")) == b"3 a-leader"


@pytest.mark.parametrize("loss", [Loss.CLOSED, pytest.param(Loss.SILENT, marks=pytest.mark.slow)])
def test_pages_that_were_sent_ahead_keep_their_order_when_a_reply_is_lost(
    loss: Loss, redis_client: redis.Redis, far_client: redis.Redis, proxy: Proxy
) -> None:
    far = TurnedQueue(far_client)
    far.controls.change_setting("max_executions_per_user", 1000)
    far.transitions.park(candidate("first"))
    ids = [f"e{number}" for number in range(3 * PARKED_A_CALL + 50)]
    proxy.lose_next_reply(b"FCALL", loss)
    outcomes = far.transitions.park_many([candidate(execution_id) for execution_id in ids])
    assert proxy.lost == 1
    assert [outcome.execution_id for outcome in outcomes if isinstance(outcome, Parked)] == ids
    assert TurnedQueue(redis_client).views.pending(len(ids) + 1) == ["first", *ids]
