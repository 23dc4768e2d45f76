"""Repairs and renewals that fail on damaged data fail for themselves alone."""

import pytest
import redis
from damaging import LEASE_MS, admitted, damaged, park
from model.dump import read_dump
from model.invariants import Invariants
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Code, Exchange, Renewal, read_exchange
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.engine.settlements import Release, Retry, Settlement
from bandmaster.scheduler.engine.transitions import NOTHING_NEXT, Next
from bandmaster.scheduler.model.states import State


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    return TurnedQueue(redis_client)


def exchange(queue: TurnedQueue, settlements: list[Settlement], following: Next = NOTHING_NEXT) -> Exchange:
    return read_exchange(queue.transitions.prepare_exchange(settlements, following).run())


@pytest.mark.parametrize("asks", [False, True], ids=["settling", "asking"])
def test_repairs_that_fail_hold_back_no_settlement_and_no_other_repair(
    asks: bool, queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    park(queue, "broken", "left", "due")
    park(queue, "mail", "also-left", "also-due", "ended")
    held = {each.execution_id: each for each in admitted(queue, "broken", "mail", count=5)}
    for name in ("due", "also-due"):
        exchange(queue, [Retry(name, 1, "retry", held[name].nonce, delay_ms=20_000)])
    for _ in range(4):
        queue.clock.turn(8_000)
        queue.transitions.renew([held["ended"]], lease_ms=LEASE_MS)
    ended = Release("ended", 1, State.COMPLETED, held["ended"].nonce)
    broken = ("lane:broken:active", "lane:broken:pending")
    with damaged(redis_client, broken[0]), damaged(redis_client, broken[1]):
        following = Next(("mail",), 0)
        answer = read_exchange(queue.transitions.prepare_exchange([ended], following, asks=asks).run())
        assert answer.outcomes[0].code is Code.OK
        assert {"left", "due"} <= answer.failures.keys()
        if asks:
            assert answer.admission.wait_ms == 1_000, "asked again at once, it would fail again at once"
        states = {name: queue.views.meta(name)["state"] for name in ("also-left", "also-due")}
        assert set(states.values()) == {State.PENDING}
    queue.let_time_pass(10)
    assert {queue.views.meta(name)["state"] for name in ("left", "due")} == {State.PENDING}
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


def test_sweeps_that_fail_hold_back_no_settlement_and_no_other_sweep(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    for lane, name in {"broken": "old", "mail": "also-old"}.items():
        queue.transitions.park(Candidate(name, lane, 2, "send", max_age_ms=1_000, message=b"a message"))
    park(queue, "broken", "waits")
    queue.controls.change_setting("stale_timeout_seconds", 3_600, lane="broken")  # who waits there is indexed anew
    queue.clock.turn(2_000)
    with damaged(redis_client, "lane:broken:pending"):
        answer = exchange(queue, [Release("unheard-of", 1, State.COMPLETED)])
        assert answer.outcomes[0].code is Code.UNKNOWN
        assert answer.failures.keys() == {"old", "broken"}
        assert queue.views.meta("also-old")["state"] == State.EXPIRED
    queue.clock.turn(2_000)
    assert exchange(queue, []).failures == {}
    assert queue.views.meta("old")["state"] == State.EXPIRED
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


def test_a_damaged_record_keeps_no_other_lease_from_being_renewed(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    for name in ("good", "poisoned"):
        park(queue, "mail", name)
    grants = admitted(queue, "mail", count=2)
    queue.clock.turn(LEASE_MS // 2)
    with damaged(redis_client, "meta:poisoned"):
        renewals = queue.transitions.renew(grants, lease_ms=LEASE_MS)
    named = {grant.execution_id: renewal for grant, renewal in zip(grants, renewals, strict=True)}
    assert named == {"good": Renewal.RENEWED, "poisoned": Renewal.ERROR}
