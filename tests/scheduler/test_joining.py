"""`Joining`: one call at a time, for all threads; what is asked meanwhile goes in the next, and no lead is lost."""

import threading
from typing import Any

import pytest
import redis
from defects.contrast import event
from dramatiq.middleware import Interrupt
from forked import holds_in_child
from joined import MOST, Asker, Ends, Gate, behind, ended, held
from proxy import proxy_before
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster.scheduler.engine import joining
from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_SECONDS

DEADLINE_SECONDS = 2.0
LONG_SECONDS = 120.0
"""Longer than any test waits."""


class Struck(Interrupt):
    """As one that is thrown into a thread."""


def strike() -> None:
    raise Struck


def completed(ends: Ends, count: int) -> bool:
    return [ends.queue.views.meta(f"e{n}")["state"] for n in range(count)] == [State.COMPLETED] * count


def test_who_asks_alone_makes_the_call_at_once(redis_client: redis.Redis) -> None:
    ends, (end, other) = held(redis_client, 2)
    ends.joining.do(end)
    ends.joining.do(other)
    assert ends.sent == [["e0"], ["e1"]]
    assert (end.code, end.led_by) == (Code.OK, threading.current_thread())


def test_what_is_done_is_not_done_again(redis_client: redis.Redis) -> None:
    ends, (end,) = held(redis_client, 1)
    ends.joining.do(end)
    ends.joining.do(end)
    assert ends.sent == [["e0"]]


def test_what_comes_while_a_call_is_under_way_goes_together_in_the_next(redis_client: redis.Redis) -> None:
    ends, asks = held(redis_client, 1 + MOST + 2)
    ends.before = gate = Gate()
    askers = behind(ends, gate, asks)
    assert ends.sent == [], "none goes while the first is under way"
    gate.go_on.set()
    assert ended(askers) == [None] * len(asks)
    assert [len(together) for together in ends.sent] == [1, MOST, 2]
    assert {ask.code for ask in asks} == {Code.OK}
    assert asks[0].led_by is askers[0]
    assert asks[1].led_by is not askers[0], "who is answered leads no more"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_leader_that_is_interrupted_leaves_its_batch_to_another(redis_client: redis.Redis, when: str) -> None:
    ends, asks = held(redis_client, 3)
    gate, led = Gate(), list[threading.Thread]()

    def strike_the_first() -> None:
        gate()
        led.append(threading.current_thread())
        if led[0] is led[-1]:
            strike()

    setattr(ends, when, strike_the_first)
    askers = behind(ends, gate, asks)
    gate.go_on.set()
    errors = ended(askers)
    assert isinstance(errors[0], Struck)
    assert errors[1:] == [None, None]
    assert ends.sent == [["e0"], ["e0"], ["e1", "e2"]][when == "before" :], "the same, before anything else"
    assert [ask.code for ask in asks] == [Code.OK] * 3
    assert ends.joining.is_idle
    assert completed(ends, 3)


