"""`Pump`: asks for all lanes of a process at once, and rests on their wake lists while there is nothing to ask for."""

import threading
from collections.abc import Callable
from typing import Any

import dramatiq
import pytest
import redis
from counting import calls
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.middleware.grants.permits import LANES
from bandmaster.middleware.grants.table import GrantedMessage
from bandmaster.middleware.worker.pump import Pump
from bandmaster.middleware.worker.wake_lists import LIST_TOKEN
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_MS, wait_until

TOKEN = b"1"
OTHER = "other/list"
"""A party beside the lanes."""
LONG_SECONDS = 20.0
"""Longer than any test: a wait that has to end before."""


class Pumped:
    """A pump of two lanes, without a worker, and what it says."""

    def __init__(self, broker: BandedRedisBroker, threads: int) -> None:
        @dramatiq.actor(broker=broker, band="HIGH", queue_name="a")
        def first() -> None: ...

        @dramatiq.actor(broker=broker, band="LOW", queue_name="b")
        def second() -> None: ...

        self.first, self.second = first, second
        self.lanes: tuple[str, ...] = ("a", "b")
        self.permits = broker.process.permits
        self.permits.open(threads)
        self.pump: Pump = broker.process.pump_for(lambda: self.lanes)
        self._broker = broker
        self._keys = broker.queue.scripts.keys
        self._client: Any = broker.plain_client

    def round(self, longest_seconds: float = 0.05) -> list[GrantedMessage]:
        """Go round once; what was granted."""
        self.pump.round(longest_seconds)
        granted: list[GrantedMessage] = []
        for lane in ("a", "b"):
            ready: Any = self._broker.process.backlog(lane).ready
            granted += ready
            ready.clear()
        entries = self._broker.gate.held.all()
        return sorted(granted, key=lambda message: entries.index(message.entry))  # as they were granted

    def push(self, lane: str, token: bytes) -> None:
        self._client.rpush(self._keys.wake(lane), token)

    def tokens(self, lane: str) -> list[bytes]:
        return self._client.lrange(self._keys.wake(lane), 0, -1)

    def while_it_waits(self, act: Callable[[], object]) -> list[GrantedMessage]:
        """Go round, and do something once the pump sits on the wake lists."""
        got: list[list[GrantedMessage]] = []
        thread = threading.Thread(target=lambda: got.append(self.round(LONG_SECONDS)), daemon=True)
        thread.start()
        wait_until(lambda: int(self._client.info("clients")["blocked_clients"]) > 0, what="it waits")
        act()
        thread.join(LONG_SECONDS)
        return got[0]


@pytest.fixture
def pumped(broker: BandedRedisBroker) -> Pumped:
    return Pumped(broker, threads=2)


def lanes_of(messages: list[GrantedMessage]) -> list[str]:
    return [message.entry.lane for message in messages]


def test_the_best_of_all_lanes_are_granted_first_each_with_a_permit(pumped: Pumped) -> None:
    pumped.second.send()
    pumped.first.send()
    pumped.second.send_with_options(band="CRITICAL")
    messages = pumped.round()
    assert lanes_of(messages) == ["b", "a"], "the critical one, then the high one; the low one waits"
    assert all(message.entry.has_permit for message in messages)
    assert (pumped.permits.free, pumped.permits.held(LANES)) == (0, 2)


def test_told_that_there_is_nothing_it_waits_to_be_woken(pumped: Pumped, redis_client: redis.Redis) -> None:
    assert pumped.round(LONG_SECONDS) == []
    assert pumped.permits.free == 2
    asked = calls(redis_client, "fcall")
    sent = pumped.while_it_waits(pumped.second.send)
    assert sent == []
    assert calls(redis_client, "fcall") == asked + 1, "that of the send"
    assert lanes_of(pumped.round()) == ["b"]


def test_it_rests_no_longer_than_a_round_whatever_ends_later(pumped: Pumped, redis_client: redis.Redis) -> None:
    pumped.first.send()
    assert lanes_of(pumped.round()) == ["a"]  # whose lease ends in 30 s
    asked = calls(redis_client, "fcall")
    for _ in range(4):
        pumped.round()  # in turn it rests and asks
    assert calls(redis_client, "fcall") - asked == 2


def test_without_a_free_thread_it_leaves_tokens_to_others(pumped: Pumped, redis_client: redis.Redis) -> None:
    pumped.round(LONG_SECONDS)
    pumped.permits.take(OTHER, 2, 0)
    pumped.push("a", TOKEN)
    waited = calls(redis_client, "blpop")
    for _ in range(3):
        pumped.round()
    assert calls(redis_client, "blpop") == waited
    assert pumped.tokens("a") == [TOKEN]


@pytest.mark.parametrize("token", [TOKEN, LIST_TOKEN])
def test_a_token_that_came_when_no_thread_was_free_any_more_is_pushed_back(pumped: Pumped, token: bytes) -> None:
    pumped.round(LONG_SECONDS)

    def take_and_wake() -> None:
        pumped.permits.take(OTHER, 2, 0)
        pumped.push("b", token)

    assert pumped.while_it_waits(take_and_wake) == []
    assert pumped.tokens("b") == [token]


def test_a_token_of_a_lane_that_was_paused_meanwhile_is_pushed_back(pumped: Pumped, redis_client: redis.Redis) -> None:
    pumped.round(LONG_SECONDS)

    def pause_and_wake() -> None:
        pumped.lanes = ("b",)
        pumped.push("a", TOKEN)

    assert pumped.while_it_waits(pause_and_wake) == []
    assert pumped.tokens("a") == [TOKEN]