def test_nobody_waits_for_a_leader_whose_thread_died(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends, asks = held(redis_client, 2, LONG_SECONDS)
    with monkeypatch.context() as patch:
        # As when an exception strikes again and again while the lead is given back.
        patch.setattr(ends.joining, "_pass_on", lambda _lead: strike())  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        dead = Asker(ends, asks[0])
        assert isinstance(ended([dead])[0], Struck)
    assert not ends.joining.is_idle
    assert ended([Asker(ends, asks[1])]) == [None]
    assert asks[1].code is Code.OK
    assert ends.joining.is_idle


def test_a_lead_that_a_thread_did_not_give_back_is_its_own_still(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends, asks = held(redis_client, 2, LONG_SECONDS)
    with monkeypatch.context() as patch:
        patch.setattr(ends.joining, "_pass_on", lambda _lead: strike())  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        struck, go_on = threading.Event(), threading.Event()

        def ask_twice() -> None:
            with pytest.raises(Struck):
                ends.joining.do(asks[0])
            struck.set()
            go_on.wait(GENEROUS_SECONDS)
            ends.joining.do(asks[1])

        thread = threading.Thread(target=ask_twice, daemon=True)
        thread.start()
        assert struck.wait(GENEROUS_SECONDS)
    go_on.set()
    thread.join(GENEROUS_SECONDS)
    assert not thread.is_alive(), "it waits for itself"
    assert ends.joining.is_idle
    assert completed(ends, 2)


def test_a_leader_that_stops_for_long_is_replaced_and_its_answer_changes_nothing(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "MARGIN_SECONDS", 0.0)
    ends, asks = held(redis_client, 3, DEADLINE_SECONDS)
    ends.after = gate = Gate()
    ends.joining.post(asks[1])
    slept = Asker(ends, asks[0])
    assert gate.here.wait(GENEROUS_SECONDS)
    ends.joining.do(asks[1])
    assert ends.sent == [["e1", "e0"]] * 2
    # As what failed by itself: it is asked for once more, with the same object.
    asks[1].is_done = asks[1].is_queued = False
    ends.joining.post(asks[1])
    gate.go_on.set()
    assert ended([slept]) == [None]
    assert ends.sent == [["e1", "e0"], ["e1", "e0"], ["e1"]], "who had slept takes nothing of the next call for done"
    assert ends.joining.is_idle
    ends.joining.do(asks[2])
    assert completed(ends, 3)


def test_an_unanswered_batch_is_repeated_byte_for_byte_before_any_other(
    redis_client: redis.Redis, redis_url: str
) -> None:
    with proxy_before(redis_url) as proxy, redis.Redis.from_url(proxy.url, retry=Retry(NoBackoff(), 0)) as client:
        ends, asks = held(client, 4, DEADLINE_SECONDS)
        commands: list[list[bytes]] = []
        is_lost = True

        def doomed(command: list[bytes]) -> bool:
            if command[0] == b"FCALL":
                commands.append(command)
            return is_lost and command[0] == b"FCALL"

        ends.before = gate = Gate()
        askers = behind(ends, gate, asks)
        proxy.lose_reply(doomed)
        gate.go_on.set()
        assert [type(error) for error in ended(askers)] == [QueueUnavailable] * 4
        assert len(ends.sent) == 1, "all are told at the end of one call"
        assert len({tuple(command) for command in commands}) == 1
        assert len(commands) > 1
        is_lost = False
        # Its leader has gone, and asks no more.
        ends.joining.do(*asks[1:])
        assert [len(each) for each in ends.sent] == [1, 1, 3]
        assert commands[-2] == commands[0]
        assert [ask.code for ask in asks] == [Code.OK] * 4, "the repeated call answers as the first would have"
        assert completed(ends, 4)


def test_what_nobody_waits_for_is_done_by_who_tends(redis_client: redis.Redis) -> None:
    ends, asks = held(redis_client, 3)
    ends.joining.post(*asks[:2])
    assert ends.sent == []
    ends.joining.tend()
    assert ends.sent == [["e0", "e1"]]
    ends.joining.post(asks[2])
    ends.joining.tend()
    assert completed(ends, 3)


def test_who_tends_does_not_stay_for_what_others_ask_meanwhile(redis_client: redis.Redis) -> None:
    ends, asks = held(redis_client, 6)
    ends.joining.post(asks[0])
    ends.before = lambda: ends.joining.post(asks[len(ends.sent) + 1]) if len(ends.sent) < 5 else None
    ends.joining.tend()
    assert ends.sent == [["e0"]]


def test_a_forked_child_has_no_part_in_its_parents_calls(redis_client: redis.Redis) -> None:
    ends, asks = held(redis_client, 4)
    ends.before = gate = Gate()
    lock: Any = ends.joining._lock  # pyright: ignore[reportPrivateUsage]
    askers = behind(ends, gate, asks[:2])

    def sends_and_settles() -> bool:
        ends.before, ends.sent = lambda: None, []
        ends.queue.enqueue(event("of-the-child"))
        ends.joining.tend()
        ends.joining.do(asks[2])
        return ends.sent == [["e2"]] and asks[2].code is Code.OK and ends.joining.is_idle

    with lock:  # as when another thread is just there
        assert holds_in_child(sends_and_settles)
    gate.go_on.set()
    assert ended(askers) == [None, None]
    ends.joining.do(asks[3])
    assert ends.sent == [["e0"], ["e1"], ["e3"]]
    assert completed(ends, 4)