def test_a_token_that_points_to_a_list_has_it_looked_at_and_asks_for_nothing(
    pumped: Pumped, broker: BandedRedisBroker, redis_client: redis.Redis
) -> None:
    pumped.round(LONG_SECONDS)
    asked = calls(redis_client, "fcall")
    assert pumped.while_it_waits(lambda: pumped.push("b", LIST_TOKEN)) == []
    assert broker.process.backlog("b").pointed_to.is_set()
    assert not broker.process.backlog("a").pointed_to.is_set()
    assert calls(redis_client, "fcall") == asked


def test_a_lane_that_came_meanwhile_is_asked_for_at_once(pumped: Pumped, redis_client: redis.Redis) -> None:
    pumped.lanes = ("b",)
    pumped.first.send()
    assert pumped.round(LONG_SECONDS) == [], "from here on it would rest"
    redis_client.delete("exec_queue:wake:a")
    pumped.lanes = ("a", "b")
    assert lanes_of(pumped.round(LONG_SECONDS)) == ["a"]


def test_a_token_that_points_to_a_list_may_stand_for_one_that_found_no_room(
    pumped: Pumped, redis_client: redis.Redis
) -> None:
    assert pumped.round(LONG_SECONDS) == [], "from here on it rests"
    pumped.second.send()
    redis_client.delete("exec_queue:wake:b")
    pumped.push("a", LIST_TOKEN)
    assert pumped.round(LONG_SECONDS) == []
    assert lanes_of(pumped.round(LONG_SECONDS)) == ["b"]


def test_while_others_hold_the_threads_it_asks_again_and_again_but_competes_for_none(
    pumped: Pumped, redis_client: redis.Redis
) -> None:
    pumped.round(LONG_SECONDS)
    pumped.permits.take(OTHER, 2, 0)
    asked = calls(redis_client, "fcall")
    rounds = threading.Thread(target=lambda: [pumped.round(LONG_SECONDS) for _ in range(4)], daemon=True)
    rounds.start()
    rounds.join(LONG_SECONDS / 2)
    assert not rounds.is_alive(), "it waits for a thread, though there is nothing"
    assert calls(redis_client, "fcall") - asked == 2, "in turn it rests and asks"


def test_once_it_knows_of_something_it_competes_for_a_thread(pumped: Pumped) -> None:
    pumped.permits.take(OTHER, 2, 0)
    pumped.first.send()
    got: list[list[GrantedMessage]] = []

    def go_on() -> None:
        while not got:
            messages = pumped.round()
            if messages:
                got.append(messages)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    wait_until(lambda: pumped.permits.passed_on(OTHER, 1), what="it waits beside the other party")
    pumped.permits.give(OTHER)
    thread.join(LONG_SECONDS)
    assert lanes_of(got[0]) == ["a"]
    assert (pumped.permits.held(LANES), pumped.permits.held(OTHER)) == (1, 1)


def test_a_worker_whose_threads_are_all_busy_still_says_that_its_lanes_live(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        begun.set()
        go_on.wait(LONG_SECONDS)

    def asked() -> object:
        return broker.plain_client.hget(queue.scripts.keys.named("rounds"), "lane:default")

    with running(broker, threads=1):
        work.send()
        assert begun.wait(LONG_SECONDS)
        for _ in range(2):
            before = asked()
            wait_until(lambda last=before: asked() != last, what="it asks again")
        go_on.set()


def test_a_lane_s_job_gets_the_next_thread_of_a_worker_that_is_full_of_plain_ones(broker: BandedRedisBroker) -> None:
    ran: list[str] = []
    pause = threading.Event()

    @dramatiq.actor(band="HIGH", queue_name="lane")
    def urgent() -> None:
        ran.append("urgent")

    @dramatiq.actor(queue_name="plain")
    def plain() -> None:
        pause.wait(0.01)  # the job itself, not a wait for something
        ran.append("plain")

    for _ in range(600):
        plain.send()
    with running(broker, threads=2, timeout_ms=1000):
        wait_until(lambda: len(ran) > 50, what="the plain ones run")
        before = len(ran)
        urgent.send()
        wait_until(lambda: "urgent" in ran, what="the lane's job")
        assert ran.index("urgent") - before < 200, "long before the plain ones are done"


def test_a_queue_that_is_paused_is_not_admitted_while_the_others_go_on(
    broker: BandedRedisBroker, queue: ExecutionQueueService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dramatiq.worker.CONSUMER_RESTART_DELAY_SECS", 0.05)
    ran: list[str] = []

    @dramatiq.actor(band="CRITICAL", queue_name="stands-still")
    def held() -> None:
        ran.append("held")

    @dramatiq.actor(band="LOW", queue_name="goes-on")
    def goes_on() -> None:
        ran.append("goes-on")

    with running(broker, threads=2) as worker:
        worker.consumers["stands-still"].pause()
        assert worker.consumers["stands-still"].paused_event.wait(LONG_SECONDS)
        sent = held.send()
        for _ in range(50):
            goes_on.send()
        broker.join("goes-on", timeout=GENEROUS_MS)
        assert queue.views.meta(sent.message_id)["state"] == State.PENDING
        assert ran == ["goes-on"] * 50
        worker.consumers["stands-still"].resume()
        broker.join("stands-still", timeout=GENEROUS_MS)
    assert ran[-1] == "held"
